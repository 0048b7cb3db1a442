#include "api/log_order.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

// Logs of job 1 with notes of their growth.
class LogOrderTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(logs_); }

  // Writes on, without a note.
  void write(int rank, std::string_view text) {
    std::ofstream(path(rank, "log"), std::ios::app) << text;
    last_written(rank, 1'000'000);
  }
  // Writes on, and notes that it was there at that time.
  void write(int rank, std::string_view text, std::int64_t at_us) {
    write(rank, text);
    const LogTime time{at_us, std::filesystem::file_size(path(rank, "log"))};
    std::ofstream(path(rank, "times"), std::ios::app)
        .write(reinterpret_cast<const char*>(&time), sizeof time);
  }
  void last_written(int rank, std::int64_t at_us) {
    const timespec at{at_us / 1'000'000, at_us % 1'000'000 * 1'000};
    const timespec times[] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, path(rank, "log").c_str(), times, 0), 0);
  }
  std::filesystem::path path(int rank, std::string_view kind) {
    return logs_ / fmt::format("rank{}.{}", rank, kind);
  }

  std::vector<LogChunk> read(LogsWanted wanted) {
    const LogFiles files(folder_.path(), JobId{1});
    if (wanted.from.empty())
      for (const auto rank : files.ranks()) wanted.from[rank] = 0;
    if (wanted.bytes_max == 0) wanted.bytes_max = 1 << 20;
    return read_in_order(files, wanted);
  }
  static std::string text_of(const std::vector<LogChunk>& chunks) {
    std::string text;
    for (const auto& chunk : chunks) text += chunk.text;
    return text;
  }
  std::uint64_t begin(int rank, const LogStart& start) {
    return LogFiles(folder_.path(), JobId{1}).begin(rank, start);
  }

  TempFolder folder_;
  std::filesystem::path logs_ = folder_.path() / "logs" / "1";
};

TEST_F(LogOrderTest, LinesComeAsTheyWereWritten) {
  write(0, "a1\na2\n", 10);
  write(1, "b1\n", 20);
  write(0, "a3\n", 30);
  write(1, "b2\nb3\n", 40);
  EXPECT_EQ(text_of(read({})), "a1\na2\nb1\na3\nb2\nb3\n");
}

TEST_F(LogOrderTest, ALineStaysWhole) {
  write(0, "a1 be", 10);
  write(1, "b1\n", 20);
  write(0, "gan\na2\n", 30);
  EXPECT_EQ(text_of(read({})), "a1 began\nb1\na2\n");
  write(1, "b2\nb3 be", 40);
  write(0, "a3\n", 50);
  write(1, "gan\n", 60);
  EXPECT_EQ(text_of(read({})), "a1 began\nb1\na2\nb2\nb3 began\na3\n");
}

TEST_F(LogOrderTest, APieceGoesOnWhileNoOtherLogHasAnEarlierLine) {
  for (int i = 0; i < 200; ++i) write(0, "a\n", 10 + i);
  write(1, "b\n", 500);
  EXPECT_LE(read({}).size(), 6U);
  const auto timed = read({.pieces = LogPieces::timed});
  ASSERT_EQ(timed.size(), 201U);
  EXPECT_EQ(timed[7].at, wall_from_us(17));
  EXPECT_EQ(timed[200].at, wall_from_us(500));
}

TEST_F(LogOrderTest, ABatchHasABoundAndTheNextGoesOnBehindIt) {
  constexpr int kTurns = 200;
  std::string expected;
  for (int i = 0; i < kTurns; ++i) {
    write(0, "a\n", 2 * i);
    write(1, "b\n", 2 * i + 1);
    expected += "a\nb\n";
  }
  std::string text;
  LogsWanted wanted{.from = {{0, 0}, {1, 0}}};
  for (auto chunks = read(wanted); !chunks.empty(); chunks = read(wanted)) {
    EXPECT_LE(chunks.size(), 256U);
    text += text_of(chunks);
    for (const auto& chunk : chunks) wanted.from[chunk.rank] = chunk.next;
  }
  EXPECT_EQ(text, expected);
}

TEST_F(LogOrderTest, WhatWasNotNotedYetIsAsOldAsTheLastOfIt) {
  write(0, "a1\n", 10);
  write(1, "b1\n", 20);
  write(0, "a2\n");
  write(1, "b2\n");
  last_written(0, 900);
  last_written(1, 800);
  const auto chunks = read({.pieces = LogPieces::timed});
  EXPECT_EQ(text_of(chunks), "a1\nb1\nb2\na2\n");
  EXPECT_EQ(chunks.back().at, wall_from_us(900));
}

TEST_F(LogOrderTest, LogsWithoutNotesComeFirstAndTakeTurns) {
  write(0, "a\na\na\n");
  write(1, "b\nb\n");
  write(2, "c\n", 10);
  const auto chunks = read({});
  EXPECT_EQ(text_of(chunks), "a\na\na\nb\nb\nc\n");
  EXPECT_EQ(chunks.front().at, std::nullopt);
  EXPECT_EQ(text_of(read({.turn = 0})), "b\nb\na\na\na\nc\n");
  EXPECT_EQ(text_of(read({.turn = 0, .bytes_max = 2})), "b\n");
}

TEST_F(LogOrderTest, WholeLinesAreNotCutWhereABatchEnds) {
  write(0, "a1\n", 10);
  write(1, "a longer line\n", 20);
  write(0, "a2\n", 30);
  EXPECT_EQ(text_of(read({.bytes_max = 5, .cut = LogCut::anywhere})), "a1\na ");
  EXPECT_EQ(text_of(read({.bytes_max = 15, .cut = LogCut::lines})), "a1\na longer line\n");
  write(1, "not ended", 40);
  write(0, "a3\n", 50);
  EXPECT_EQ(text_of(read({.cut = LogCut::lines})), "a1\na longer line\na2\na3\n");
}

TEST_F(LogOrderTest, NotesThatAreNoneAreNoHarm) {
  write(0, "a1\na2\n");
  write(1, "b1\n", 10);
  std::ofstream(path(0, "times")) << "no times at all, but more than 16 bytes of something else";
  std::filesystem::create_symlink("/etc/passwd", path(2, "times"));
  write(2, "c1\n");
  EXPECT_EQ(text_of(read({})).size(), 12U);
}

TEST_F(LogOrderTest, ALogBeginsWithWhatWasWrittenSince) {
  write(0, "a1\na2 be", 10);
  write(0, "gan\na3\n", 20);
  write(0, "a4\n", 30);
  last_written(0, 35);
  const auto since = [&](std::int64_t at_us) {
    return begin(0, {.tail_bytes = {}, .since = wall_from_us(at_us)});
  };
  EXPECT_EQ(since(5), 0U);
  EXPECT_EQ(since(10), 12U) << "behind the line that had begun";
  EXPECT_EQ(since(25), 15U);
  EXPECT_EQ(since(40), 18U);
  EXPECT_EQ(begin(0, {.tail_bytes = 3, .since = wall_from_us(10)}), 15U);
  write(1, "b1\n");
  last_written(1, 25);
  EXPECT_EQ(begin(1, {.tail_bytes = {}, .since = wall_from_us(20)}), 0U);
  EXPECT_EQ(begin(1, {.tail_bytes = {}, .since = wall_from_us(30)}), 3U);
}

}  // namespace
}  // namespace paceline
