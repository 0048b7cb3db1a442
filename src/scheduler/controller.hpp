// The control plane: observe → decide → check → commit → act, one round at a time, on one
// thread. Its driver calls step() when it asks to be woken; commands are completed once what
// they did is durable.
//
//   Controller controller(store, engine, clock, options);
//   if (auto ok = controller.recover(); !ok) …
//   controller.on_wake([&] { post(step_soon); });
//   controller.submit({spec, launch, key}, [](Result<JobId> id) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "clock/clock.hpp"
#include "engine/engine.hpp"
#include "model/limits.hpp"
#include "model/state.hpp"
#include "model/viewer.hpp"
#include "placement/placers.hpp"
#include "plan/plan.hpp"
#include "policy/registry.hpp"
#include "scheduler/drains.hpp"
#include "scheduler/explain.hpp"
#include "scheduler/intake.hpp"
#include "scheduler/policies.hpp"
#include "scheduler/prospects.hpp"
#include "scheduler/room.hpp"
#include "scheduler/shadow.hpp"
#include "store/store.hpp"

namespace paceline {

class Controller {
 public:
  struct Options {
    std::string build;                                    // version, recorded with every plan
    std::uint32_t fold_rules = kFoldRules;                // of a replay: those of its journal
    std::string policy = "elastic-fifo";                  // of a new directory
    std::string placement = std::string(kDefaultPlacer);  // REQUIRES: make_placer() knows it
    Rules rules = {};         // those that are given hold from the start on; REQUIRES: set_rules()
                              // would take them
    Rules unsaid_rules = {};  // those that neither are given nor were ever said
    Duration coalesce = std::chrono::milliseconds{
        5};               // bursts become one round; a first event on an idle server is not delayed
    Duration hear_out{};  // so long after a start agents tell what ended meanwhile, before time
                          // limits are held
    Duration checkpoint_every = std::chrono::seconds{30};
    std::uint64_t checkpoint_entries = 10'000;
    bool protects = true;               // running jobs, by the law of plan/protection.hpp
    std::optional<Limits> limits = {};  // none: as much as comes, and all is kept
    // What is kept of jobs that ended, and how large the journal's segments become (scheduler/upkeep.hpp).
    std::optional<Duration> keep = {};
    std::optional<std::uint64_t> journal_size = {};  // bytes
    std::function<Result<bool>(JobId)> remove_logs = [](JobId) { return true; };
    // Reads the fold of every durable entry beside the store, for the shadow's working side on a
    // thread of its own. None: asks the store, where one thread does all.
    std::function<Result<State>()> read_beside = {};
    // What people were told of the future, over restarts: a text, kept with each checkpoint.
    std::function<std::string()> read_grades = [] { return std::string(); };
    std::function<void(const std::string&)> keep_grades = [](const std::string&) {};
    // Whether anything new may be accepted: an error refuses submissions while all else goes on.
    std::function<Result<void>()> room = [] { return Result<void>{}; };
    // Nodes that would be asked for: jobs that fit only with them are accepted, and wait.
    std::function<ComingNodes()> coming = [] { return ComingNodes{}; };
  };

  Controller(Store& store, Engine& engine, Clock& clock, const PolicyRegistry& policies,
             Options options);
  ~Controller();

  // Loads the state and asks the engine to act on every live job. Called once, before anything
  // else.
  Result<void> recover();

  // ---- commands; each `done` is called from a later step(), after the durable batch, or at once
  // with an error ----
  void submit(Submission submission, Done<JobId> done);
  void request(JobId job, Request request, Principal by, Done<void> done);
  void set_range(JobId job, WorkerRange range, Principal by, Done<void> done);
  // Rules that are given hold from the next round on; the others stay. Errors: invalid.
  void set_rules(const Rules& rules, Principal by, Done<void> done);

  // The node of that name, if there is one, left for good: it counts for nothing once it holds nothing. Or it
  // joined anew since.
  void node_left(std::string_view name);
  void node_joined(std::string_view name);

  // Which policies are known, active and tried, and every change of them.
  [[nodiscard]] Policies& desk();
  // Which nodes are to become empty, and every change of them.
  [[nodiscard]] Drains& drains();

  // ---- reading ----
  // The candidate's trial. The controller's driver calls its work(), on this thread or another.
  [[nodiscard]] Shadow& shadow();
  // When jobs will start and end, and how good that was. The driver calls its foresight().work(), as
  // the shadow's, and step() once it is done.
  [[nodiscard]] Prospects& prospects();
  [[nodiscard]] const State& state() const;
  [[nodiscard]] Time now() const;
  [[nodiscard]] WallTime wall() const;
  [[nodiscard]] Store& store() const;
  [[nodiscard]] const PolicyRegistry& policies() const;
  // Why a job of the state, or one that it forgot, is as it is and what would change it: the same
  // code that decides says it. What it says to others, unless its owner asks.
  [[nodiscard]] Reason reason(const Job& job, Viewer viewer = Viewer::other) const;
  // The reason, then what it depends on: which jobs are ahead, what it was given and why; in
  // sentences.
  [[nodiscard]] std::vector<std::string> why(const Job& job, Viewer viewer = Viewer::other) const;
  // How often it was passed over and what is done about it. Nothing: it doesn't wait in line.
  [[nodiscard]] std::optional<Waits> waits(const Job& job) const;

  // Its place in line, from 1. Nothing: it doesn't wait there.
  [[nodiscard]] std::optional<std::size_t> position(const Job& job) const;

  // Forgotten jobs that were dropped since it began; what was read of them before may be gone.
  [[nodiscard]] std::uint64_t jobs_dropped() const;

  // ---- driving ----
  // Does everything that is due. Errors: storage: the batch was not kept, commands got the error,
  // and it is tried again later.
  Result<void> step();
  // When step() is due next without news; nothing: only news will do.
  [[nodiscard]] std::optional<Time> next_due() const;
  // `wake` is called when something arrives that step() must see.
  void on_wake(std::function<void()> wake);
  // Called after every durable batch with its entries, in order, once their effects are in state();
  // as long as what is returned is held.
  using CommitListener =
      std::function<void(std::span<const Entry>, std::span<const JobId> touched)>;
  [[nodiscard]] std::shared_ptr<void> on_commit(CommitListener listener);
  // Makes a checkpoint of the fold now (on a clean exit).
  Result<void> checkpoint();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
