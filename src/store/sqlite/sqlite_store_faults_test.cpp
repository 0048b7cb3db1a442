// What people do to a database file and its disk, and the sentence they get for it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/history_testing.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Batch some_entries(History& history, int count) {
  Batch batch;
  for (int i = 0; i < count; ++i) batch.entries.push_back(history.next());
  return batch;
}

Error error_of_open(const fs::path& dir, SqliteStore::Options options = {}) {
  const auto store = SqliteStore::open(dir, options);
  return store ? Error{ErrorCode::internal, "opened", "", Retry::useless} : store.error();
}

// Closed, with all of the write-ahead log moved into the file.
void make_store(const fs::path& dir, History& history) {
  const auto store = SqliteStore::open(dir).value();
  ASSERT_TRUE(store->append(some_entries(history, 300)));
  std::vector<JobId> jobs;
  for (const auto& job : history.state().jobs()) jobs.push_back(job.id);
  ASSERT_TRUE(store->checkpoint(history.state(), jobs));
  ASSERT_TRUE(store->append(some_entries(history, 100)));
}

void execute(const fs::path& file, const std::string& sql) {
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

// Not root while it lives, where the test runs as root: permissions mean nothing to root.
class Nobody {
 public:
  explicit Nobody(const fs::path& owns) {
    if (::geteuid() != 0) return;
    EXPECT_EQ(::chown(owns.c_str(), kNobody, kNobody), 0);
    changed_ = ::seteuid(kNobody) == 0;
    EXPECT_TRUE(changed_);
  }
  ~Nobody() {
    if (changed_ && ::seteuid(0) != 0) ADD_FAILURE() << "can't be root again";
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool changed_ = false;
};

TEST(SqliteStoreFaults, KeepsItsFilesFromOtherUsers) {
  Scratch scratch;
  const auto dir = scratch.dir() / "new" / "paceline";
  const auto store = SqliteStore::open(dir).value();
  EXPECT_EQ(mode_of(dir), ::geteuid() == 0 ? 0711U : 0700U);
  EXPECT_EQ(mode_of(dir / "paceline.db"), 0600U);
  EXPECT_EQ(mode_of(dir / "paceline.db-wal"), 0600U);
}

TEST(SqliteStoreFaults, ClosesOffAFileThatWasOpenToOthers) {
  Scratch scratch;
  SqliteStore::open(scratch.dir()).value();
  ASSERT_EQ(::chmod(scratch.database().c_str(), 0644), 0);
  SqliteStore::open(scratch.dir()).value();
  EXPECT_EQ(mode_of(scratch.database()), 0600U);
}

TEST(SqliteStoreFaults, FollowsNoLinks) {
  Scratch scratch;
  for (const auto* name : {"paceline.db", "paceline.db-wal", "paceline.db-shm"}) {
    std::ofstream(scratch.dir() / "elsewhere") << "x";
    fs::create_symlink(scratch.dir() / "elsewhere", scratch.dir() / name);
    const auto error = error_of_open(scratch.dir());
    EXPECT_EQ(error.code, ErrorCode::forbidden);
    EXPECT_EQ(error.message, (scratch.dir() / name).string() + " is a link instead of a file.");
    EXPECT_EQ(fs::file_size(scratch.dir() / "elsewhere"), 1U);
    fs::remove(scratch.dir() / name);
  }
}

TEST(SqliteStoreFaults, TakesNoDirectoryAndNoDatabaseOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Scratch scratch;
  const auto dir = scratch.dir() / "theirs";
  SqliteStore::open(dir).value();
  ASSERT_EQ(::chown((dir / "paceline.db").c_str(), 65534, 65534), 0);
  EXPECT_EQ(error_of_open(dir).message, (dir / "paceline.db").string() + " belongs to nobody.");
  ASSERT_EQ(::chown((dir / "paceline.db").c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(dir.c_str(), 65534, 65534), 0);
  EXPECT_EQ(error_of_open(dir).message, "The directory " + dir.string() + " belongs to nobody.");
}

TEST(SqliteStoreFaults, RefusesANewerSchema) {
  Scratch scratch;
  SqliteStore::open(scratch.dir()).value();
  execute(scratch.database(), "PRAGMA user_version = 99");
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::data);
  EXPECT_EQ(error.message,
            fmt::format("{} was written by a newer Paceline (schema 99; this one knows {}).",
                        scratch.database().string(), newest_schema()));
  EXPECT_EQ(error.hint, "Use that version, or choose another directory with --dir.");
}

TEST(SqliteStoreFaults, RefusesADatabaseOfAnotherProgram) {
  Scratch scratch;
  execute(scratch.database(), "CREATE TABLE songs (title TEXT)");
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::data);
  EXPECT_EQ(error.message, scratch.database().string() + " is not a Paceline database.");
}

TEST(SqliteStoreFaults, RefusesAFileThatIsNoDatabase) {
  Scratch scratch;
  std::ofstream(scratch.database()) << std::string(20'000, 'x');
  EXPECT_EQ(error_of_open(scratch.dir()).message,
            scratch.database().string() + " is not a Paceline database.");
  EXPECT_EQ(fs::file_size(scratch.database()), 20'000U);
}

TEST(SqliteStoreFaults, RefusesAFileWithoutItsTables) {
  Scratch scratch;
  SqliteStore::open(scratch.dir()).value();
  execute(scratch.database(), "DROP TABLE journal");
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::data);
  EXPECT_EQ(error.message, scratch.database().string() + " is corrupt: no such table: journal.");
}

TEST(SqliteStoreFaults, RefusesATruncatedFile) {
  Scratch scratch;
  History history(1);
  make_store(scratch.dir(), history);
  fs::resize_file(scratch.database(), fs::file_size(scratch.database()) / 2);
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::data);
  EXPECT_EQ(error.message,
            scratch.database().string() + " is corrupt: database disk image is malformed.");
  EXPECT_NE(error.hint.find(".recover"), std::string::npos);
}

TEST(SqliteStoreFaults, NamesADamagedRow) {
  Scratch scratch;
  History history(1);
  make_store(scratch.dir(), history);
  const auto error_after = [&](const std::string& sql) {
    execute(scratch.database(), sql);
    return SqliteStore::open(scratch.dir()).value()->load().error();
  };
  SQLite::Database db(scratch.database().string(), SQLite::OPEN_READONLY);
  const auto jobs = db.execAndGet("SELECT count(*) FROM jobs").getInt();
  const auto corrupt = scratch.database().string() + " is corrupt: ";
  EXPECT_EQ(
      error_after("UPDATE journal SET body = replace(body, '1', '2') WHERE seq = 350").message,
      corrupt + "entry 350 of the journal does not match its sum.");
  EXPECT_EQ(error_after("DELETE FROM journal WHERE seq = 340").message,
            corrupt + "entry 340 of the journal is missing.");
  EXPECT_EQ(error_after("DELETE FROM jobs WHERE id = 2").message,
            corrupt + fmt::format("the checkpoint should hold {} jobs, not {}.", jobs, jobs - 1));
  EXPECT_EQ(error_after("UPDATE jobs SET body = '' WHERE id = 3").message,
            corrupt + "job 3 of the checkpoint does not match its sum.");
  EXPECT_EQ(error_after("DELETE FROM jobs").message,
            corrupt + fmt::format("the checkpoint should hold {} jobs, not 0.", jobs));
}

// A flipped byte anywhere is an error of the kind `data`, or meant nothing; it is never a wrong
// state.
TEST(SqliteStoreFaults, NeverLoadsAWrongStateFromADamagedFile) {
  Scratch scratch;
  History history(1);
  make_store(scratch.dir(), history);
  const auto copy = scratch.dir() / "copy";
  const auto size = static_cast<std::int64_t>(fs::file_size(scratch.database()));
  Rng rng(1);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    fs::remove_all(copy);
    fs::create_directory(copy);
    fs::copy_file(scratch.database(), copy / "paceline.db");
    std::fstream file(copy / "paceline.db", std::ios::in | std::ios::out | std::ios::binary);
    const auto at = rng.between(0, i % 4 == 0 ? 4095 : size - 1);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ static_cast<int>(rng.between(1, 255)));
    file.seekp(at);
    file.put(byte);
    file.close();
    const auto store = SqliteStore::open(copy);
    const auto state = store ? (*store)->load() : Result<State>(fail(store.error()));
    if (state) {
      EXPECT_EQ(state->parts(), history.state().parts()) << "byte " << at;
    } else {
      EXPECT_EQ(state.error().code, ErrorCode::data)
          << "byte " << at << ": " << state.error().message;
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(SqliteStoreFaults, SaysThatAnotherProgramHoldsTheFile) {
  Scratch scratch;
  History history(1);
  const SqliteStore::Options impatient{std::chrono::milliseconds{1}};
  const auto store = SqliteStore::open(scratch.dir(), impatient).value();
  const auto batch = some_entries(history, 1);
  {
    SQLite::Database shell(scratch.database().string(), SQLite::OPEN_READWRITE);
    shell.exec("BEGIN IMMEDIATE");
    const auto done = store->append(batch);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::unavailable);
    EXPECT_EQ(done.error().message,
              "Another program holds " + scratch.database().string() + " locked.");
    EXPECT_EQ(done.error().retry, Retry::may_help);
  }
  EXPECT_TRUE(store->append(batch));
}

TEST(SqliteStoreFaults, RefusesADirectoryWithoutTheRightToWrite) {
  Scratch scratch;
  ASSERT_EQ(::chmod(scratch.dir().c_str(), 0500), 0);
  const Nobody nobody(scratch.dir());
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::storage);
  EXPECT_EQ(error.message,
            "The directory " + scratch.dir().string() + " can't be used: Permission denied.");
  EXPECT_EQ(error_of_open(scratch.dir() / "new").code, ErrorCode::storage);
}

TEST(SqliteStoreFaults, RefusesAFileWithoutTheRightToWrite) {
  Scratch scratch;
  SqliteStore::open(scratch.dir()).value();
  ASSERT_EQ(::chmod(scratch.database().c_str(), 0400), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(scratch.database().c_str(), 65534, 65534), 0);
  }
  const Nobody nobody(scratch.dir());
  const auto error = error_of_open(scratch.dir());
  EXPECT_EQ(error.code, ErrorCode::storage);
  EXPECT_EQ(error.message, scratch.database().string() + " can't be opened: Permission denied.");
}

TEST(SqliteStoreFaults, RefusesAFileInPlaceOfADirectory) {
  Scratch scratch;
  const auto file = scratch.dir() / "file";
  std::ofstream(file) << "x";
  EXPECT_EQ(error_of_open(file).message,
            "The directory " + file.string() + " can't be used: Not a directory.");
  EXPECT_EQ(error_of_open(file / "in").code, ErrorCode::storage);
}

// Appends until it fails. Returns the error; what was accepted is in `history` and in the store.
Error append_until_refused(SqliteStore& store, std::uint64_t& accepted) {
  for (History history(1);;) {
    auto batch = some_entries(history, 20);
    if (batch.entries.back().seq <= accepted) continue;
    const auto done = store.append(batch);
    if (!done) return done.error();
    accepted = batch.entries.back().seq;
  }
}

// Whatever refused a batch: nothing of it is there, and it is accepted once there is room.
void expect_goes_on(SqliteStore& store, std::uint64_t accepted) {
  EXPECT_EQ(store.entries(0, 1'000'000)->size(), accepted);
  History history(1);
  while (history.state().seq() < accepted) history.next();
  EXPECT_EQ(store.load().value().parts(), history.state().parts());
  EXPECT_TRUE(store.append(some_entries(history, 20)));
  EXPECT_EQ(store.load().value().parts(), history.state().parts());
}

// A file system of this many bytes, where the machine allows it.
class SmallDisk {
 public:
  SmallDisk(fs::path at, const std::string& size) : at_(std::move(at)) {
    fs::create_directory(at_);
    mounted_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, ("mode=700,size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  fs::path at_;
  bool mounted_ = false;
};

TEST(SqliteStoreFaults, GoesOnOnceAFullDiskHasRoom) {
  Scratch scratch;
  const SmallDisk disk(scratch.dir() / "small", "2m");
  if (!disk.mounted()) GTEST_SKIP() << "this user can't mount a small disk";
  const auto dir = scratch.dir() / "small";
  std::ofstream(dir / "ballast") << std::string(1 << 20, 'x');
  const auto store = SqliteStore::open(dir).value();
  std::uint64_t accepted = 0;
  const auto error = append_until_refused(*store, accepted);
  EXPECT_EQ(error.code, ErrorCode::storage);
  EXPECT_EQ(error.message, "The disk is full: " + (dir / "paceline.db").string() + " can't grow.");
  EXPECT_EQ(error.retry, Retry::may_help);
  EXPECT_GT(accepted, 0U);
  fs::remove(dir / "ballast");
  expect_goes_on(*store, accepted);
}

TEST(SqliteStoreFaults, GivesItsReserveUpForWhatMustBeWritten) {
  Scratch scratch;
  const SmallDisk disk(scratch.dir() / "small", "8m");
  if (!disk.mounted()) GTEST_SKIP() << "this user can't mount a small disk";
  const auto dir = scratch.dir() / "small";
  constexpr std::uint64_t kReserve = 1 << 20;
  SqliteStore::Options options;
  options.reserve_bytes = kReserve;
  const auto store = SqliteStore::open(dir, options).value();
  EXPECT_EQ(fs::file_size(dir / "reserve"), kReserve);
  {
    std::ofstream ballast(dir / "ballast");  // until the disk is full
    while (ballast << std::string(4096, 'x') << std::flush) {
    }
  }
  std::uint64_t accepted = 0;
  append_until_refused(*store, accepted);
  EXPECT_EQ(fs::file_size(dir / "reserve"), 0U);
  EXPECT_GT(fs::file_size(dir / "paceline.db-wal"), kReserve / 2) << "written instead of it";
  fs::remove(dir / "ballast");
  expect_goes_on(*store, accepted);
  const auto state = store->load().value();
  EXPECT_TRUE(store->checkpoint(state, {}));
  EXPECT_EQ(fs::file_size(dir / "reserve"), kReserve) << "there is room again";
}

TEST(SqliteStoreFaults, GoesOnOnceAFileMayGrowAgain) {
  Scratch scratch;
  const auto store = SqliteStore::open(scratch.dir()).value();
  const auto old_action = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::uint64_t accepted = 0;
  const auto error = append_until_refused(*store, accepted);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old_action);
  EXPECT_EQ(error.code, ErrorCode::storage);
  EXPECT_EQ(error.retry, Retry::may_help);
  EXPECT_GT(accepted, 0U);
  expect_goes_on(*store, accepted);
}

std::vector<JobId> odd_or_even(std::uint32_t remainder, std::uint32_t count) {
  std::vector<JobId> jobs;
  for (std::uint32_t job = 1; job <= count; ++job)
    if (job % 2 == remainder) jobs.emplace_back(job);
  return jobs;
}

TEST(SqliteStoreFaults, StoresAnEnvironmentOnceAndForgetsItWithItsLastJob) {
  Scratch scratch;
  const auto store = SqliteStore::open(scratch.dir()).value();
  const auto environments = [&] {
    SQLite::Database db(scratch.database().string(), SQLite::OPEN_READONLY);
    return db.execAndGet("SELECT count(*) FROM environments WHERE length(body) > 0").getInt();
  };
  Batch batch;
  batch.entries = submissions(100);
  for (std::uint32_t job = 1; job <= 100; ++job)
    batch.launches.emplace_back(JobId{job}, some_launch(job % 2, job));
  ASSERT_TRUE(store->append(batch));
  EXPECT_EQ(environments(), 2);
  State state = store->load().value();
  ASSERT_TRUE(end_jobs(*store, state, odd_or_even(1, 100)));
  EXPECT_EQ(environments(), 1);
  ASSERT_TRUE(end_jobs(*store, state, odd_or_even(0, 100)));
  EXPECT_EQ(environments(), 0);
}

TEST(SqliteStoreFaults, ForgetsOldSubmissionsAsNewOnesCome) {
  Scratch scratch;
  const auto store = SqliteStore::open(scratch.dir()).value();
  const auto keys_at = [](std::string_view name, Time at) {
    Batch batch;
    for (std::uint32_t i = 1; i <= 100; ++i)
      batch.keys.push_back({1000, fmt::format("{}{}", name, i), JobId{i}, at});
    return batch;
  };
  ASSERT_TRUE(store->append(keys_at("a", time_from_us(0))));
  ASSERT_TRUE(store->append(keys_at("b", time_from_us(0) + std::chrono::hours{30})));
  SQLite::Database db(scratch.database().string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM submissions").getInt(), 100);
}

TEST(SqliteStoreFaults, ShowsTheJournalToPeopleWithAShell) {
  Scratch scratch;
  const auto store = SqliteStore::open(scratch.dir()).value();
  Batch batch;
  batch.entries.push_back(
      {1, time_from_us(1'763'636'112'123'456), JobSubmitted{JobId{1}, some_spec(1)}});
  ASSERT_TRUE(store->append(batch));
  SQLite::Database db(scratch.database().string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(db, "SELECT seq, at_us, kind, job FROM journal");
  ASSERT_TRUE(row.executeStep());
  EXPECT_EQ(row.getColumn(0).getInt64(), 1);
  EXPECT_EQ(row.getColumn(1).getInt64(), 1'763'636'112'123'456);
  EXPECT_EQ(row.getColumn(2).getString(), "job_submitted");
  EXPECT_EQ(row.getColumn(3).getInt64(), 1);
}

}  // namespace
}  // namespace paceline
