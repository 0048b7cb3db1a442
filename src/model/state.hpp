// The state of everything: the fold of the journal (plan/apply.hpp is the only code that changes
// it). Reading is O(1); its orders and the free slots are kept as it changes, so a round copies
// nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/drain.hpp"
#include "model/event.hpp"
#include "model/free_slots.hpp"
#include "model/interference.hpp"
#include "model/job.hpp"
#include "model/job_table.hpp"
#include "model/node.hpp"
#include "model/running_table.hpp"
#include "model/topology.hpp"
#include "model/waiting_order.hpp"
#include "model/wall_clock.hpp"

namespace paceline {

// An exclusive grant of a slot to one worker. `ending`: the worker is on its way out.
struct Lease {
  ProcessKey worker;
  bool ending = false;
  friend bool operator==(const Lease&, const Lease&) = default;
};

struct Slot {
  std::optional<Lease> lease;
  std::optional<ProcessKey> promise;    // becomes the lease once the ending one is confirmed empty
  std::optional<ProcessKey> lent = {};  // by this worker, which is frozen in it
  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Node {
  NodeId id;
  NodeSpec spec;
  bool up = false;
  std::vector<Slot> slots;  // as many as spec.slots ever had
  // While it is down; nothing: it is up or retired, or went down before this was written.
  std::optional<Time> absent_since = {};
  // It left the cluster and counts for nothing; of its spec the name is left, for jobs that ran there.
  bool retired = false;
  std::optional<Drain> drain = {};  // over retirements, too
  std::string off_by =
      {};  // whose word it is that its machine is off, until it is up again; empty: nobody's

  // It drains already: nothing starts there.
  [[nodiscard]] bool drains() const { return drain && drain->begun_at; }
  // What a slot is now: seats may stand on slots that the node had once and has no longer. Those
  // are not usable, and of no model. Slots of seats are looked up here, never in spec.slots.
  [[nodiscard]] const SlotSpec& slot_spec(std::uint32_t index) const;
  [[nodiscard]] bool usable(std::uint32_t index) const { return up && slot_spec(index).usable; }
  // A worker may be started in the slot, once it is empty.
  [[nodiscard]] bool offers(std::uint32_t index) const {
    return usable(index) && !spec.refusal && !drains();
  }
  friend bool operator==(const Node&, const Node&) = default;
};

// The active policy and for how much of the slots' time it used them.
struct PolicyPeriod {
  std::string name;
  std::map<std::string, std::string> parameters;
  Time from;
  double slot_seconds_leased = 0;
  double slot_seconds_available = 0;
  Bill lost{};  // what jobs lost under it
  friend bool operator==(const PolicyPeriod&, const PolicyPeriod&) = default;
};

// A policy that somebody brought as a text.
struct PolicyScript {
  std::string text;
  Time loaded_at;
  std::string failure;  // why it was set aside last; empty: never since it was loaded
  std::optional<Time> failed_at;
  friend bool operator==(const PolicyScript&, const PolicyScript&) = default;
};

// What stopping and resizing jobs came to, of one plan that did.
struct PlanBill {
  std::uint64_t round = 0;
  std::string policy;
  Time at;
  Bill lost{};  // so far: gangs that it stopped may still be on their way out
  friend bool operator==(const PlanBill&, const PlanBill&) = default;
};

inline constexpr std::size_t kPlanBillsMax = 100;

// The policy that decides every round without effect beside the active one.
struct PolicyTrial {
  std::string name;
  std::map<std::string, std::string> parameters;
  Time since;
  friend bool operator==(const PolicyTrial&, const PolicyTrial&) = default;
};

inline constexpr std::size_t kScriptsMax = 64;
inline constexpr std::size_t kScriptsBytesMax = 4U << 20;  // of all of them together

// Jobs in arrival order: larger priority first, then the job that came first, then the smaller id.
// A requeued job keeps its place.
struct QueueKey {
  std::int32_t negative_priority = 0;
  Time submitted_at;
  JobId job;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

QueueKey queue_key(const Job& job);

// How long jobs of one name took, at their wanted size.
struct NameHistory {
  std::uint32_t completed = 0;
  double seconds = 0;  // mean, the newest weigh more
  Time last;           // when the newest completed
  friend bool operator==(const NameHistory&, const NameHistory&) = default;
};

inline constexpr std::size_t kNamesMax = 4'096;
inline constexpr std::size_t kNamesForgotten =
    1'024;  // those unused for longest, when there are more

// What those jobs of one user came to that the state forgot: they are in the store alone.
struct ForgottenSums {
  std::uint64_t completed = 0, failed = 0, timeout = 0, cancelled = 0;
  Duration waited{};
  double slot_seconds = 0;
  Bill lost;
  // How many ended so. REQUIRES: is_over(state).
  [[nodiscard]] std::uint64_t& of(JobState state);
  [[nodiscard]] std::uint64_t jobs() const { return completed + failed + timeout + cancelled; }
  friend bool operator==(const ForgottenSums&, const ForgottenSums&) = default;
};

// Everything the indexes are built from: what a checkpoint stores.
struct StateParts {
  std::uint64_t seq = 0;                    // of the last entry folded
  std::uint64_t round = 0;                  // of the last plan folded
  Time at;                                  // of the last entry folded
  std::vector<Node> nodes;                  // by id
  JobTable jobs;                            // but those that are forgotten
  std::vector<PolicyPeriod> periods;        // the last one is active; bounded (kPeriodsMax)
  std::map<std::string, std::string> memo;  // of the active policy
  std::map<std::string, PolicyScript> scripts;
  std::map<std::string, NameHistory> names;
  Interference interference;
  std::optional<PolicyTrial> trial;
  std::vector<PlanBill>
      bills;  // of the newest plans that have one, by time; bounded (kPlanBillsMax)
  Rules rules = {};
  ClockMarks clock_marks;    // bounded (kClockMarksMax)
  std::optional<Boot> boot;  // of the server's machine; nothing: nobody told
  std::map<std::string, ForgottenSums> forgotten = {};  // by user
  std::uint32_t fold_rules = 1;  // by which the newest server wrote (plan/plan.hpp, kFoldRules)
  friend bool operator==(const StateParts&, const StateParts&) = default;
};

inline constexpr std::size_t kPeriodsMax = 1'000;

class State {
 public:
  State() = default;
  // REQUIRES: the parts agree with each other (leases with gangs); builds every index.
  explicit State(StateParts parts);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = default;
  State& operator=(State&&) = default;

  [[nodiscard]] const StateParts& parts() const { return parts_; }
  [[nodiscard]] std::uint64_t seq() const { return parts_.seq; }
  [[nodiscard]] std::uint64_t round() const { return parts_.round; }
  [[nodiscard]] Time at() const { return parts_.at; }

  [[nodiscard]] const ClockMarks& clock_marks() const { return parts_.clock_marks; }
  [[nodiscard]] const std::optional<Boot>& boot() const { return parts_.boot; }
  // How far the wall clock is ahead of the time line.
  [[nodiscard]] Duration ahead() const {
    return parts_.clock_marks.empty() ? Duration{} : parts_.clock_marks.back().ahead;
  }
  // Where an instant that people named is on the time line, as the wall clock stands now.
  [[nodiscard]] Time on_time_line(WallTime named) const {
    return Time{named.time_since_epoch() - ahead()};
  }
  // When the job's deadline is due.
  [[nodiscard]] std::optional<Time> deadline(const Job& job) const {
    if (!job.spec->deadline) return std::nullopt;
    return on_time_line(*job.spec->deadline);
  }

  // By id, those that retired as well: code that goes over the cluster skips them.
  [[nodiscard]] const std::vector<Node>& nodes() const { return parts_.nodes; }
  [[nodiscard]] const Node* find_node(NodeId id) const;
  [[nodiscard]] const Node* find_node(std::string_view name) const;

  // All but those that are forgotten: they were over, and are in the store (Store::forgotten()).
  [[nodiscard]] const JobTable& jobs() const { return parts_.jobs; }
  [[nodiscard]] const Job* find_job(JobId id) const { return parts_.jobs.find(id); }
  // A job that another one waits for is forgotten only if it completed.
  [[nodiscard]] bool is_forgotten(JobId id) const { return parts_.jobs.has_left(id); }
  [[nodiscard]] const std::map<std::string, ForgottenSums>& forgotten() const {
    return parts_.forgotten;
  }
  // REQUIRES: the job exists.
  [[nodiscard]] const Job& job(JobId id) const;
  [[nodiscard]] JobId next_job_id() const;

  // Every job that is not over, in arrival order.
  [[nodiscard]] const std::set<QueueKey>& queue() const { return queue_; }
  // Those of them that have or await seats (any gang).
  [[nodiscard]] const std::set<QueueKey>& active() const { return active_; }
  // Those that wait and may start now or at their eligible time (PENDING or PAUSED for others, not
  // held, dependencies met).
  [[nodiscard]] const std::set<QueueKey>& waiting() const { return waiting_; }
  // The same jobs in another order: built when it is first asked for, and kept. One that was not
  // asked for between a change of the policy and the next plan is dropped with that plan: what a
  // policy counts by is not kept up to date for ever after it.
  [[nodiscard]] const WaitingOrder& waiting_by(const Order& order) const;
  // Active jobs that run or are on their way to, with an order's keys: kept like waiting_by().
  [[nodiscard]] const RunningTable& running_by(const Order& order) const;
  // The users of waiting jobs, with how many those are.
  [[nodiscard]] const std::map<std::string, std::int64_t>& waiting_users() const {
    return waiting_users_;
  }
  // Active jobs whose name the pattern matches ("prep", "prep*"), by name and id.
  [[nodiscard]] std::vector<JobId> active_named(std::string_view pattern) const;
  // Active jobs that keep others off their nodes: exclusive ones, and those with a required
  // anti-affinity to jobs.
  [[nodiscard]] const std::set<JobId>& aloof() const { return aloof_; }
  // Jobs that wait for this one (`after`).
  [[nodiscard]] std::vector<JobId> dependants(JobId id) const;
  // Active jobs whose size lies outside their range (the owner resized them).
  [[nodiscard]] const std::set<JobId>& out_of_range() const { return out_of_range_; }

  // Running jobs that were told that they will be stopped for others (Gang::asked).
  [[nodiscard]] const std::set<JobId>& asked() const { return asked_; }

  // Nodes that drain, and nodes whose drain is announced only.
  [[nodiscard]] const std::set<NodeId>& draining() const { return draining_; }
  [[nodiscard]] const std::set<NodeId>& drains_announced() const { return drains_announced_; }
  // When the node's drain begins or began, and when the jobs that are there still are stopped, as the
  // wall clock stands now; nothing: they never are. REQUIRES: it has one.
  [[nodiscard]] Time drain_begins(const Node& node) const;
  [[nodiscard]] std::optional<Time> drain_ends(const Node& node) const;

  [[nodiscard]] const Rules& rules() const { return parts_.rules; }
  [[nodiscard]] const PolicyPeriod* policy() const;  // nullptr before the first PolicySet
  [[nodiscard]] const std::vector<PolicyPeriod>& periods() const { return parts_.periods; }
  [[nodiscard]] const std::map<std::string, std::string>& memo() const { return parts_.memo; }

  [[nodiscard]] const std::vector<PlanBill>& bills() const { return parts_.bills; }

  // The policy that is tried, if one is.
  [[nodiscard]] const std::optional<PolicyTrial>& trial() const { return parts_.trial; }

  // People's own policies, by name; bounded (kScriptsMax, kScriptsBytesMax).
  [[nodiscard]] const std::map<std::string, PolicyScript>& scripts() const {
    return parts_.scripts;
  }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const Interference& interference() const { return parts_.interference; }

  [[nodiscard]] const Slot& slot(SlotId id) const;
  // Is all of the seat leased to it?
  [[nodiscard]] bool has_seat(const ProcessKey& worker, const Seat& seat) const;
  // Slots of nodes that are up and usable, and how many of them are leased.
  [[nodiscard]] std::int64_t slots_available() const { return slots_available_; }
  [[nodiscard]] std::int64_t slots_leased() const { return slots_leased_; }
  // Usable slots of every node that has not retired: what the cluster could have at most.
  [[nodiscard]] std::int64_t slots_ever() const { return slots_ever_; }
  // Workers of so many slots each that those nodes could hold together; a worker stays on one node.
  // REQUIRES: >= 1.
  [[nodiscard]] std::int64_t workers_ever(std::int32_t slots_per_worker) const;
  // Usable slots of the largest of them, and of the largest that is up.
  [[nodiscard]] std::int64_t largest_node_ever() const {
    return sizes_ever_.empty() ? 0 : sizes_ever_.rbegin()->first;
  }
  [[nodiscard]] std::int64_t largest_node_up() const {
    return sizes_up_.empty() ? 0 : sizes_up_.rbegin()->first;
  }

  // Why the last entry, a plan that was made under other rules than this program's, was passed
  // over; empty: it was not.
  [[nodiscard]] const std::string& misfit() const { return misfit_; }

  // How many orders and tables are kept up to date.
  [[nodiscard]] std::size_t orders_kept() const { return orders_.size() + tables_.size(); }

  // Scratch for what-ifs on the free slots. A caller that marks must rewind (Draft does).
  [[nodiscard]] FreeSlots& free_slots() const { return free_; }

  // Sums up to `now` without changing anything: a period's use with the time since the last entry
  // added.
  [[nodiscard]] PolicyPeriod active_period(Time now) const;

 private:
  friend class Fold;  // plan/apply.cpp

  void add_use(PolicyPeriod& period, Time until) const;  // since the last entry

  StateParts parts_;
  std::set<QueueKey> queue_, active_, waiting_;
  std::set<JobId> out_of_range_, aloof_, asked_;
  std::set<NodeId> draining_, drains_announced_;
  std::map<std::string, std::int64_t> waiting_users_;
  std::map<std::string, std::set<JobId>, std::less<>> active_by_name_;
  Topology topology_;
  std::map<std::string, std::set<JobId>> without_length_;  // waiting, by name
  std::map<JobId, std::set<JobId>> dependants_;
  mutable FreeSlots free_;
  template <class Index>
  struct Kept {
    explicit Kept(const Order& order) : index(order) {}
    Index index;
    bool asked = true;  // for, since the policy was set
  };
  mutable std::deque<Kept<WaitingOrder>> orders_;
  mutable std::deque<Kept<RunningTable>> tables_;
  bool new_policy_ = false;  // no plan was made since it was set
  std::string misfit_;
  std::int64_t slots_available_ = 0;
  std::int64_t slots_leased_ = 0;
  std::int64_t slots_ever_ = 0;
  std::map<std::int64_t, std::int64_t> sizes_ever_,
      sizes_up_;  // how many nodes have so many usable slots
};

// What a policy sees: the state and the time of the round. O(1).
struct Snapshot {
  const State& state;
  Time now;
};

}  // namespace paceline
