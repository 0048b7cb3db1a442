#include "agent/linux/renames.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

class RenamesTest : public ::testing::Test {
 protected:
  RenamesTest() { renames_.watch(directory_.path()); }

  void write(const std::string& name) {
    std::ofstream(directory_ / name, std::ios::app) << "weights";
  }
  void rename(const std::string& from, const std::string& to) {
    fs::rename(directory_ / from, directory_ / to);
  }
  bool renamed(const std::string& name) {
    renames_.read();
    return renames_.renamed(directory_ / name);
  }

  TempDirectory directory_;
  Renames renames_{2};
};

TEST_F(RenamesTest, ToldFromWhatIsWrittenInPlace) {
  write("a.tmp");
  rename("a.tmp", "a.pt");
  write("b.pt");
  EXPECT_TRUE(renamed("a.pt"));
  EXPECT_FALSE(renamed("b.pt"));
}

TEST_F(RenamesTest, ReplacedAgainItIsStillOne) {
  for (int i = 0; i < 3; ++i) {
    write("a.tmp");
    rename("a.tmp", "a.pt");
    EXPECT_TRUE(renamed("a.pt"));
  }
}

TEST_F(RenamesTest, WrittenToRemovedOrMadeAnewItIsNone) {
  for (const std::string name : {"written", "removed", "anew"}) {
    write("tmp");
    rename("tmp", name);
    ASSERT_TRUE(renamed(name));
  }
  write("written");
  fs::remove(directory_ / "removed");
  fs::remove(directory_ / "anew");
  write("anew");
  for (const std::string name : {"written", "removed", "anew"}) EXPECT_FALSE(renamed(name)) << name;
}

TEST_F(RenamesTest, ADirectoryRenamedIntoPlaceIsOne) {
  fs::create_directory(directory_ / "tmp");
  rename("tmp", "step-10");
  EXPECT_TRUE(renamed("step-10"));
}

TEST_F(RenamesTest, OfADirectoryThatWentElsewhereNothingIsKnown) {
  fs::create_directory(directory_ / "run");
  renames_.watch(directory_ / "run");
  write("tmp");
  rename("tmp", "run/a.pt");
  ASSERT_TRUE(renamed("run/a.pt"));
  rename("run", "old");
  fs::create_directory(directory_ / "run");
  write("run/a.pt");
  EXPECT_FALSE(renamed("run/a.pt"));
}

TEST_F(RenamesTest, TwoNamesOfADirectoryAreBothKnown) {
  fs::create_directory_symlink(".", directory_ / "link");
  renames_.watch(directory_ / "link");
  write("tmp");
  rename("tmp", "a.pt");
  EXPECT_TRUE(renamed("a.pt"));
  EXPECT_TRUE(renamed("link/a.pt"));
}

TEST_F(RenamesTest, WithTooManyDirectoriesItBeginsAnew) {
  write("tmp");
  rename("tmp", "a.pt");
  ASSERT_TRUE(renamed("a.pt"));
  for (const std::string name : {"one", "two"}) {
    fs::create_directory(directory_ / name);
    renames_.watch(directory_ / name);
  }
  EXPECT_FALSE(renamed("a.pt"));
  write("tmp");
  rename("tmp", "two/b.pt");
  EXPECT_TRUE(renamed("two/b.pt"));
}

TEST_F(RenamesTest, WhatCannotBeWatchedIsNotKnown) {
  renames_.watch(directory_ / "missing");
  renames_.read();
  EXPECT_FALSE(renames_.renamed(directory_ / "missing/a.pt"));
}

}  // namespace
}  // namespace paceline::agent
