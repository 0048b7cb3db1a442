#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "store/sqlite/checkpoint_tables.hpp"
#include "store/sqlite/data_dir.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/journal_table.hpp"
#include "store/sqlite/launch_tables.hpp"
#include "store/sqlite/points_table.hpp"
#include "store/sqlite/reserve.hpp"
#include "store/sqlite/submissions_table.hpp"

namespace paceline {
namespace {

// As many as a journal can have.
constexpr std::size_t kNoLimit = std::size_t{1} << 62;

}  // namespace

struct SqliteStore::Impl {
  Impl(std::filesystem::path path, std::unique_ptr<SQLite::Database> database,
       std::uint64_t reserve_bytes)
      : file(std::move(path)),
        db(std::move(database)),
        reserve(file.parent_path() / "reserve", reserve_bytes),
        journal(*db),
        checkpoint(*db),
        launches(*db),
        points(*db),
        submissions(*db) {
    last_seq = journal.last_seq();
  }

  // One transaction around `work`; what it threw undoes all of it.
  template <class Work>
  Result<void> commit(Work work) {
    return guarded(file, [&]() -> Result<void> {
      SQLite::Transaction transaction(*db, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
      return {};
    });
  }

  std::filesystem::path file;
  std::unique_ptr<SQLite::Database> db;
  Reserve reserve;
  JournalTable journal;
  CheckpointTables checkpoint;
  LaunchTables launches;
  PointsTable points;
  SubmissionsTable submissions;
  std::uint64_t last_seq = 0;
  std::set<JobId>
      folded;  // on top of the last checkpoint, by load() or before a checkpoint that failed
};

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& dir,
                                                       Options options) {
  if (auto ready = prepare_dir(dir); !ready) return fail(ready.error());
  const auto file = dir / "paceline.db";
  auto db = open_database(file, options.lock_wait);
  if (!db) return fail(db.error());
  return guarded(file, [&]() -> Result<std::unique_ptr<SqliteStore>> {
    auto impl = std::make_unique<Impl>(file, std::move(*db), options.reserve_bytes);
    impl->reserve.take();
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
  });
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& dir) {
  return open(dir, Options{});
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open_to_read(const std::filesystem::path& file) {
  auto db = paceline::open_to_read(file, Options{}.lock_wait);
  if (!db) return fail(db.error());
  return guarded(file, [&]() -> Result<std::unique_ptr<SqliteStore>> {
    return std::unique_ptr<SqliteStore>(
        new SqliteStore(std::make_unique<Impl>(file, std::move(*db), 0)));
  });
}

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() = default;

Result<State> SqliteStore::load() {
  return guarded(impl_->file, [&]() -> Result<State> {
    State state(impl_->checkpoint.read());
    impl_->journal.each(state.seq() + 1, kNoLimit, [&](const Entry& entry) {
      if (entry.seq != state.seq() + 1)
        throw Damage{fmt::format("entry {} of the journal is missing", state.seq() + 1)};
      for (const auto job : apply(state, entry)) impl_->folded.insert(job);
    });
    if (state.seq() != impl_->last_seq) throw Damage{"the checkpoint is ahead of the journal"};
    return state;
  });
}

Result<void> SqliteStore::append(const Batch& batch) {
  auto seq = impl_->last_seq;
  for (const auto& entry : batch.entries)
    check(entry.seq == ++seq, "entries follow the journal's last");
  const auto write = [&] {
    impl_->journal.append(batch.entries);
    for (const auto& [job, launch] : batch.launches) impl_->launches.put(job, launch);
    for (const auto& point : batch.points) impl_->points.put(point);
    impl_->submissions.put(batch.keys);
  };
  auto done = impl_->commit(write);
  const bool disk = !done && done.error().code == ErrorCode::storage;
  if (disk && impl_->reserve.give_up()) done = impl_->commit(write);
  if (done) impl_->last_seq = seq;
  return done;
}

Result<void> SqliteStore::checkpoint(const State& state, std::span<const JobId> changed) {
  check(state.seq() == impl_->last_seq, "a checkpoint is of the journal's last entry");
  impl_->reserve.take();
  impl_->folded.insert(changed.begin(), changed.end());
  const std::vector<JobId> jobs(impl_->folded.begin(), impl_->folded.end());
  auto done = impl_->commit([&] {
    impl_->checkpoint.write(state, jobs);
    for (const auto job : jobs)
      if (is_over(state.job(job).state)) impl_->launches.forget_secrets(job);
  });
  if (!done) return done;
  impl_->checkpoint.committed();
  impl_->folded.clear();
  return done;
}

Result<std::vector<Entry>> SqliteStore::entries(std::uint64_t seq, std::size_t limit) {
  return guarded(impl_->file, [&]() -> Result<std::vector<Entry>> {
    std::vector<Entry> found;
    impl_->journal.each(seq, limit, [&](Entry entry) { found.push_back(std::move(entry)); });
    return found;
  });
}

Result<LaunchSpec> SqliteStore::launch(JobId job) {
  return guarded(impl_->file, [&]() -> Result<LaunchSpec> {
    auto found = impl_->launches.find(job);
    if (found) return std::move(*found);
    return fail(ErrorCode::not_found,
                fmt::format("Nothing is stored about how to start job {}.", job.value));
  });
}

Result<PointPage> SqliteStore::points(JobId job, std::string_view name, std::uint64_t from,
                                      std::size_t limit) {
  return guarded(impl_->file,
                 [&]() -> Result<PointPage> { return impl_->points.page(job, name, from, limit); });
}

Result<std::optional<JobId>> SqliteStore::find_submission(std::uint32_t uid, std::string_view key,
                                                          Time now) {
  return guarded(impl_->file, [&]() -> Result<std::optional<JobId>> {
    return impl_->submissions.find(uid, key, now);
  });
}

}  // namespace paceline
