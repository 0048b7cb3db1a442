// The parts of apply(): one Fold per entry. Private to plan/; everybody else calls apply().
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

class Fold {
 public:
  Fold(State& state, Time at) : state_(state), parts_(state.parts_), at_(at) {}

  void pass_time();                // sums of the active period up to `at`
  void finish(std::uint64_t seq);  // the entry is folded
  void on(const Began& began);
  // A plan that was made under other rules and does not fit any more.
  [[nodiscard]] bool passes_over(const std::variant<Event, Plan>& body);
  void on(const Event& event);
  void on(const Plan& plan);
  void set_service_from(JobId job, double slot_seconds);
  void build_indexes();  // from parts alone
  // In id order.
  [[nodiscard]] std::vector<JobId> take_touched() { return std::move(touched_); }
  [[nodiscard]] std::map<std::string, std::string>& memo() { return parts_.memo; }

 private:
  // ---- events (fold_events.cpp) ----
  void on(const NodeUp& e);
  void on(const NodeDown& e);
  void on(const JobSubmitted& e);
  void on(const JobRequested& e);
  void on(const RangeSet& e);
  void on(const PolicySet& e);
  void on(const PolicyLoaded& e);
  void on(const PolicyFailed& e);
  void on(const TrialBegan& e);
  void on(const TrialEnded& e);
  void on(const RulesSet& e);
  void on(const WorkerStarted& e);
  void on(const WorkerReady& e);
  void on(const GangStands& e);
  void on(const WorkerEnded& e);
  void on(const CheckpointAcknowledged& e);
  void on(const CheckpointKept& e);
  void on(const Progressed& e);
  void on(const ModelPublished& e);
  void on(const JobWarned& e);
  void on(const TimeLimitReached& e);
  void on(const NewcomersLate& e);
  void on(const ClockSet& e);
  void on(const JobsForgotten& e);
  void on(const JournalAccepted& e);
  void on(const NodesRetired& e);
  void on(const NodeDrained& e);
  void on(const DrainBegan& e);
  void on(const NodeUndrained& e);
  void on(const NodeOff& e);
  void cancel(Job& job);
  void pause(Job& job);
  void resume(Job& job);
  void learn_interference(const Job& job, double step_seconds);
  static Worker* find_worker(std::optional<Gang>& gang, const ProcessKey& key);
  static Worker* find_newcomer(Job& job, const ProcessKey& key);
  void all_run(Job& job);  // every worker of its current gang
  void member_ended(Job& job, Worker& worker, const WorkerEnded& e);
  void fail_newcomers(Job& job);
  static void wait_while_too_few(Job& job);
  void parting_ended(Job& job, const WorkerEnded& e);
  [[nodiscard]] bool speaks(JobId job, Generation generation) const;

  // ---- measures (fold_measures.cpp) ----
  static void count_running(Job& job, Duration passed);
  void measure_speed(Job& job, Generation generation);
  void measure_pause(Job& job, std::optional<Time> since);  // that its workers were asked for
  void measure_pause_in_place(Job& job);
  void note_progress(Job& job, const Progress& report);
  void learn_length(const Job& job);  // of a job that completed
  void recall_length(Job& job);       // for a job that begins to wait
  void bill(Job& job, double Bill::*cause, double slot_seconds);
  void bill_plan(Time planned, double Bill::*cause, double slot_seconds);

  // ---- changes (fold_changes.cpp) ----
  void drop_unasked();
  void open_bill(const Plan& plan);
  void start(Job& job, const Change& change);
  void resize(Job& job, const Change& change);
  void preempt(Job& job, const Change& change);
  void form(Job& job, const Change& change);
  static void keep_survivors(const Job& job, const Change& change, Gang& next);
  void leave_for_smaller(Job& job, const Change& change);
  void go_on_in_place(Job& job, Gang next);  // its members are told; the others leave
  [[nodiscard]] bool goes_on_without(const Job& job, const Ending& ending) const;
  [[nodiscard]] bool is_failure(const Ending& ending) const;  // of the job, not of its machine
  void go_on_without_the_dead(Job& job, const Ending& ending);
  void dismiss_newcomers(Job& job);  // where the training was over before they had met the others
  void give_up_waiting(Job& job);    // for others in place of the dead: it starts anew
  void leave(Job& job, Parting parting);
  void lend(Job& job);
  void take_back(Job& job);
  void go_on_frozen(Job& job);  // all its slots are its own again
  void count_anew(std::span<const JobId> jobs);
  void ask(const Asking& asking);

  // ---- lifecycle (fold_jobs.cpp) ----
  Job& touch(JobId id);  // brings its sums up to date; every change of a job begins here
  Job& touch(JobId id, Time until);  // brings them up to then
  void mark_touched(JobId id);
  void accrue(Job& job, Time until);
  void enter(Job& job, JobState state);
  void stop_gang(Job& job, Stop stop);
  void gang_over(Job& job, Time ended);  // its last worker ended then
  void go_on(Job& job, Time ended);      // the forming gang takes over, or the job waits again
  void fail_or_retry(Job& job, const Ending& first, Time ended);
  void requeue(Job& job, Duration backoff);
  void end(Job& job, JobState state, Ending ending);
  void waits_no_more(const Job& job);       // for jobs before it
  void end_as_told(Job& job, Cause cause);  // by its owner (cancelled) or the clock (timed_out)
  void release_dependants(const Job& job);
  void lose_checkpoint(Job& job);                                   // its newest one
  std::vector<JobId> lose_checkpoints_on(const std::string& node);  // of those jobs
  // Has the gang a node where the newest checkpoint can't be found, though its start needs it?
  [[nodiscard]] bool lacks_checkpoint(const Job& job, const Gang& gang) const;
  [[nodiscard]] bool never_gets_checkpoint(const Job& job, const Gang& gang) const;
  void bill_lost_work(Job& job, Time until);
  void forget_lost_work(Job& job);
  [[nodiscard]] bool counts_as_quick(const Job& job) const;
  [[nodiscard]] Duration backoff_of_lost(Job& job) const;  // and notes what refused it
  void count_failure(Job& job) const;
  [[nodiscard]] bool is_counted(const Job& job) const;  // what its gang failed by, already
  // Did the server that wrote this fold by rules of before those?
  [[nodiscard]] bool by_rules_before(std::uint32_t rules) const {
    return parts_.fold_rules < rules;
  }

  // ---- slots and indexes (fold_slots.cpp) ----
  void occupy(Job& job, const Gang& gang);
  void drop_forming(Job& job);
  void start_those_that_wait_for_copies();
  void give_back_what_waits_for(const Node& node);
  void give_back(Job& job);
  void free_seat(const ProcessKey& worker, const Seat& seat);            // where none was started
  void empty(const ProcessKey& worker, const Seat& seat, Time gone_at);  // the worker is gone
  void mark_ending(const Job& job, const Gang& gang);
  void mark_ending(const Seat& seat);  // REQUIRES: all of it is leased
  void lend_slots(const Job& job, const Gang& gang);
  void forget_lent(const Job& job, const Gang& gang);
  void try_switch(Job& job);
  [[nodiscard]] bool all_leased(const Job& job, const Gang& gang) const;
  void lease(SlotId id, const ProcessKey& worker);
  void unlease(SlotId id, Time until);  // the sums of its job count until then
  [[nodiscard]] Node& known_node(NodeId id);
  void update_free(SlotId id);
  void update_free(const Node& node);
  void count_node(const Node& node, int sign);
  [[nodiscard]] Slot& slot(SlotId id);
  void index_slots(const Node& node);  // where it stands, and which are free
  void index_drain(const Node& node);
  void reindex(const Job& job);
  void index_active(const Job& job, bool active);
  void index_waiting(const Job& job, bool waits, bool moved);
  void index_name(const Job& job, bool lacks_length);
  [[nodiscard]] bool dependencies_met(const Job& job) const;

  State& state_;
  StateParts& parts_;
  Time at_;
  std::vector<JobId> touched_;  // in id order
  std::vector<JobId> ended_;    // by this entry; their dependants are looked at when it is folded
};

}  // namespace paceline
