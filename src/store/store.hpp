// What must survive: the journal, checkpoints of its fold, what starts jobs, curves, and
// submissions' keys. One thread uses it.
//
//   auto recovered = store->load();
//   store->append(batch);            // durable when it returns
//   store->checkpoint(state, jobs);  // a restart reads this and the tail
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/launch.hpp"
#include "model/progress.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

// A client's own name for a submission, so that a repeated one is answered with the same job.
struct SubmissionKey {
  std::uint32_t uid = 0;
  std::string key;
  JobId job;
  Time at;
};

// All of it becomes durable, or none.
struct Batch {
  std::vector<Entry> entries;  // consecutive, the first one follows the journal's last
  std::vector<std::pair<JobId, LaunchSpec>> launches;
  std::vector<MetricPoint> points;  // a known report of a process is dropped
  std::vector<SubmissionKey> keys;
  std::vector<Job> forgotten = {};  // as they were before the batch, which tells that they are
};

// The points of a job are numbered from 1 in the order they were stored.
struct NumberedPoint {
  std::uint64_t number = 0;
  MetricPoint point;
  friend bool operator==(const NumberedPoint&, const NumberedPoint&) = default;
};

// A page may be empty although more follows, where a search for one metric passed many points
// without it: the end is reached when `next` is the number that was asked from.
struct PointPage {
  std::vector<NumberedPoint> points;
  std::uint64_t next = 1;  // ask from here for what comes after
};

inline constexpr Duration kSubmissionRemembered = std::chrono::hours{24};
inline constexpr std::size_t kPointsScanMax = 10'000;  // points looked at for one page

class Store {
 public:
  virtual ~Store() = default;

  // The state: the last checkpoint with the journal's tail folded in; empty for a new store.
  // Errors: data (corrupt, or written by a newer version; says which), storage.
  virtual Result<State> load() = 0;

  // Errors: storage (disk full, read-only): nothing of the batch is kept.
  virtual Result<void> append(const Batch& batch) = 0;

  // Stores the state as of state.seq(). `changed`: at least the jobs touched since the last
  // checkpoint or load(); those that load() folded in, and those forgotten, the store knows. What would start a job that
  // is over is forgotten, but for what people read of it: the command and the directory.
  // REQUIRES: state.seq() is the last appended entry's. Errors: storage; then the last checkpoint
  // stands.
  virtual Result<void> checkpoint(const State& state, std::span<const JobId> changed) = 0;

  // Writes a little, durably: is what append() would do possible? Errors: storage, and data once
  // something was found damaged while writing: nothing is written any more then.
  virtual Result<void> prove() = 0;

  // Entries from `seq` on, at most `limit`, in order.
  virtual Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) = 0;

  // Jobs that the state forgot, in id order from that one on, at most `limit`.
  virtual Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) = 0;

  // Without environment and setup once the job is over. Errors: not_found.
  virtual Result<LaunchSpec> launch(JobId job) = 0;

  // Points of a job from number `from` on (0: from the first), at most `limit`. `name` empty: every
  // metric; else only points that hold it, with its value alone.
  virtual Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                                   std::size_t limit) = 0;

  // The job of an earlier submission with this key, younger than a day.
  virtual Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                                       Time now) = 0;
};

}  // namespace paceline
