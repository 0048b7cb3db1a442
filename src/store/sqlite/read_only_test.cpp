// Looking at a server's database from outside.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "store/history_testing.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

Batch next_entries(History& history, int count) {
  Batch batch;
  for (int i = 0; i < count; ++i) batch.entries.push_back(history.next());
  return batch;
}

ErrorCode code_of(const std::filesystem::path& file) {
  const auto store = SqliteStore::open_to_read(file);
  return store ? ErrorCode::internal : store.error().code;
}

TEST(ReadOnlyStore, SeesOneMomentWhileAServerWrites) {
  Scratch scratch;
  History history(7);
  const auto server = SqliteStore::open(scratch.dir()).value();
  ASSERT_TRUE(server->append(next_entries(history, 20)));
  const auto seen = SqliteStore::open_to_read(scratch.database()).value();
  ASSERT_TRUE(server->append(next_entries(history, 5)));
  std::vector<JobId> jobs;
  for (const Job& job : history.state().jobs()) jobs.push_back(job.id);
  ASSERT_TRUE(server->checkpoint(history.state(), jobs));
  EXPECT_EQ(seen->load().value().seq(), 20U);
  EXPECT_EQ(seen->entries(1, 100)->size(), 20U);
  EXPECT_EQ(SqliteStore::open_to_read(scratch.database()).value()->load().value().seq(), 25U);
}

TEST(ReadOnlyStore, ChangesNothing) {
  Scratch scratch;
  History history(8);
  { ASSERT_TRUE(SqliteStore::open(scratch.dir()).value()->append(next_entries(history, 3))); }
  const auto seen = SqliteStore::open_to_read(scratch.database()).value();
  EXPECT_FALSE(seen->append(next_entries(history, 1)));
  EXPECT_EQ(seen->entries(1, 100)->size(), 3U);
}

TEST(ReadOnlyStore, ReadsWhatAnOlderVersionWroteWithoutChangingItsSchema) {
  Scratch scratch;
  History history(9);
  { ASSERT_TRUE(SqliteStore::open(scratch.dir()).value()->append(next_entries(history, 3))); }
  SQLite::Database(scratch.database(), SQLite::OPEN_READWRITE)
      .exec(
          "ALTER TABLE launches DROP COLUMN sum; ALTER TABLE launches DROP COLUMN shared_shm; "
          "ALTER TABLE launches DROP COLUMN groups; ALTER TABLE launches DROP COLUMN shipped; "
          "ALTER TABLE launches DROP COLUMN witnesses; "
          "DROP TABLE proofs; DROP TABLE identity; DROP TABLE forgotten; DROP TABLE dropped; "
          "DROP TABLE unjournalled; DROP TABLE passed_over; "
          "DROP TABLE notify; "
          "PRAGMA user_version = 1");
  EXPECT_EQ(SqliteStore::open_to_read(scratch.database()).value()->load().value().seq(), 3U);
  const auto version = [&] {
    SQLite::Database db(scratch.database(), SQLite::OPEN_READONLY);
    return db.execAndGet("PRAGMA user_version").getInt();
  };
  EXPECT_EQ(version(), 1);
  { ASSERT_TRUE(SqliteStore::open(scratch.dir())); }
  EXPECT_EQ(version(), newest_schema()) << "a server takes it over";
}

TEST(ReadOnlyStore, RefusesWhatIsNoJournal) {
  Scratch scratch;
  EXPECT_EQ(code_of(scratch.database()), ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(scratch.database()));
  std::ofstream(scratch.database()).close();
  EXPECT_EQ(code_of(scratch.database()), ErrorCode::data) << "empty";
  std::ofstream(scratch.database()) << "something else altogether, and long enough to be no header";
  EXPECT_EQ(code_of(scratch.database()), ErrorCode::data);
  SQLite::Database(scratch.dir() / "other.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t (x)");
  EXPECT_EQ(code_of(scratch.dir() / "other.db"), ErrorCode::data);
}

}  // namespace
}  // namespace paceline
