// A draft is the only way to build a plan: a what-if copy of the cluster that costs nothing to
// make. Changes are recorded in trades; a trade is kept or dropped whole.
//
//   Draft draft(snapshot, placer, Protects::yes);
//   draft.begin_trade();
//   draft.resize(giver, *draft.refit(giver, 2), {ReasonCode::shrinks_for, {4, 2, 9}}, starting);
//   auto seats = draft.fit(starting, 2);
//   if (seats) draft.start(starting, *seats, {ReasonCode::starts, {2}});
//   draft.end_trade();               // or drop_trade(): as if it had never been begun
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"
#include "plan/protection.hpp"
#include "plan/standing.hpp"

namespace paceline {

class Draft;

// One job's part in a trade: what would happen to it, and with how many workers it would go on.
struct Part {
  ChangeKind kind = ChangeKind::start;
  JobId job;
  std::int32_t workers = 0;  // 0: it stops or pauses
};

// Where: turns "this job, that many workers" into seats on the draft's free slots. Implementations
// are in placement/.
class Placer {
 public:
  virtual ~Placer() = default;
  // Seats for `workers` workers of a job that has none; nothing if they don't fit.
  virtual std::optional<Placement> fit(const Draft& draft, const Job& job,
                                       std::int32_t workers) const = 0;
  // Seats for the next generation of a job that has `seats` (free in the draft for itself): as
  // few moves as possible.
  virtual std::optional<Placement> refit(const Draft& draft, const Job& job, const Placement& seats,
                                         std::int32_t workers) const = 0;
};

// The last job that has to leave a slot before it is free; nothing: it is free.
std::optional<JobId> occupant(const Slot& slot);
// The slots that are free once the job has left.
std::vector<SlotId> slots_left_by(const State& state, const Job& job);

// `yes`: running jobs are changed by the law of plan/protection.hpp; `no`: whatever is asked for.
enum class Protects { no, yes };

// What would be answered with a round, once it happens.
struct Awaited {
  std::vector<JobId> saves;        // of these jobs; some perhaps several times
  std::vector<JobId> starts;       // of all workers of these jobs; the same
  std::optional<Time> revisit_at;  // this instant
};

class Draft {
 public:
  explicit Draft(const Snapshot& snapshot, const Placer& placer, Protects protects = Protects::no);
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // ---- asking ----
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  // Slots free in the draft: free now or freed by this draft, and not taken by it.
  [[nodiscard]] const FreeSlots& free() const;
  // Which jobs stand where once the draft's changes are done.
  [[nodiscard]] const Standing& standing() const;
  // Workers the job has in the draft.
  [[nodiscard]] std::int32_t workers(JobId job) const;
  // The seats that a running job would give back and could take again: of workers that have not
  // ended, where their node is up and their slots usable.
  [[nodiscard]] Placement seats(JobId job) const;
  // How many those are.
  [[nodiscard]] std::int64_t count_seats(JobId job) const;
  // What the draft changes so far.
  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  // True if the draft already changes the job.
  [[nodiscard]] bool changed(JobId job) const;
  // May a running job be stopped, frozen, or go on with `workers` workers now? If not, asks for a
  // round when it may, and keeps the reason.
  [[nodiscard]] bool may_change(JobId job, ChangeKind kind, std::int32_t workers, Owed owed);
  // Would the law let it, were nothing owed? Always where the draft doesn't protect.
  [[nodiscard]] bool affords(JobId job, ChangeKind kind) const;
  // Seats for a job that has none / for another size of a job that has some. A job that has lent
  // its slots gets those, or waits for them (plan/lending.hpp). Changes nothing but this: where a
  // term that the job only prefers is in the way, asks for a round when it gives it up, or gives up
  // waiting.
  [[nodiscard]] std::optional<Placement> fit(JobId job, std::int32_t workers) const;
  [[nodiscard]] std::optional<Placement> refit(JobId job, std::int32_t workers) const;

  // Seats for a job that has none, if each of these shrank to its workers. Changes nothing.
  [[nodiscard]] std::optional<Placement> fit_if(JobId job, std::int32_t workers,
                                                std::span<const Part> givers) const;
  // Seats for a job that has none, once these have left. Those that the draft changes are taken to
  // stay. Changes nothing.
  [[nodiscard]] std::optional<Placement> fit_without(JobId job, std::int32_t workers,
                                                     std::span<const JobId> gone) const;

  // ---- changing; each job at most once a draft. The reason of a start names a neighbour that is
  // known to slow the job down ----
  // A job that has lent its slots goes on in them, or leaves them for others.
  void start(JobId job, Placement seats, Reason reason);
  // The next generation on `seats`; the kind is move if the number stays.
  void resize(JobId job, Placement seats, Reason reason, std::optional<JobId> beneficiary = {});
  // The next generations of several jobs, which may take each other's seats.
  struct Resized {
    JobId job;
    Placement seats;
  };
  void resize_together(std::vector<Resized> jobs, const Reason& reason,
                       std::optional<JobId> beneficiary);
  // For nobody: REQUIRES: it outstays the drain of a node (plan/draining.hpp).
  void stop(JobId job, Reason reason, std::optional<JobId> beneficiary);
  // Freezes the job where it is. REQUIRES: may_lend().
  void pause(JobId job, Reason reason, JobId beneficiary);
  // Says why a job waits. Kept only where somebody asks (explain()).
  void explain_wait(JobId job, Reason reason);
  // From here on the service of a waiting job counts anew: nothing that it had before.
  void count_anew(JobId job) { counted_anew_.push_back(job); }

  // ---- owed to a job that waited for too long (policy/patient.hpp); before the policy decides ----
  // From here on no other job gets these slots, be they free now or freed by this draft.
  // REQUIRES: usable ones; called once.
  void keep(JobId job, std::vector<SlotId> slots);
  [[nodiscard]] std::optional<JobId> kept_for() const;
  // Slots that a start of the job could take: free ones, and those kept for it.
  [[nodiscard]] std::int64_t free_for(JobId job) const;
  // From here on any job may start on the slots that are kept.
  void open_kept();
  // The job is not stopped or frozen before then, whatever is owed to others.
  void protect(JobId job, Time until);
  // What a job may lose that says nothing itself: the policy's word.
  void limit_losses(const LossLimits& limits) { limits_ = limits; }
  // A job that grows leaves alone what a waiting job before it in line is short of.
  void keep_line() { line_kept_ = true; }
  [[nodiscard]] bool line_kept() const { return line_kept_; }
  // The jobs that were refused seats to grow for that reason, each with the job that it would have
  // kept waiting.
  [[nodiscard]] const std::unordered_map<JobId, JobId>& leaves_slots() const {
    return leaves_slots_;
  }

  // ---- trades ----
  // Changes outside a trade are trades of their own. REQUIRES: no trade is open.
  void begin_trade();
  void end_trade();
  // Takes the open trade back.
  void drop_trade();

  // ---- memo and time ----
  [[nodiscard]] std::string memo(std::string_view key) const;  // empty: none
  void remember(std::string key, std::string value);
  void revisit(Time at);  // asks for a round then

  // ---- the outcome ----
  // Collects the reasons of waiting jobs; decides nothing else. Called before decide().
  void explain() { explaining_ = true; }
  [[nodiscard]] bool explaining() const { return explaining_; }
  [[nodiscard]] const std::unordered_map<JobId, Reason>& waits() const { return waits_; }
  // Of each job that may not be changed yet the last reason.
  [[nodiscard]] const std::map<JobId, Reason>& refused() const { return refused_; }
  // What others ask of the job may be had once it has saved.
  void await_save(JobId job) { awaited_.saves.push_back(job); }
  // A job that never saved would be stopped so that another can start: it is told
  // (plan/reclaim.hpp), and there is a round when it may be stopped. Of several that ask, the first
  // counts.
  void ask(JobId job, JobId by);
  // The job comes up, and would have been asked for its slots, had it been up.
  void await_start(JobId job) { awaited_.starts.push_back(job); }
  [[nodiscard]] const Awaited& awaited() const { return awaited_; }
  // The changes so far and the memo's difference. REQUIRES: no trade is open.
  [[nodiscard]] Plan plan() const;

 private:
  // The slots kept for a job. `back`: those of them that are free in the draft but shown as taken.
  struct Kept {
    JobId job;
    std::vector<SlotId> slots;  // in order
    std::vector<SlotId> back;
    bool given = false;  // the job has started, or any job may have them
  };

  void ask_again(const std::optional<Time>& at) const;
  void keep_back(JobId job) const;
  void show_kept() const;
  [[nodiscard]] bool keeps_for(JobId job) const;
  [[nodiscard]] const Job* short_of(const Job& grows, const Placement& seats) const;
  [[nodiscard]] const Node* waits_for_node(JobId job, ChangeKind kind) const;
  [[nodiscard]] std::optional<Time> changes_from(JobId job, ChangeKind kind, Owed owed) const;
  [[nodiscard]] std::optional<Placement> fit_anywhere(const Job& job, std::int32_t workers) const;
  [[nodiscard]] std::optional<Placement> fit_again(const Job& job, std::int32_t workers) const;
  [[nodiscard]] bool may_go_on(const Job& job, const Placement& own) const;
  void name_neighbour(const Job& job, const Placement& seats, Reason& reason) const;
  void record(Change change);
  void record_resize(JobId job, Placement seats, Reason reason, std::optional<JobId> beneficiary);
  void name_survivors(Change& change) const;
  [[nodiscard]] bool others_take_any(JobId but, const std::set<SlotId>& slots) const;
  void release(JobId job) const;
  void take(const Placement& seats) const;
  [[nodiscard]] std::vector<Asking> newly_asked() const;

  Snapshot snapshot_;
  const Placer& placer_;
  Protects protects_;
  LossLimits limits_;
  FreeSlots& free_;
  mutable std::optional<Kept> kept_;
  std::map<JobId, Time> protected_;
  bool line_kept_ = false;
  mutable std::unordered_map<JobId, JobId> leaves_slots_;
  std::vector<Change> changes_;
  std::unordered_map<JobId, std::size_t> changed_;  // index of the job's change
  std::uint32_t trade_ = 0;
  bool open_ = false;
  std::size_t trade_first_ = 0;
  FreeSlots::Mark trade_mark_ = 0;
  std::size_t trade_kept_ = 0;                     // of Kept::back when the open trade began
  bool trade_given_ = false;                       // Kept::given then
  std::map<std::string, std::string> trade_memo_;  // as it was when the open trade began
  bool explaining_ = false;
  std::unordered_map<JobId, Reason> waits_;
  std::map<JobId, Reason> refused_;
  std::vector<JobId> counted_anew_;
  std::map<JobId, JobId> asked_;  // each with the job it is asked for
  std::map<std::string, std::string> memo_;
  mutable Standing standing_;  // of the first of changes_; follows when somebody asks
  mutable Awaited awaited_;
};

}  // namespace paceline
