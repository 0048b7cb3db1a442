// What must hold whatever fails, watched from outside: it sees every process that begins and ends
// and every entry that becomes durable, and remembers what was wrong.
//
//   - no worker (job, generation, rank) is started twice, or without the state's wish
//   - no slot of a machine has two workers in it
//   - no two generations of a job are alive at once, and none that the state has given up
//   - nobody outlives a stop's grace, and nobody works in a paused job, by more than kPatience
//   - the state is whole after every commit (check_state); jobs that are over stay as they ended
//   - what a person was promised (an id) is there
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/time.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline::sim {

// What may come between a decision and the process it concerns: outages one after the other.
inline constexpr Duration kPatience = std::chrono::minutes{5};

class Ledger {
 public:
  // ---- processes ----
  void started(Time now, const std::string& machine, const WorkerKey& worker,
               const std::vector<std::uint32_t>& slots);
  void ended(Time now, const WorkerKey& worker);
  void worked(Time now, const WorkerKey& worker);
  [[nodiscard]] std::size_t alive() const { return alive_.size(); }

  // ---- the state ----
  void committed(Time now, std::span<const Entry> entries, const State& state,
                 std::span<const JobId> touched);
  // After a restart: the state is what was committed.
  void recovered(Time now, const State& state);
  void promised(JobId job, const std::string& name) { promised_[job] = name; }

  // Once everything has calmed down.
  void at_rest(Time now, const State& state);

  // Counts something that happened.
  void note(const std::string& what, std::uint64_t times = 1) { happened_[what] += times; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& happened() const { return happened_; }

  void wrong(Time now, std::string what);
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  // Of everything that happened, in order.
  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }

 private:
  struct Process {
    std::string machine;
    std::vector<std::uint32_t> slots;
  };

  void check_job(Time now, const Job& job);
  void check_whole(Time now, const State& state);
  void check_process(Time now, const WorkerKey& worker, const Job* job);

  Digest digest_;
  std::vector<std::string> faults_;
  std::set<WorkerKey> ever_;
  std::map<WorkerKey, Process> alive_;
  std::map<std::pair<std::string, std::uint32_t>, WorkerKey> occupied_;
  std::map<JobId, JobState> over_;
  std::map<JobId, Time> paused_;
  std::map<JobId, Generation> current_;
  std::map<std::string, std::uint64_t> happened_;
  std::map<JobId, std::string> promised_;
  std::uint64_t seq_ = 0;
};

}  // namespace paceline::sim
