#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace paceline {

void check_failed(std::string_view what, const std::source_location& where) {
  std::fprintf(stderr, "paceline: check failed: %.*s (%s:%u, %s)\n", static_cast<int>(what.size()),
               what.data(), where.file_name(), static_cast<unsigned>(where.line()),
               where.function_name());
  std::abort();
}

}  // namespace paceline
