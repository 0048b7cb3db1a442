// This machine under an agent, whether its server is in the same process (box.hpp) or elsewhere
// (agent_box.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/agent.hpp"
#include "agent/linux/host.hpp"
#include "app/pump.hpp"
#include "cli/cli.hpp"
#include "clock/clock.hpp"
#include "loop/timer.hpp"

namespace paceline {

class Machine {
 public:
  // As it was described in `asked`; claims, logs and sockets lie in `directory`. REQUIRES: `io` and
  // `clock` outlive it. Errors: those of LinuxHost.
  static Result<std::unique_ptr<Machine>> open(boost::asio::io_context& io, Clock& clock,
                                               const MachineOptions& asked,
                                               agent::HostOptions options);

  // Adopts what earlier agents left, steps the agent from now on, and looks at devices now and then.
  void start(Pump& pump);

  [[nodiscard]] agent::Agent& agent() { return agent_; }
  [[nodiscard]] agent::LinuxHost& host() { return *host_; }
  // Lines of a greeting: slots that it doesn't lend, and what it can't enforce.
  [[nodiscard]] std::string notes() const;

 private:
  Machine(boost::asio::io_context& io, std::unique_ptr<agent::LinuxHost> host)
      : host_(std::move(host)), agent_(*host_), devices_timer_(io) {}

  void watch_devices();

  std::unique_ptr<agent::LinuxHost> host_;
  agent::Agent agent_;
  Timer devices_timer_;
};

// "4 H100s (64 cores, 512 GiB of memory)"
std::string describe_slots(const NodeSpec& node);
// "1 job", "3 jobs"
std::string count(std::size_t n, std::string_view noun);

}  // namespace paceline
