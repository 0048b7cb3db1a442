// Which checkpoints of a folder are kept, and which is the newest.
#include "paceline/torch/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace paceline::testing {
namespace {

using detail::Folder;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : path_(make_folder()), folder_(path_) { ::unsetenv("PACELINE_CHECKPOINT"); }
  ~CheckpointTest() override {
    ::unsetenv("PACELINE_CHECKPOINT");
    std::filesystem::remove_all(path_);
  }

  static std::filesystem::path make_folder() {
    auto name = (std::filesystem::temp_directory_path() / "paceline-checkpoints-XXXXXX").string();
    return ::mkdtemp(name.data());
  }
  static std::string name_of(int number) {
    char name[32];
    std::snprintf(name, sizeof name, "ckpt-%012d.pt", number);
    return name;
  }

  // Each is written. `tells`: and Paceline is told of it.
  static void write(Folder& folder, std::initializer_list<int> numbers, bool tells = true) {
    for (const auto number : numbers) {
      folder.begin(1, static_cast<std::uint64_t>(number), "the bytes of it");
      if (tells) {
        EXPECT_EQ(folder.written(true)->why_not, "");
      }
    }
  }
  // Writes one, of which nobody is told: the training dies.
  void die_after(int number, int gone_on_from) const {
    Folder folder(path_);
    ::setenv("PACELINE_CHECKPOINT", (path_ / name_of(gone_on_from)).c_str(), 1);
    EXPECT_EQ(folder.newest()->path, path_ / name_of(gone_on_from));
    write(folder, {number}, false);
  }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(path_))
      names.push_back(each.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::filesystem::path path_;
  Folder folder_;
};

TEST_F(CheckpointTest, TheNewestTwoAreKept) {
  write(folder_, {10, 20, 30, 40});
  EXPECT_THAT(files(), ElementsAre(name_of(30), name_of(40)));
}

TEST_F(CheckpointTest, WhatWasToldOfStaysUntilANewerOneIs) {
  write(folder_, {10, 20});
  for (const int number : {30, 40, 50}) {
    die_after(number, 20);
    EXPECT_THAT(files(), IsSupersetOf({name_of(20), name_of(number)}));
  }
  write(folder_, {60, 70});
  EXPECT_THAT(files(), ElementsAre(name_of(60), name_of(70)));
}

TEST_F(CheckpointTest, WhatAnotherRankToldOfStays) {
  write(folder_, {10, 20, 30});
  Folder another(path_);  // of a rank that takes over the writing
  write(another, {40});
  EXPECT_THAT(files(), ElementsAre(name_of(20), name_of(30), name_of(40)));
  write(another, {50});
  EXPECT_THAT(files(), ElementsAre(name_of(40), name_of(50)));
}

TEST_F(CheckpointTest, OneThatMadeRoomForNewerOnes) {
  write(folder_, {30, 40});
  ::setenv("PACELINE_CHECKPOINT", (path_ / name_of(20)).c_str(), 1);
  EXPECT_EQ(folder_.newest()->path, path_ / name_of(40));
  for (const auto& path : {path_ / "other.pt", path_ / "elsewhere" / name_of(20)}) {
    ::setenv("PACELINE_CHECKPOINT", path.c_str(), 1);
    EXPECT_THROW((void)folder_.newest(), PacelineError);
  }
}

TEST_F(CheckpointTest, AClockThatGoesBack) {
  write(folder_, {10, 20});
  for (const int number : {10, 20}) {
    const auto file = path_ / name_of(number);
    std::filesystem::last_write_time(
        file, std::filesystem::last_write_time(file) + std::chrono::hours(1));
  }
  Folder again(path_);
  EXPECT_EQ(again.newest()->path, path_ / name_of(20));
  for (const int number : {30, 40, 50}) {
    write(again, {number});
    EXPECT_EQ(again.newest()->path, path_ / name_of(number));
  }
  EXPECT_THAT(files(), ElementsAre(name_of(40), name_of(50)));
}

TEST_F(CheckpointTest, WhatAKilledRankLeftUnfinishedIsRemoved) {
  std::ofstream(path_ / ("." + name_of(10) + ".unfinished")) << "half of it";
  write(folder_, {20});
  EXPECT_THAT(files(), ElementsAre(name_of(20)));
}

}  // namespace
}  // namespace paceline::testing
