#include "agent/linux/log_removal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

class LogRemovalTest : public ::testing::Test {
 protected:
  fs::path log(int job, const std::string& name) {
    fs::create_directories(dir_ / "logs" / std::to_string(job));
    const auto file = dir_ / "logs" / std::to_string(job) / name;
    std::ofstream(file) << "a line\n";
    return file;
  }
  Result<bool> remove(std::uint32_t job, std::size_t files = 100) {
    return remove_logs(dir_.string(), JobId{job}, files);
  }

  TempDirectory directory_;
  const fs::path dir_{directory_.path()};
};

TEST_F(LogRemovalTest, TakesAllOfOneJobAndNothingElse) {
  log(7, "rank0.log");
  log(7, "rank1.log");
  const auto other = log(70, "rank0.log");
  EXPECT_TRUE(remove(7).value());
  EXPECT_FALSE(fs::exists(dir_ / "logs/7"));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(remove(7).value()) << "what is gone is gone";
}

TEST_F(LogRemovalTest, GoesOnWhereItStopped) {
  for (int rank = 0; rank < 10; ++rank) log(7, "rank" + std::to_string(rank) + ".log");
  EXPECT_FALSE(remove(7, 4).value());
  EXPECT_TRUE(fs::exists(dir_ / "logs/7"));
  EXPECT_FALSE(remove(7, 4).value());
  EXPECT_TRUE(remove(7, 4).value());
  EXPECT_FALSE(fs::exists(dir_ / "logs/7"));
}

TEST_F(LogRemovalTest, FollowsNoLink) {
  const auto kept = log(8, "rank0.log");
  log(7, "rank0.log");
  fs::create_symlink(kept, dir_ / "logs/7/rank1.log");
  fs::create_directory_symlink(dir_ / "logs/8", dir_ / "logs/7/more");
  EXPECT_TRUE(remove(7).value());
  EXPECT_TRUE(fs::exists(kept));
  fs::create_directory_symlink(dir_ / "logs/8", dir_ / "logs/9");
  EXPECT_FALSE(remove(9)) << "a folder of logs is no link";
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(LogRemovalTest, HasNothingToDoWhereNothingWasWritten) { EXPECT_TRUE(remove(7).value()); }

}  // namespace
}  // namespace paceline::agent
