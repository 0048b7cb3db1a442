// The journal in segments and in its table, read as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/history_testing.hpp"
#include "store/sqlite/file_check.hpp"
#include "store/sqlite/journal_cut.hpp"
#include "store/sqlite/journal_table.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kEntries = 1'000;
constexpr JournalBounds kKeep100{100, std::nullopt};  // so segments have ten entries

class SegmentsTest : public ::testing::Test {
 protected:
  SegmentsTest() { reopen(); }

  void reopen(bool accept_older = false) {
    store_.reset();
    SqliteStore::Options options;
    options.accept_older_journal = accept_older;
    auto opened = SqliteStore::open(scratch_.dir(), options);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  // So many more entries, and a checkpoint of them.
  void write(std::uint64_t count) {
    Batch batch;
    for (std::uint64_t i = 0; i < count; ++i) batch.entries.push_back(history_.next());
    all_.insert(all_.end(), batch.entries.begin(), batch.entries.end());
    ASSERT_TRUE(store_->append(batch));
    State state = store_->load().value();
    std::vector<JobId> jobs;
    for (const Job& job : state.jobs()) jobs.push_back(job.id);
    ASSERT_TRUE(store_->checkpoint(state, jobs));
  }
  void tidy(const JournalBounds& bounds) {
    for (;;) {
      const auto more = store_->tidy(bounds);
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) return;
    }
  }
  // What is read of it, in pages.
  static std::vector<Entry> read(SqliteStore& store, std::uint64_t from = 1) {
    std::vector<Entry> entries;
    for (;;) {
      const auto page = store.entries(from, 37);
      EXPECT_TRUE(page) << page.error().message;
      if (!page || page->empty()) return entries;
      entries.insert(entries.end(), page->begin(), page->end());
      from = entries.back().seq + 1;
    }
  }
  [[nodiscard]] std::vector<Entry> written(std::uint64_t from) const {
    return {all_.begin() + static_cast<std::ptrdiff_t>(from - 1), all_.end()};
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const Segment& segment : store_->segments().all())
      files.push_back(store_->segments().path_of(segment));
    return files;
  }
  static void damage(const fs::path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(60);
    stream.put('\x42');
  }
  std::uint64_t rows() {
    SQLite::Database db(scratch_.database().string());
    return static_cast<std::uint64_t>(db.execAndGet("SELECT count(*) FROM journal").getInt64());
  }

  Scratch scratch_;
  History history_{7};
  std::vector<Entry> all_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SegmentsTest, HoldWhatNoRestartNeeds) {
  write(kEntries);
  tidy(kKeep100);
  EXPECT_EQ(rows(), 100U);
  EXPECT_EQ(store_->segments().all().size(), 90U);
  EXPECT_EQ(read(*store_), all_);
  reopen();
  EXPECT_EQ(read(*store_), all_);
  EXPECT_EQ(read(*store_, 423), written(423));
  EXPECT_EQ(store_->first_entry().value(), 1U);
  EXPECT_EQ(store_->load().value().parts(), history_.state().parts());
  const auto beside = SqliteStore::open_to_read(scratch_.database()).value();
  EXPECT_EQ(read(*beside), all_);
  write(50);
  tidy(kKeep100);
  EXPECT_EQ(rows(), 100U);
  EXPECT_EQ(read(*store_), all_);
}

TEST_F(SegmentsTest, LeaveWhatARestartNeeds) {
  write(kEntries / 2);
  Batch batch;
  for (int i = 0; i < 400; ++i) batch.entries.push_back(history_.next());
  all_.insert(all_.end(), batch.entries.begin(), batch.entries.end());
  ASSERT_TRUE(store_->append(batch));
  tidy({10, std::nullopt});
  EXPECT_EQ(rows(), 400U);  // none of those after the checkpoint
  reopen();
  EXPECT_EQ(store_->load().value().parts(), history_.state().parts());
  EXPECT_EQ(read(*store_), all_);
}

TEST_F(SegmentsTest, TellTheirTimes) {
  write(kEntries);
  tidy(kKeep100);
  reopen();
  for (const Segment& segment : store_->segments().all()) {
    EXPECT_EQ(segment.from, all_[segment.first - 1].at);
    EXPECT_EQ(segment.until, all_[segment.last - 1].at);
    EXPECT_EQ(segment.bytes, fs::file_size(store_->segments().path_of(segment)));
  }
}

// Every piece may be the last one: what is there then reads whole, and the next one finishes it.
TEST_F(SegmentsTest, LoseNothingToAKillBetweenPieces) {
  write(kEntries);
  const JournalBounds bounds{600, std::nullopt};  // sixty of a segment
  for (int piece = 0; piece < 40; ++piece) {
    ASSERT_TRUE(store_->tidy(bounds));
    reopen();
    ASSERT_TRUE(store_->load());
    ASSERT_EQ(read(*store_), all_) << "after piece " << piece;
  }
  EXPECT_EQ(rows(), 640U);  // six segments of sixty
}

TEST_F(SegmentsTest, AreMadeAnewWhereOneIsDamagedAndItsRowsAreThere) {
  write(kEntries);
  while (store_->segments().all().empty()) ASSERT_TRUE(store_->tidy(kKeep100));
  ASSERT_EQ(rows(), kEntries);
  damage(files().front());
  reopen();
  ASSERT_TRUE(store_->load());
  EXPECT_EQ(read(*store_), all_);  // from the rows
  tidy(kKeep100);
  EXPECT_EQ(rows(), 100U);
  EXPECT_EQ(read(*store_), all_);
}

TEST_F(SegmentsTest, ThatHoldAnotherEntryDoNotTakeARowsPlace) {
  write(kEntries);
  while (store_->segments().all().empty()) ASSERT_TRUE(store_->tidy(kKeep100));
  SQLite::Database(scratch_.database().string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE journal SET (body, sum) = (SELECT body, sum FROM journal WHERE seq = 4) WHERE "
          "seq = 5");
  const auto refused = store_->tidy(kKeep100);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("entry 5 of the journal is another one in its segment"));
  EXPECT_EQ(rows(), kEntries);
}

TEST_F(SegmentsTest, ThatAreDamagedLeaveTheRestToBeRead) {
  write(kEntries);
  tidy(kKeep100);
  damage(files().at(3));
  reopen();
  EXPECT_TRUE(store_->load());
  const auto page = store_->entries(35, 10);
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message,
              HasSubstr("is damaged: entries 31 to 40 of the journal can't be read."));
  EXPECT_THAT(page.error().hint, HasSubstr("read on from entry 41"));
  EXPECT_EQ(store_->entries(1, 100)->size(), 30U);  // up to there
  EXPECT_EQ(read(*store_, 41), written(41));
  std::vector<Finding> found;
  FileCheck check(scratch_.database(), [&](const Finding& each) { found.push_back(each); });
  while (check.work()) {
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().safe_to_write);
  EXPECT_THAT(found.front().error.message, HasSubstr("entries 31 to 40"));
}

TEST_F(SegmentsTest, ThatAreMissingAreTold) {
  write(kEntries);
  tidy(kKeep100);
  fs::remove(files().at(3));
  reopen();
  const auto page = store_->entries(31, 10);
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("Entry 31 of the journal is in no segment."));
}

TEST_F(SegmentsTest, ArePrunedInWholePiecesFromTheOldestOn) {
  write(kEntries);
  tidy(kKeep100);
  const auto pruned = store_->prune(45).value();
  EXPECT_EQ(pruned.segments, 4U);
  EXPECT_EQ(pruned.entries, 40U);
  EXPECT_EQ(store_->first_entry().value(), 41U);
  EXPECT_EQ(read(*store_), written(41));
  EXPECT_EQ(store_->prune(kEntries + 1)->entries, 860U);  // never what the database holds
  reopen();
  EXPECT_TRUE(fs::is_empty(scratch_.dir() / "segments"));
  EXPECT_EQ(store_->first_entry().value(), 901U);
  EXPECT_EQ(read(*store_), written(901));
  EXPECT_EQ(store_->load().value().parts(), history_.state().parts());
}

TEST_F(SegmentsTest, StayBelowTheirSizeWhereOneIsSet) {
  write(kEntries);
  tidy(kKeep100);
  const auto bytes = store_->segments().bytes();
  tidy({100, bytes / 2});  // half of them go
  EXPECT_LE(store_->segments().bytes(), bytes / 2);
  EXPECT_GE(store_->segments().bytes(), bytes / 3);
  EXPECT_EQ(read(*store_), written(store_->first_entry().value()));
}

TEST_F(SegmentsTest, OfALostEndAreSetAside) {
  write(300);
  tidy(kKeep100);
  store_.reset();
  fs::copy_file(scratch_.database(), scratch_.dir() / "older");
  reopen();
  ASSERT_TRUE(store_->load());
  write(500);
  tidy(kKeep100);
  store_.reset();
  for (const auto* file : {"paceline.db-wal", "paceline.db-shm", "paceline.mark"})
    fs::remove(scratch_.dir() / file);
  fs::rename(scratch_.dir() / "older", scratch_.database());
  const auto refused = SqliteStore::open(scratch_.dir());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("its segments go on to entry 700"));
  reopen(true);
  ASSERT_TRUE(store_->load());
  EXPECT_LE(store_->segments().all().back().last, 300U);
  all_.resize(300);
  EXPECT_EQ(read(*store_), all_);
}

TEST_F(SegmentsTest, HaveABoundHoweverManyEntriesAreKept) {
  Batch batch;
  for (std::uint64_t seq = 1; seq <= 115'000; ++seq)
    batch.entries.push_back({seq, time_from_us(static_cast<std::int64_t>(seq)), ClockSet{}});
  ASSERT_TRUE(store_->append(batch));
  ASSERT_TRUE(store_->checkpoint(store_->load().value(), {}));
  tidy({102'000, std::nullopt});
  ASSERT_EQ(store_->segments().all().size(), 1U);
  EXPECT_EQ(store_->segments().all().front().entries(), JournalCut::kEntriesMax);
  EXPECT_EQ(rows(), 105'000U);
}

// Long entries make a segment of few.
TEST_F(SegmentsTest, HaveABoundHoweverLongTheirEntriesAre) {
  constexpr std::size_t kLong = 1 << 20;
  Batch batch;
  for (std::uint64_t seq = 1; seq <= 120; ++seq) {
    batch.entries.push_back({seq, time_from_us(1), PolicyFailed{"mine", std::string(kLong, 'x')}});
  }
  JournalCut::Commit commit = [](const std::function<void()>& work) {
    work();
    return Result<void>();
  };
  ASSERT_TRUE(store_->append(batch));
  SQLite::Database db(scratch_.database().string(), SQLite::OPEN_READWRITE);
  JournalTable table(db);
  SegmentDir segments(scratch_.dir() / "segments");
  JournalCut cut(table, segments);
  while (cut.step(100, 120, commit).value()) {
  }
  for (const Segment& segment : segments.all()) EXPECT_LE(segment.entries(), 9U);
  EXPECT_EQ(segments.all().back().last + 1, table.first_seq());
}

TEST_F(SegmentsTest, GiveRoomBackToTheFileSystem) {
  for (int i = 0; i < 10; ++i) write(2'000);
  const auto number = [&](const char* pragma) {
    SQLite::Database db(scratch_.database().string());
    return db.execAndGet(pragma).getInt64();
  };
  const auto before = number("PRAGMA page_count");
  tidy(kKeep100);
  EXPECT_LT(number("PRAGMA page_count"), before);
  EXPECT_LE(number("PRAGMA freelist_count"), 1'024);
  EXPECT_EQ(read(*store_), all_);
}

}  // namespace
}  // namespace paceline
