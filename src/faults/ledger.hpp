// What must hold whatever fails, watched from outside: it sees every process that begins and ends
// and every entry that becomes durable, and remembers what was wrong.
//
//   - no process is started twice, or without the state's wish; what one is told of its place is so
//   - no slot of a machine has two workers in it, but for one that is frozen and has lent it
//   - no two processes of a job are alive at once that are not of one gang, none that the state has
//     given up, and no number of a generation comes back
//   - no gang is in part for longer than the patience: all of its workers are started, or it stops
//   - nobody outlives a stop's grace, and nobody works in a paused job, by more than the patience
//   - the state is whole after every commit (check_state), and after a restart it is what the
//     entries say, each of them in order
//   - each job has one submission, and stays as it ended; what a person was promised (an id) is
//     there; a worker is started with what its owner gave; at the end nothing is left over
//   - every change of a plan has a reason
//   - no job pays for what its machine lacks, or for a port that is taken there: a worker that was
//     refused doesn't end as one that failed by itself, and only where one did a retry is spent or a
//     job FAILED; what holds of ports is in port_watch.hpp, of checkpoints on one machine in
//     copy_watch.hpp
//   - however clocks are set, jobs ran and were there for as long as is said of them, and none
//     reaches its time limit before it ran for so long
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/time.hpp"
#include "faults/copy_watch.hpp"
#include "faults/happened.hpp"
#include "faults/oracle.hpp"
#include "faults/port_watch.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"
#include "store/store.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline::faults {

// What may come between a decision and the process it concerns: outages one after the other, those
// of the server aside. Where the server dies at every commit, it gets on by one commit a second.
inline constexpr Duration kPatience = std::chrono::minutes{5};
inline constexpr Duration kPatienceAtEveryCommit = std::chrono::minutes{30};

// What starts the job of this name, and who submits jobs; its name is the key of its submission.
LaunchSpec launch_of(const std::string& job);
inline constexpr std::uint32_t kPeople = 1000;  // uid of the first of them

class Ledger {
 public:
  // Faults are told with their time since `begin`.
  explicit Ledger(Time begin = {}) : begin_(begin) {}
  void set_patience(Duration patience) { patience_ = patience; }

  // Called with one line for each thing that happens.
  using Story = std::function<void(std::string_view)>;
  void on_story(Story story) { story_ = std::move(story); }

  // ---- processes ----
  void started(Time now, const std::string& machine, const ProcessKey& worker,
               const std::vector<std::uint32_t>& slots);
  // `disturbed`: it had a notice or a kill before.
  void ended(Time now, const WorkerGone& gone, bool disturbed);
  // With what it is started.
  void launched(Time now, const std::string& node, const WorkerLaunch& worker);
  // It wrote it into its log.
  void reported(const WorkerReport& report) { oracle_.wrote(report); }
  void saved(const CheckpointSeen& checkpoint) { oracle_.saved(checkpoint); }
  void published(const ModelSeen& model) { oracle_.published(model); }
  // Its machine is gone with its log.
  void unread(const ProcessKey& worker) { oracle_.unread(worker); }
  // Its machine could not start it; told before it ends.
  void refused(const ProcessKey& worker);
  // As PortWatch says of them.
  void given_ports(Time now, const NodeSpec& node, const WorkerLaunch& launch,
                   const PortRange& ports);
  void taken_port(Time now, const WorkerLaunch& launch);
  void worked(Time now, const ProcessKey& worker);
  // It was told that this is its place now.
  void enrolled(Time now, const ProcessKey& worker, const Membership& membership);
  // Is it a member of its job's current gang, as far as is committed?
  [[nodiscard]] bool is_member(const ProcessKey& worker) const;
  [[nodiscard]] std::size_t alive() const { return alive_.size(); }
  // Nothing is to be expected of the machine before. It is named by its identity, as another one may
  // bear its name, or by its name where it has none.
  void away(const std::string& machine, Time until);

  // ---- the state ----
  void committed(Time now, std::span<const Entry> entries, const State& state,
                 std::span<const JobId> touched);
  // After a restart: the state is the fold of what was committed. `untold`: what became durable and
  // committed() was not told of.
  void recovered(Time now, std::span<const Entry> untold, const State& state);
  void promised(JobId job, const std::string& name, std::uint32_t uid) {
    promised_[job] = {name, uid};
  }
  // The server's machine is down and comes back in this boot: to the server no time passes from its
  // last entry until it writes one there. Entries that turn up later may be of the boot before.
  void stands_still(std::string boot) { boot_ = std::move(boot); }
  // Of the last entry it knows.
  [[nodiscard]] std::uint64_t seq() const { return truth_.seq(); }

  // ---- what must not be lost (oracle.hpp) ----
  void sent(const AgentFrame& frame) { oracle_.told(frame); }
  void sent(Time now, const ServerFrame& frame, const State& state);
  void stored(const Batch& batch);
  // The server keeps what is over for so long, and then less of it.
  void keeps(Duration span) { keep_ = span; }
  void logs_removed(Time now, JobId job);
  // Nodes retire that were absent for so long, or left for good.
  void retires_after(Duration span) { retire_after_ = span; }
  void nodes_left(std::set<std::string> names);

  // The server keeps only so many points of a job, and says how many it passed over.
  void passes_over() { oracle_.passes_over(); }

  // ---- time ----
  // Called after every event; looks at most once a second. `works`: the server is up and can write.
  // The time until the next event is part of no patience otherwise.
  void passed(Time now, bool works = true);
  // Once everything has calmed down.
  void at_rest(Time now, const State& state);
  // The same, of the store: all that became durable is there, once more from its first entry on, and
  // by the keys that people gave. `servers`: the server's time.
  void compare(Time now, Time servers, Store& store);

  // ---- what happened ----
  void note(std::string_view what, std::string_view detail = {});
  void count(std::string_view what, std::uint64_t times = 1);
  [[nodiscard]] const Happened& happened() const { return happened_; }

  void wrong(Time now, std::string what);
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  // Of everything that happened, in order.
  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }

 private:
  struct Promise {
    std::string name;
    std::uint32_t uid = 0;
  };
  struct Process {
    std::string machine;
    std::vector<std::uint32_t> slots;
  };
  // A process that is to join a gang, or leaves one that goes on.
  struct Beside {
    std::string machine;
    std::optional<Time> stop_at;
    std::optional<Time> dead_by;
    std::optional<Time> wanted_at;  // it may be started, and was not yet; worked
  };
  // The current gang of a job, as it was committed.
  struct Wanted {
    Generation generation;
    std::map<ProcessKey, std::int32_t> ranks;
    std::vector<std::string> machines;  // by rank, as away() names them
    std::set<ProcessKey> begun;         // those that were started, ever
    std::optional<Time> begun_at;       // the first of them; worked
    std::map<ProcessKey, Beside> beside;
    std::optional<Time> stop_at;  // as the state has it
    std::optional<Time> dead_by;  // it is stopped: nobody is alive any more; worked
    [[nodiscard]] bool knows(const ProcessKey& worker) const {
      return ranks.contains(worker) || beside.contains(worker);
    }
    [[nodiscard]] const std::string& machine_of(const ProcessKey& worker) const {
      const auto rank = ranks.find(worker);
      return rank == ranks.end() ? beside.at(worker).machine
                                 : machines[static_cast<std::size_t>(rank->second)];
    }
    [[nodiscard]] std::optional<Time> dead_by_of(const ProcessKey& worker) const {
      return ranks.contains(worker) ? dead_by : beside.at(worker).dead_by;
    }
  };

  // What the true time says of a job.
  struct Reckoning {
    Time submitted;
    Time since;         // when it was looked at last
    bool runs = false;  // since then
    Duration ran{};
    Duration unseen{};        // for which it was said afterwards that it had ended already
    Duration still_before{};  // of the server's time, when it was submitted
    Duration untold_before{};
  };

  void tell(std::string_view what, std::string_view detail);
  void note_commit(Time now);
  void reckon(Time now, const Job& job);
  void check_sums(Time now, const Job& job);
  void check_limit(Time now, const Job& job);
  void take(Time now, const Entry& entry);
  void take_ending(Time now, const Entry& entry, const WorkerEnded& ended);
  void take_forgotten(Time now, const Entry& entry, const JobsForgotten& forgotten);
  void take_retired(Time now, const Entry& entry, const NodesRetired& retired);
  void compare_forgotten(Time now, Store& store);
  // Whether nothing of the job is kept, as may be.
  bool was_dropped(Time now, Store& store, JobId id);
  void check_plan(Time now, const Plan& plan);
  void check_job(Time now, const State& state, const Job& job);
  void check_generations(Time now, const Job& job);
  void follow_gang(Time now, const State& state, const Job& job);
  void follow_beside(Time now, const State& state, const Job& job, Wanted& gang) const;
  void follow_lending(Time now, const Job& job);
  [[nodiscard]] const Wanted* find_gang(const ProcessKey& worker) const;
  void leave(const ProcessKey& worker, const Process& process);
  void occupy(Time now, const ProcessKey& worker, const Process& process, std::string_view how);
  void check_whole(Time now, const State& state);
  // The instant by a clock that stands still while the server doesn't work. Patience is by it.
  [[nodiscard]] Time worked_by(Time now) const { return now - idle_; }
  // The later of `at` and the instant until which nothing is to be expected of the machine; worked.
  Time heard_after(const std::string& machine, Time at) const;
  void check_processes(Time now);
  void check_gang(Time now, JobId job, const Wanted& gang);

  Time begin_;
  Duration patience_ = kPatience;
  Story story_;
  Digest digest_;
  std::vector<std::string> faults_;
  Happened happened_;

  std::set<ProcessKey> ever_;
  std::set<ProcessKey> refused_;
  std::map<ProcessKey, Process> alive_;
  std::map<std::pair<std::string, std::uint32_t>, ProcessKey> occupied_;
  std::map<std::string, Time> away_until_;  // worked
  std::optional<Time> looked_at_;
  std::optional<Time> idle_since_;
  Duration idle_{};  // in which the server didn't work

  Time now_;
  Oracle oracle_{[this](std::string what) { wrong(now_, std::move(what)); }};
  PortWatch ports_{[this](std::string what) { wrong(now_, std::move(what)); }};
  CopyWatch copies_{[this](std::string what) { wrong(now_, std::move(what)); }};
  State truth_;  // the fold of every entry
  std::map<JobId, Job> forgotten_;
  std::optional<Duration> keep_, retire_after_;
  std::set<std::string> left_;           // nodes
  std::set<std::string> left_in_doubt_;  // at any time since the newest commit
  std::set<JobId> without_logs_;
  std::map<std::string, JobId> names_;
  std::map<JobId, Promise> promised_;
  std::map<JobId, std::pair<JobState, std::optional<Time>>> over_;
  std::map<JobId, Time> paused_;  // worked
  std::set<JobId> lending_;       // their workers' slots are others'
  std::map<JobId, Reckoning> reckoned_;
  std::string boot_;         // of the server's machine, until an entry is known of it
  Time committed_at_;        // the newest commit
  Duration still_{};         // in which no time passed to the server
  Duration still_before_{};  // the same until the newest commit
  Duration untold_{};        // between commits that it was told of late and then
  std::map<JobId, Wanted> current_;
  std::map<JobId, Generation> newest_;
  // Where processes stood in the generations after the one that they were born into.
  std::map<std::pair<ProcessKey, Generation>, Membership> places_;
};

}  // namespace paceline::faults
