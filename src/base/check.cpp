#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace paceline {

void check_failed(std::string_view what, const Place& where) {
  std::fprintf(stderr, "paceline: check failed: %.*s (%s:%d, %s)\n", static_cast<int>(what.size()),
               what.data(), where.file, where.line, where.function);
  std::abort();
}

}  // namespace paceline
