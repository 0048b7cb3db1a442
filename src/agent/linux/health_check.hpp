// The owner's own test of a machine: a shell command that is run every minute. Exit code 0 says that
// the machine is well; with any other its first line of output is the reason. It runs as the agent's
// user, in a session of its own, without input, and is killed with all that it started if it does not
// end in time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "agent/linux/command_run.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {

struct HealthCheckTimes {
  std::chrono::milliseconds every = std::chrono::minutes{1};  // from start to start
  std::chrono::milliseconds patience = std::chrono::seconds{30};
};

class HealthCheck {
 public:
  // `changed` is called when problem() says something else.
  HealthCheck(boost::asio::io_context& io, std::string command, HealthCheckTimes times,
              std::function<void()> changed);
  void start();
  // A sentence, as of the last run that ended, or until the first one has; nothing: it is well.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  void run();
  void give_up();
  void tell(std::optional<std::string> problem);
  void end(std::optional<std::string> problem);

  std::string command_;
  HealthCheckTimes times_;
  std::function<void()> changed_;
  CommandRun run_;
  Timer timer_;
  std::optional<std::string> problem_;
  std::chrono::steady_clock::time_point begun_;  // the run under way, or the last one
};

}  // namespace paceline::agent
