#include "app/up.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "app/box.hpp"
#include "app/log.hpp"

namespace paceline {
namespace {

constexpr int kExitDirectory = 73;
constexpr int kExitData = 78;

int exit_code(ErrorCode code) {
  if (code == ErrorCode::data) return kExitData;
  if (code == ErrorCode::invalid) return 64;
  if (code == ErrorCode::not_found) return 66;
  return kExitDirectory;
}

}  // namespace

int up(const UpOptions& options, const Build& build) {
  log_to_stderr(options.log_level);
  auto box = Box::open(options, build);
  if (!box) {
    fmt::print(stderr, "paceline: {}\n", box.error().message);
    if (!box.error().hint.empty()) fmt::print(stderr, "          {}\n", box.error().hint);
    return exit_code(box.error().code);
  }
  fmt::print("{}", (*box)->greeting());
  std::fflush(stdout);
  (*box)->run();
  if (::isatty(STDOUT_FILENO) == 1) fmt::print("\n");  // below the ^C
  fmt::print("{}", (*box)->farewell());
  return 0;
}

}  // namespace paceline
