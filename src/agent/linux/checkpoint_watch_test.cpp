#include "agent/linux/checkpoint_watch.hpp"

#include <gtest/gtest.h>

namespace paceline::agent {
namespace {

constexpr std::int64_t kWatchSecond = 1'000'000'000;

CheckpointMatch match(const std::string& path, std::uint64_t size, std::int64_t second) {
  return {path, size, second * kWatchSecond};
}

TEST(CheckpointWatch, AFileCountsOnceItStaysAsItIs) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_FALSE(watch.look({match("/a", 5, 11)}, false));
  EXPECT_FALSE(watch.look({match("/a", 9, 12)}, false));
  EXPECT_EQ(watch.look({match("/a", 9, 12)}, false), "/a");
  EXPECT_FALSE(watch.look({match("/a", 9, 12)}, false));
  EXPECT_EQ(watch.newest_ns(), 12 * kWatchSecond);
}

TEST(CheckpointWatch, AFileThatWasRenamedIntoPlaceCountsAtOnce) {
  CheckpointWatch watch(10'000'000, 0);
  CheckpointMatch replaced = match("/a", 5, 11);
  replaced.renamed = true;
  EXPECT_EQ(watch.look({replaced}, false), "/a");
  EXPECT_FALSE(watch.look({replaced}, false));
  replaced.modified_ns += 1;
  EXPECT_EQ(watch.look({replaced}, false), "/a");
}

TEST(CheckpointWatch, OnlyTheNewestOfSeveralCounts) {
  CheckpointWatch watch(10'000'000, 0);
  const std::vector<CheckpointMatch> files{match("/a", 1, 11), match("/b", 1, 13),
                                           match("/c", 1, 12)};
  watch.look(files, false);
  EXPECT_EQ(watch.look(files, false), "/b");
  EXPECT_FALSE(watch.look(files, false));
}

TEST(CheckpointWatch, AFileWrittenAgainCountsAgain) {
  CheckpointWatch watch(10'000'000, 0);
  watch.look({match("/a", 1, 11)}, false);
  EXPECT_TRUE(watch.look({match("/a", 1, 11)}, false));
  EXPECT_FALSE(watch.look({match("/a", 1, 20)}, false));
  EXPECT_TRUE(watch.look({match("/a", 1, 20)}, false));
}

TEST(CheckpointWatch, WhatWasThereBeforeTheWorkerDoesNotCount) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_FALSE(watch.look({match("/old", 1, 9)}, true));
  CheckpointWatch adopted(10'000'000, 15 * kWatchSecond);
  EXPECT_FALSE(adopted.look({match("/seen", 1, 15)}, true));
}

TEST(CheckpointWatch, OfAWorkerThatEndedByItselfEveryMatchIsComplete) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_EQ(watch.look({match("/a", 1, 11)}, true), "/a");
}

TEST(CheckpointWatch, OfAWorkerThatWasKilledTheLastWholeMatchCounts) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_FALSE(watch.look({match("/whole", 9, 11), match("/half", 2, 12)}, false));
  EXPECT_EQ(watch.look({match("/whole", 9, 11), match("/half", 5, 13)}, false), "/whole");
}

}  // namespace
}  // namespace paceline::agent
