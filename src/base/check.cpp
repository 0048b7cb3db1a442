#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/check_hook.hpp"

namespace paceline {
namespace {

CheckHook first_of_all = nullptr;

}  // namespace

void set_check_hook(CheckHook hook) { first_of_all = hook; }

void check_failed(std::string_view what, const Place& where) {
  if (first_of_all != nullptr) first_of_all(what);
  std::fprintf(stderr, "paceline: check failed: %.*s (%s:%d, %s)\n", static_cast<int>(what.size()),
               what.data(), where.file, where.line, where.function);
  std::abort();
}

}  // namespace paceline
