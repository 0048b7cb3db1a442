// A machine of a world: its host and its clock, its agent, which dies and comes back, and its
// connection to the server.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "faults/faulty_host.hpp"
#include "faults/faulty_link.hpp"
#include "faults/scene.hpp"
#include "faults/set_clock.hpp"

namespace paceline::faults {

class FaultyMachine {
 public:
  struct Options {
    LinkHabits link;
    std::size_t unstored_max = agent::kUnstoredMax;
  };
  // `sessions` is shared by all machines of a server.
  FaultyMachine(Scene& scene, const MakeClock& make_clock, NodeSpec node, const Options& options,
                std::uint64_t& sessions);

  // Its agent begins, and connects from now on whenever it can.
  void start();
  // What tells it from another one of its name.
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] FaultyHost& host() { return host_; }
  [[nodiscard]] const FaultyHost& host() const { return host_; }
  [[nodiscard]] FaultyLink& link() { return link_; }

  // ---- what befalls it ----
  void crash_agent(Duration back_after);
  // Nothing of it is left but its disk; not while its agent is away.
  void restart(Duration back_after);
  // Sometimes the connection survives it.
  void cut_for(FaultyLink::Cut cut, Duration span);
  void set_clock();
  void change_devices();
  // From now on nothing goes wrong.
  void calm();

 private:
  void start_agent();
  void stop_agent(Duration back_after);
  void wake();
  void step();
  void set_timer();
  void reconnect();

  Scene& scene_;
  const std::string name_;
  const std::string id_;
  SetClock clock_;
  FaultyHost host_;
  FaultyLink link_;
  std::unique_ptr<agent::Agent> agent_;
  std::uint64_t life_ = 0;  // of the agent; what was put for an earlier one is void
  bool step_put_ = false;
  std::optional<Time> timer_;
};

}  // namespace paceline::faults
