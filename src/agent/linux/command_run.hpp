// One run of a program beside the agent: as the agent's user, in a session of its own, without input.
// It is killed, with all that it started and hasn't left to itself, where it does not end in time.
//
//   CommandRun run(io);
//   if (const int error = run.start({"/bin/sh", "-c", command}, {.patience = 30s}, [&](auto ended) { … }))
//     …
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "files/fd.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {

class CommandRun {
 public:
  struct Options {
    std::chrono::milliseconds patience;
    std::size_t output_max = 16384;  // bytes; what it says beyond them is read and dropped
    // Its variables ("NAME=value"), where they are not the agent's: another user may look into it. Then
    // it has no keys of the agent's session, either.
    std::optional<std::vector<std::string>> environment = {};
    // Called where it is killed for taking too long; it may not be killable before its file system
    // answers.
    std::function<void()> late = {};
  };
  struct Ended {
    int status = -1;     // of waitpid(); -1: it can't be told, since SIGCHLD is ignored here
    std::string output;  // standard output and standard error, as they came
    bool late = false;
  };

  // REQUIRES: `io` outlives it.
  explicit CommandRun(boost::asio::io_context& io) : timer_(io) {}
  // Kills the run under way, and waits for nothing.
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  // `command`: a program, looked up in PATH, and its arguments. Calls `ended` once, later. Answers 0, or
  // the errno of why it can't be started. REQUIRES: none is under way.
  int start(const std::vector<std::string>& command, Options options,
            std::function<void(Ended)> ended);

 private:
  void look();
  void read_output();
  void kill_run() const;

  Timer timer_;
  Options options_{};
  std::function<void(Ended)> done_;
  pid_t pid_ = 0;
  UniqueFd output_;
  Ended ended_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace paceline::agent
