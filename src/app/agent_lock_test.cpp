#include "app/agent_lock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

class AgentLockTest : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::filesystem::path dir_ = folder_.path() / "agent";
};

TEST_F(AgentLockTest, ADirectoryHasOneAgentAtATime) {
  {
    const auto first = AgentLock::take(dir_);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    const auto second = AgentLock::take(dir_);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::conflict);
    EXPECT_EQ(second.error().message,
              fmt::format("An agent already runs on {} (pid {}).", dir_.string(), ::getpid()));
  }
  EXPECT_TRUE(AgentLock::take(dir_).has_value());
}

TEST_F(AgentLockTest, AServersDirectoryIsLeftAlone) {
  std::filesystem::create_directory(dir_);
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all);
  std::ofstream(dir_ / "paceline.db") << "x";
  const auto taken = AgentLock::take(dir_);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::conflict);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "agent.lock"));
}

TEST_F(AgentLockTest, ALinkInItsPlaceIsRefused) {
  std::filesystem::create_directory(dir_);
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(folder_.path() / "elsewhere", dir_ / "agent.lock");
  EXPECT_FALSE(AgentLock::take(dir_).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "elsewhere"));
}

}  // namespace
}  // namespace paceline
