#include "files/witnesses.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

class WitnessesTest : public ::testing::Test {
 protected:
  WitnessesTest() {
    fs::create_directories(work_ / "src");
    write("train.py");
    write("data.txt");
  }
  void write(const std::string& name) const { std::ofstream(work_ / name) << name; }

  TempFolder folder_;
  fs::path work_ = folder_.path() / "home/ann/work";
};

TEST_F(WitnessesTest, TheSameDirectoryIsKnownWhateverChangesInIt) {
  const auto witnesses = witnesses_of(work_);
  EXPECT_GE(witnesses.size(), 6U) << "itself, what is in it, and what is above it";
  EXPECT_TRUE(is_witnessed(work_, witnesses));
  write("train.py");
  write("new.txt");
  EXPECT_TRUE(is_witnessed(work_, witnesses));
  fs::remove_all(work_);
  fs::create_directories(work_);
  EXPECT_TRUE(is_witnessed(work_, witnesses)) << "of it nothing is left, but where it lies";
}

TEST_F(WitnessesTest, ACopyIsAnotherOne) {
  const auto witnesses = witnesses_of(work_);
  const auto copy = folder_.path() / "there/home/ann";
  fs::create_directories(copy);
  const auto command = "cp -a '" + work_.string() + "' '" + copy.string() + "/'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::vector<std::string> near(witnesses.begin(), witnesses.begin() + 4);
  EXPECT_TRUE(is_witnessed(work_, near));
  EXPECT_FALSE(is_witnessed(copy / "work", near));
  EXPECT_FALSE(is_witnessed(work_, {}));
  EXPECT_FALSE(is_witnessed(work_, {"", "1", "1 2", "x y z", "1 2 /nowhere"}));
  EXPECT_TRUE(witnesses_of(folder_.path() / "nowhere").empty());
}

}  // namespace
}  // namespace paceline
