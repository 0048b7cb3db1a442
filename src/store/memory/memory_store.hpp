// A store that keeps everything in memory, for tests and replays: what was appended survives
// whoever used the store, not the store itself. Like a disk, it can be made to refuse writing.
//
//   MemoryStore store;
//   store.refuse_writes(Error{ErrorCode::storage, "The disk is full.", "", Retry::may_help});
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace paceline {

class MemoryStore final : public Store {
 public:
  Result<State> load() override;
  Result<void> append(const Batch& batch) override;
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override;
  Result<void> prove() override;
  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) override;
  Result<std::uint64_t> first_entry() override { return 1; }
  Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) override;
  Result<std::vector<Progressed>> unjournalled() override;
  Result<LaunchSpec> launch(JobId job) override;
  Result<std::vector<std::pair<JobId, Notify>>> notify(JobId from) override;
  Result<std::uint64_t> passed_over(JobId job) override;
  Result<std::uint64_t> newest_report(const ProcessKey& process) override;
  Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                           std::size_t limit) override;
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override;
  Result<std::optional<EndedJob>> first_ended(Kept kept) override;
  Result<bool> thin(JobId job) override;
  Result<bool> drop(JobId job, Time now) override;
  Result<std::optional<Remains>> remains(JobId job) override;
  // All of the journal is in one place.
  Result<bool> tidy(const JournalBounds&) override { return false; }
  Result<Pruned> prune(std::uint64_t) override { return Pruned(); }

  // append() and checkpoint() fail with this error until writes are accepted again.
  void refuse_writes(Error error) { refusal_ = std::move(error); }
  void accept_writes() { refusal_.reset(); }

 private:
  struct JobPoints {
    std::map<std::uint64_t, MetricPoint> points;  // by number
    std::uint64_t last = 0;
    std::set<std::tuple<Generation, std::int32_t, std::uint64_t>> known;
    std::map<ProcessKey, PassedOver> passed_over;
  };

  void store_point(const MetricPoint& point);
  void forget_secrets(JobId job);

  std::vector<Entry> journal_;  // entry n at n-1
  StateParts checkpoint_;
  std::set<JobId> folded_;  // by load(), on top of the checkpoint, or forgotten since
  std::map<JobId, Job> forgotten_;
  std::map<JobId, Remains> remains_;  // of every job that was forgotten
  std::map<JobId, LaunchSpec> launches_;
  std::map<JobId, Progressed> unjournalled_;
  std::map<JobId, Notify> notify_;
  std::map<JobId, JobPoints> points_;
  std::map<std::pair<std::uint32_t, std::string>, SubmissionKey> submissions_;
  std::optional<Error> refusal_;
};

}  // namespace paceline
