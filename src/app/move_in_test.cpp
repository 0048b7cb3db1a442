#include "app/move_in.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

class MoveInTest : public ::testing::Test {
 protected:
  void write_journal(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "paceline.db") << "x";
  }
  Result<void> begin() {
    UpOptions options;
    options.directory = now_.string();
    options.former_directory = former_.string();
    return move_in(options);
  }

  TempFolder folder_;
  std::filesystem::path former_ = folder_.path() / "former", now_ = folder_.path() / "now";
};

TEST_F(MoveInTest, WhatRootsServerKeptSoFarIsNotLeftBehind) {
  write_journal(former_);
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::conflict);
  EXPECT_EQ(begun.error().message,
            fmt::format("Root's server kept its journal in '{}' so far; now it is to be in '{}'.",
                        former_.string(), now_.string()));
  EXPECT_EQ(begun.error().hint,
            fmt::format("Move it with 'paceline up --move-from {0}', or stay there with "
                        "'paceline up --dir {0}'.",
                        former_.string()));
}

TEST_F(MoveInTest, ThereIsNothingToMoveWithoutAJournalOrWithOneOfItsOwn) {
  EXPECT_TRUE(begin());
  write_journal(former_);
  write_journal(now_);
  EXPECT_TRUE(begin());
}

}  // namespace
}  // namespace paceline
