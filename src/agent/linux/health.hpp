// Whether this machine is fit for new workers: its disk, its clock, and what its owner's own check says.
// GPUs are looked at one by one (devices.hpp), since the others serve on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/linux/clock_jumps.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/health_check.hpp"
#include "clock/clock.hpp"
#include "loop/timer.hpp"
#include "model/node.hpp"

namespace paceline::agent {

struct HealthOptions {
  std::string directory;  // on whose file system there must be room
  DiskSpace room;         // that much
  std::string check;      // the owner's command; empty: none
  HealthCheckTimes check_times = {};
};

class Health {
 public:
  // `changed` is called, from `io`, when refusal() says something else.
  Health(boost::asio::io_context& io, Clock& clock, HealthOptions options,
         std::function<void()> changed);
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void start();
  // Why nothing new is to start here; nothing: the machine is well.
  [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  void look();
  void tell();

  Clock& clock_;
  HealthOptions options_;
  std::function<void()> changed_;
  Timer timer_;
  ClockJumps clock_jumps_;
  std::optional<HealthCheck> check_;
  std::optional<std::string> disk_;
  std::optional<Refusal> refusal_;
};

}  // namespace paceline::agent
