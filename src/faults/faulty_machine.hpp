// A machine of a world: its host and its clock, its agent, which dies and comes back, and its
// connection to the server.
#pragma once

#include <functional>
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
    // What its boots are called by; empty: by its name. Of two machines with one name they differ.
    std::string boots = {};
  };
  // `sessions` is shared by all machines of a server.
  FaultyMachine(Scene& scene, const MakeClock& make_clock, NodeSpec node, const Options& options,
                std::uint64_t& sessions);

  // Its agent begins, and connects from now on whenever it can.
  void start();
  // Asked before its agent begins, each time. False: it doesn't, until somebody calls begin().
  void on_entry(std::function<bool()> may_begin) { may_begin_ = std::move(may_begin); }
  [[nodiscard]] bool joins() const { return may_begin_ != nullptr; }
  // Its agent begins, or begins anew. REQUIRES: start() was called.
  void begin();
  // Its agent is there.
  [[nodiscard]] bool runs() const { return agent_ != nullptr; }
  // Which of its agents that is, or was.
  [[nodiscard]] std::uint64_t life() const { return life_; }
  [[nodiscard]] WallTime wall() { return clock_.wall(); }
  // Its wall clock was set, by whatever, at or after that instant.
  [[nodiscard]] bool clock_was_set_since(Time since) const { return clock_set_at_ >= since; }
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
  // The same, without anybody's being told, and it stays off until switch_on().
  void switch_off();
  void switch_on();
  [[nodiscard]] bool is_off() const { return off_; }
  // Its agent ends for good; its workers do what they did.
  void end_agent();
  // It is switched off for good.
  void scrap();
  [[nodiscard]] bool is_scrapped() const { return scrapped_; }
  // Sometimes the connection survives it.
  void cut_for(FaultyLink::Cut cut, Duration span);
  void set_clock();
  void set_clock_right();
  void change_devices();
  // From now on nothing goes wrong.
  void calm();

 private:
  void start_agent();
  void stop_agent(std::optional<Duration> back_after);
  void reboot();
  void wake();
  void step();
  void set_timer();
  void reconnect();

  Scene& scene_;
  const std::string name_;
  const std::string id_;
  std::function<bool()> may_begin_;
  bool off_ = false, ended_ = false, scrapped_ = false;
  Time clock_set_at_;
  SetClock clock_;
  FaultyHost host_;
  FaultyLink link_;
  std::unique_ptr<agent::Agent> agent_;
  std::uint64_t life_ = 0;  // of the agent; what was put for an earlier one is void
  bool step_put_ = false;
  std::optional<Time> timer_;
};

}  // namespace paceline::faults
