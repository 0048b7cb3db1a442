// What must survive: the journal, checkpoints of its fold, what starts jobs, curves, and
// submissions' keys; and what is no longer needed of it. One thread uses it.
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
#include "notify/notify.hpp"
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
  // What jobs reported since their last entry `Progressed`, merged, one for each: the journal gets it
  // later. It takes the place of what was stored before, and goes with the next such entry of its job.
  std::vector<Progressed> unjournalled = {};
  std::vector<std::pair<JobId, Notify>> notify = {};
  std::vector<PassedOver> passed_over = {};  // one for a process
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

// How much is kept of a job that the state forgot.
enum class Kept { whole, thinned, nothing };

// What is left of one.
struct Remains {
  Kept kept = Kept::whole;
  JobState state = JobState::completed;  // in which it ended
  Time ended_at;
  std::uint64_t points = 0;        // that it had; counted when they are thinned
  std::optional<Time> dropped_at;  // where nothing is kept
  friend bool operator==(const Remains&, const Remains&) = default;
};

struct EndedJob {
  JobId job;
  Time at;
  friend bool operator==(const EndedJob&, const EndedJob&) = default;
};

// How much of the journal lies where.
struct JournalBounds {
  std::uint64_t entries = 0;           // in the database; older ones lie in segments
  std::optional<std::uint64_t> bytes;  // of segments, oldest removed first; nothing: all are kept
};

// Segments that were removed.
struct Pruned {
  std::uint64_t segments = 0, entries = 0, bytes = 0;
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

  // Entries from `seq` on, at most `limit`, in order; from the first there is, where `seq` is before
  // it. Errors: data: entries that a damaged piece of the journal held; what comes after it reads.
  virtual Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) = 0;

  // The number of the first entry that there is; 1 for a new journal.
  virtual Result<std::uint64_t> first_entry() = 0;

  // Jobs that the state forgot, in id order from that one on, at most `limit`.
  virtual Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) = 0;

  // What jobs reported that the journal does not tell yet, by job. Errors: data.
  virtual Result<std::vector<Progressed>> unjournalled() = 0;

  // Without environment and setup once the job is over. Errors: not_found.
  virtual Result<LaunchSpec> launch(JobId job) = 0;

  // Who is to be told of which jobs, of those that ask for it from that id on, in id order; a job that
  // was forgotten asks for nothing any more.
  virtual Result<std::vector<std::pair<JobId, Notify>>> notify(JobId from) = 0;

  // Points of a job from number `from` on (0: from the first), at most `limit`. `name` empty: every
  // metric; else only points that hold it, with its value alone.
  virtual Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                                   std::size_t limit) = 0;

  // Points of a job that were passed over so far, until it is dropped.
  virtual Result<std::uint64_t> passed_over(JobId job) = 0;

  // The number of the newest report of a process that is stored as a point or was passed over; 0: there is none.
  virtual Result<std::uint64_t> newest_report(const ProcessKey& process) = 0;

  // The job of an earlier submission with this key, younger than a day.
  virtual Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                                       Time now) = 0;

  // ---- what is no longer needed: each call does one small piece, and a crash between two of them
  // leaves nothing that the next doesn't finish ----

  // Of the forgotten jobs of which so much is kept, the one that ended first. REQUIRES: not nothing.
  virtual Result<std::optional<EndedJob>> first_ended(Kept kept) = 0;
  // Thins a forgotten job's points (store/point_choice.hpp). True: it is done. REQUIRES: it was
  // forgotten.
  virtual Result<bool> thin(JobId job) = 0;
  // Drops a forgotten job: its points, what started it, and itself. True: it is done, and remains()
  // alone tells of it. REQUIRES: thin() is done.
  virtual Result<bool> drop(JobId job, Time now) = 0;
  // Nothing: the job was never forgotten.
  virtual Result<std::optional<Remains>> remains(JobId job) = 0;

  // Moves entries that no restart needs out of the database, and gives its free room back. True:
  // there is more to do now.
  virtual Result<bool> tidy(const JournalBounds& bounds) = 0;
  // Removes what lies outside the database of the journal before this entry, in whole segments.
  virtual Result<Pruned> prune(std::uint64_t before) = 0;
};

}  // namespace paceline
