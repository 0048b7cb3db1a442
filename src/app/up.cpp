#include "app/up.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "app/box.hpp"
#include "app/detach.hpp"
#include "app/log.hpp"
#include "app/move_in.hpp"
#include "app/service_manager.hpp"

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

int complain(const Error& error) {
  fmt::print(stderr, "paceline: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "          {}\n", error.hint);
  return exit_code(error.code);
}

}  // namespace

int up(const UpOptions& options, const Build& build) {
  log_to_stderr(options.log_level);
  if (auto moved = move_in(options); !moved) return complain(moved.error());
  Detached detached;
  if (options.detach) {
    const auto is_typed = detached.begin();
    if (!is_typed) return complain(is_typed.error());
    if (*is_typed) return detached.wait();
  }
  auto box = Box::open(options, build);
  if (!box) return complain(box.error());
  if (options.detach) {
    const auto log = options.directory + "/server.log";
    if (auto serving = detached.serve(log, (*box)->greeting() + "  its messages: " + log + "\n");
        !serving)
      return complain(serving.error());
  } else {
    fmt::print("{}", (*box)->greeting());
  }
  std::fflush(stdout);
  tell_service_manager("READY=1");
  (*box)->run();
  tell_service_manager("STOPPING=1");
  if (::isatty(STDOUT_FILENO) == 1) fmt::print("\n");  // below the ^C
  fmt::print("{}", (*box)->farewell());
  return 0;
}

}  // namespace paceline
