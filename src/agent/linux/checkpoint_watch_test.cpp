#include "agent/linux/checkpoint_watch.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

using testing::Field;
using testing::UnorderedElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;

CheckpointMatch match(const std::string& path, std::uint64_t size, std::int64_t second) {
  return {path, size, second * kSecond};
}

TEST(CheckpointWatch, AFileCountsOnceItStaysAsItIs) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_FALSE(watch.look({match("/a", 5, 11)}, false));
  EXPECT_FALSE(watch.look({match("/a", 9, 12)}, false));
  EXPECT_EQ(watch.look({match("/a", 9, 12)}, false), "/a");
  EXPECT_FALSE(watch.look({match("/a", 9, 12)}, false));
  EXPECT_EQ(watch.newest_ns(), 12 * kSecond);
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
  CheckpointWatch adopted(10'000'000, 15 * kSecond);
  EXPECT_FALSE(adopted.look({match("/seen", 1, 15)}, true));
}

TEST(CheckpointWatch, AtTheEndEveryMatchIsComplete) {
  CheckpointWatch watch(10'000'000, 0);
  EXPECT_EQ(watch.look({match("/a", 1, 11)}, true), "/a");
}

class FindCheckpoints : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const UniqueFd fd(::open((directory_ / name).c_str(), O_WRONLY | O_CREAT, 0644));
    ASSERT_TRUE(write_all(fd.get(), text));
  }
  static auto path(const std::string& path) { return Field(&CheckpointMatch::path, path); }

  TempDirectory directory_;
};

TEST_F(FindCheckpoints, LeavesOutWhatIsBeingWritten) {
  for (const char* name : {"a.pt", "b.pt", "c.pt.tmp", "d.partial", ".e.pt", "f.pt~"})
    write(name, "x");
  EXPECT_THAT(find_checkpoints("*", directory_.path(), ::geteuid()),
              UnorderedElementsAre(path(directory_ / "a.pt"), path(directory_ / "b.pt")));
}

TEST_F(FindCheckpoints, ADirectoryIsAsBigAndAsNewAsWhatIsInIt) {
  ASSERT_EQ(::mkdir((directory_ / "checkpoint-5").c_str(), 0755), 0);
  write("checkpoint-5/model", "12345");
  write("checkpoint-5/state", "123");
  const auto matches = find_checkpoints("checkpoint-*", directory_.path(), ::geteuid());
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].size, 8U);
  struct stat info {};
  ::stat((directory_ / "checkpoint-5/state").c_str(), &info);
  EXPECT_GE(matches[0].modified_ns, info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec);
}

TEST_F(FindCheckpoints, SeesOnlyWhatTheOwnerMaySee) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root looks for others";
  write("a.pt", "x");
  EXPECT_TRUE(find_checkpoints("*", directory_.path(), 65534).empty());
  EXPECT_EQ(find_checkpoints("*", directory_.path(), 0).size(), 1U);
  ::chmod(directory_.path().c_str(), 0755);
  EXPECT_EQ(find_checkpoints("*", directory_.path(), 65534).size(), 1U);
}

}  // namespace
}  // namespace paceline::agent
