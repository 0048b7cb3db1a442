// The server of a world, with its disk and its clock: it dies, comes back and recovers, and the
// ledger is told of all that it commits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "faults/fault_options.hpp"
#include "faults/faulty_store.hpp"
#include "faults/scene.hpp"
#include "faults/set_clock.hpp"
#include "faults/world_habits.hpp"

namespace paceline::faults {

class FaultyServer {
 public:
  FaultyServer(Scene& scene, const FaultParts& parts, const WorldHabits& world,
               std::optional<PlannedCrash> crash);

  // Called when it came up, and with nullptrs when it went down.
  using Here = std::function<void(Controller*, ServerEnd*)>;
  void on_here(Here here) { here_ = std::move(here); }
  // Called with each frame that it sends.
  void on_send(std::function<void(const ServerFrame&)> send) { send_ = std::move(send); }

  // Nodes that somebody may bring, as the server asks for them.
  void on_coming(std::function<ComingNodes()> coming) { options_.coming = std::move(coming); }
  // Of its machine, as its program reads it.
  [[nodiscard]] Clock& clock() { return clock_; }

  void start();
  // nullptr: it is down.
  [[nodiscard]] const Controller* controller() const;
  // It is up, and its disk can be written.
  [[nodiscard]] bool works() const { return process_ && !store_.full(); }
  [[nodiscard]] FaultyStore& store() { return store_; }
  // The word of `by` that a node's machine is off. REQUIRES: it is up.
  Result<void> count_off(std::string_view node, std::string_view by);
  // As EngineUnderTest has it. REQUIRES: it is up.
  Result<void> take_kept(std::string_view node, const KeptCheckpoint& kept);

  // ---- what befalls it; REQUIRES: it is up, but for set_clock and stop_after ----
  // It comes back after a while.
  void stop();
  // The same after that time, unless it goes down before.
  void stop_after(Duration span);
  void restart_machine();
  // Its wall clock is set, to whatever.
  void set_clock();
  void set_clock_right();

  // What must hold once everything has calmed down. REQUIRES: it is up.
  void check_rest();

 private:
  struct Process {
    EngineUnderTest parts;
    std::unique_ptr<Controller> controller;
    std::shared_ptr<void> commits;  // are listened to
  };

  Process build();
  void listen_to(Process& server);
  bool recover();
  void arm_crash();
  void wake();
  void step();
  void work_in_the_shadow();
  void set_timer();
  void check_reasons();
  Result<bool> remove_logs(JobId job, Rng& chance);

  Scene& scene_;
  const FaultParts& parts_;
  FaultyStore store_;
  SetClock clock_;
  Controller::Options options_;
  const EngineBounds bounds_;
  const int shadow_work_max_;
  const bool crash_every_commit_;
  std::optional<PlannedCrash> crash_;
  std::uint64_t crashes_armed_ = 0;
  Here here_;
  std::function<void(const ServerFrame&)> send_;
  std::optional<Process> process_;
  std::uint64_t life_ = 0;
  bool step_put_ = false;
  std::optional<Time> timer_;
  std::optional<std::uint64_t> reasons_seen_;  // as of this entry
};

}  // namespace paceline::faults
