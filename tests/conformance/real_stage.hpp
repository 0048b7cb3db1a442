// The real host's side: a machine in a pid namespace of its own, so that every process in it is the
// host's, and the worker that it starts.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/linux/host.hpp"
#include "clock/system/system_clock.hpp"
#include "conformance/stage.hpp"
#include "files/fd.hpp"

namespace paceline::conformance {

// Processes of this namespace but for the first one and this one, and for the dead: "12 comm".
std::vector<std::string> processes();

class RealMachine {
 public:
  // REQUIRES: a directory of its own.
  explicit RealMachine(std::string directory);

  agent::LinuxHost& host() { return *host_; }
  // The host goes as a server does that is killed: nothing of its workers ends.
  void leave();
  // Another one comes, after `ready` holds. One that is refused what it needs to begin is started
  // again, as a server is.
  void come_back(const std::function<bool()>& ready);
  // A worker that waits for it goes on.
  void release() const;
  // The file that such a worker reads a line from, and the one that it makes before.
  [[nodiscard]] std::string gate() const { return directory_ + "/gate"; }
  [[nodiscard]] std::string bell() const { return directory_ + "/bell"; }
  [[nodiscard]] bool is_at_the_gate() const;

  bool turn_until(const std::function<bool()>& condition, std::chrono::milliseconds patience);
  // What is left of a worker that was forgotten; empty: nothing. What could not be removed, an agent
  // that starts anew finds and forgets.
  std::string leftover();

 private:
  bool open();
  [[nodiscard]] std::string remains();
  [[nodiscard]] std::vector<std::string> groups() const;

  std::string directory_;
  boost::asio::io_context io_;
  SystemClock clock_;
  UniqueFd gate_;
  std::unique_ptr<agent::LinuxHost> host_;
  std::vector<std::string> groups_;
  std::string memory_;  // where gangs have theirs
  std::size_t descriptors_ = 0;
};

class RealStage final : public Stage {
 public:
  RealStage(RealMachine& machine, WorkerLaunch launch);
  ~RealStage() override;

  void start() override;
  void restart(Return when) override;
  [[nodiscard]] std::string lived_on() const override { return lived_on_; }

 private:
  void step();
  bool pass(const std::function<bool()>& condition) override;
  bool waits() override { return machine_.is_at_the_gate(); }
  void come();
  [[nodiscard]] Time now() const;

  RealMachine& machine_;
  WorkerLaunch launch_;
  std::unique_ptr<agent::Agent> agent_;
  std::string lived_on_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace paceline::conformance
