// The store of a server: one SQLite file, DIR/paceline.db (mode 0600), with a write-ahead log. What
// append() and checkpoint() return from is on the disk; a kill at any moment loses nothing that was
// acknowledged and keeps no half of a batch.
//
//   auto store = SqliteStore::open("/var/lib/paceline");
//   if (!store) return fail(store.error());
//
// Loading reads the last checkpoint and the entries after it, so it does not slow down as the
// journal grows. Every row that is folded stands beside a digest of itself; a damaged one, one of
// another time, or one that does not fit the others is an error, never a wrong state. A journal that
// lost its end is one too: its high-water mark tells (high_water.hpp). Once a write meets damage,
// nothing is written any more.
//
// Entries that no restart needs leave the file for segments in DIR/segments (segment_file.hpp), once
// there are more than tidy() is asked to keep. Both are read as one journal.
//
// Where the disk is full, a reserve is given up for what is to be appended; it is taken again at a
// checkpoint, once there is room.
//
// One thread uses it. Nothing keeps a second server away from the directory here: take a DirLock
// first (store/sqlite/dir_lock.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "store/sqlite/segment_dir.hpp"
#include "store/store.hpp"

namespace paceline {

class SqliteStore final : public Store {
 public:
  struct Options {
    std::chrono::milliseconds lock_wait{500};  // for another program that holds the file locked
    // load() goes on from a journal that lost its end, and gives no id that was given before: a job
    // of the server's user that was cancelled stands for each that is lost.
    bool accept_older_journal = false;
    std::uint64_t reserve_bytes = 0;  // kept in DIR/reserve for when the disk is full; 0: nothing
  };

  // Makes directory and file where they are missing. Errors: storage (no right, read-only, full, a
  // network file system); forbidden (of another user, or open to others); data (corrupt, behind its
  // high-water mark, no Paceline database, written by a newer version); unavailable (locked by
  // another program).
  static Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& dir,
                                                   Options options);
  static Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& dir);

  // For load(), entries() and the other questions alone, of a file wherever it lies: it is not
  // changed, not locked, and a server may be writing to it. What is read is one moment, that of the
  // opening. Errors: not_found, forbidden; data, unavailable and storage as above.
  static Result<std::unique_ptr<SqliteStore>> open_to_read(const std::filesystem::path& file);

  ~SqliteStore() override;

  // Nothing is written from now on: every write gets the error.
  void distrust(Error error);

  Result<State> load() override;
  Result<void> append(const Batch& batch) override;
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override;
  Result<void> prove() override;
  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) override;
  Result<std::uint64_t> first_entry() override;
  Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) override;
  Result<std::vector<Progressed>> unjournalled() override;
  Result<LaunchSpec> launch(JobId job) override;
  Result<std::vector<std::pair<JobId, Notify>>> notify(JobId from) override;
  Result<std::uint64_t> newest_report(const ProcessKey& process) override;
  Result<std::uint64_t> passed_over(JobId job) override;
  Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                           std::size_t limit) override;
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override;
  Result<std::optional<EndedJob>> first_ended(Kept kept) override;
  Result<bool> thin(JobId job) override;
  Result<bool> drop(JobId job, Time now) override;
  Result<std::optional<Remains>> remains(JobId job) override;
  Result<bool> tidy(const JournalBounds& bounds) override;
  Result<Pruned> prune(std::uint64_t before) override;

  // Writes the database as a new file, private to its owner, and reads all of it again. Of a store
  // that is only read: as of the opening. Errors: storage; data: a page is damaged.
  Result<void> copy_to(const std::filesystem::path& file);

  // What lies in segments; of a store that is only read, as of the opening.
  [[nodiscard]] const SegmentDir& segments() const;

 private:
  struct Impl;
  explicit SqliteStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
