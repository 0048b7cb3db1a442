#include "store/sqlite/file_check.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "store/history_testing.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

constexpr std::streamsize kPageBytes = 4096;

class FileCheckTest : public ::testing::Test {
 protected:
  // A checkpoint after 1,200 entries, so that a start reads none of the first.
  FileCheckTest() {
    History history(1);
    Batch batch;
    for (int i = 0; i < 1'200; ++i) batch.entries.push_back(history.next());
    std::vector<JobId> jobs;
    for (const auto& job : history.state().jobs()) jobs.push_back(job.id);
    const auto store = SqliteStore::open(scratch_.dir()).value();
    EXPECT_TRUE(store->append(batch));
    EXPECT_TRUE(store->checkpoint(history.state(), jobs));
  }

  void execute(const std::string& sql) const {
    SQLite::Database(scratch_.database().string(), SQLite::OPEN_READWRITE).exec(sql);
  }
  // The first page of an index.
  [[nodiscard]] std::streamoff place_of(const std::string& index) const {
    const SQLite::Database db(scratch_.database().string(), SQLite::OPEN_READWRITE);
    SQLite::Statement root(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?");
    root.bind(1, index);
    EXPECT_TRUE(root.executeStep()) << index;
    return (root.getColumn(0).getInt64() - 1) * kPageBytes;
  }
  [[nodiscard]] std::string page(const std::string& index) const {
    std::string bytes(kPageBytes, '\0');
    std::ifstream file(scratch_.database(), std::ios::binary);
    file.seekg(place_of(index));
    file.read(bytes.data(), kPageBytes);
    return bytes;
  }
  void set_page(const std::string& index, const std::string& bytes) const {
    const auto place = place_of(index);
    std::fstream file(scratch_.database(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(place);
    file << bytes;
  }
  [[nodiscard]] std::optional<Finding> found() const {
    std::optional<Finding> finding;
    FileCheck check(scratch_.database(), [&](const Finding& each) { finding = each; });
    while (check.work()) {
    }
    return finding;
  }
  [[nodiscard]] std::string corrupt(const std::string& how) const {
    return scratch_.database().string() + " is corrupt: " + how;
  }

  Scratch scratch_;
};

TEST_F(FileCheckTest, FindsNothingInASoundFile) { EXPECT_FALSE(found()); }

TEST_F(FileCheckTest, FindsAnOldEntryThatAStartPassesOver) {
  execute("UPDATE journal SET sum = sum + 1 WHERE seq = 100");
  EXPECT_TRUE(SqliteStore::open(scratch_.dir()).value()->load());
  const auto finding = found();
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->error.message, corrupt("entry 100 of the journal does not match its sum."));
  EXPECT_TRUE(finding->safe_to_write);
}

TEST_F(FileCheckTest, FindsThatAnOldEntryIsMissing) {
  execute("DELETE FROM journal WHERE seq = 600");
  EXPECT_EQ(found().value().error.message, corrupt("entry 600 of the journal is missing."));
}

TEST_F(FileCheckTest, FindsPagesThatDoNotHangTogether) {
  set_page("points_by_report", std::string(kPageBytes, '\7'));
  const auto finding = found();
  ASSERT_TRUE(finding);
  EXPECT_FALSE(finding->safe_to_write);
  EXPECT_FALSE(SqliteStore::open(scratch_.dir())) << "a small file is checked by the start, too";
}

// Else an environment would be deleted that a job still needs, or a submission be taken twice.
TEST_F(FileCheckTest, FindsAnIndexOfAnotherTime) {
  for (const char* index :
       {"environments_by_digest", "launches_by_environment", "sqlite_autoindex_submissions_1"}) {
    const std::string before = page(index);
    execute("INSERT INTO environments (digest, body) VALUES (7, x'41')");
    execute(
        "INSERT INTO launches (job, command, shell, setup, directory, umask, environment) "
        "SELECT 1000 + count(*), x'', 0, x'', x'', 0, 1 FROM launches");
    execute(
        "INSERT INTO submissions (uid, key, job, at_us) SELECT 7, count(*), 1, 1 FROM submissions");
    const std::string after = page(index);
    EXPECT_FALSE(found());
    set_page(index, before);
    const auto finding = found();
    ASSERT_TRUE(finding) << index;
    EXPECT_THAT(finding->error.message, ::testing::HasSubstr(index));
    EXPECT_FALSE(finding->safe_to_write);
    EXPECT_FALSE(SqliteStore::open(scratch_.dir()));
    set_page(index, after);
  }
}

TEST_F(FileCheckTest, AStoreThatIsNotSafeToWriteIsReadOnly) {
  const auto store = SqliteStore::open(scratch_.dir()).value();
  const State state = store->load().value();
  ASSERT_TRUE(store->prove());
  store->distrust({ErrorCode::data, corrupt("page 7 is torn."), "Restore a copy.", {}});
  History more(2);
  Batch batch;
  batch.entries.push_back(more.next());
  batch.entries.front().seq = state.seq() + 1;
  EXPECT_EQ(store->append(batch).error().message, corrupt("page 7 is torn."));
  EXPECT_EQ(store->prove().error().code, ErrorCode::data);
  EXPECT_EQ(store->checkpoint(state, {}).error().code, ErrorCode::data);
  const auto entries = store->entries(1'200, 500);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1U) << "what was there is read, and nothing came after it";
}

TEST_F(FileCheckTest, DoesNothingMoreOnceItIsStopped) {
  execute("UPDATE journal SET sum = sum + 1 WHERE seq = 100");
  bool told = false;
  FileCheck check(scratch_.database(), [&](const Finding&) { told = true; });
  EXPECT_TRUE(check.work());
  check.stop();
  EXPECT_FALSE(check.work());
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace paceline
