#include "agent/linux/health.hpp"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class HealthTest : public ::testing::Test {
 protected:
  // Its own check runs that often, and may take that long.
  void watch(const std::string& check, HealthCheckTimes times = {milliseconds{20}, seconds{30}},
             DiskSpace room = {1, 1}) {
    health_.emplace(io_, clock_, HealthOptions{directory_.path(), room, check, times},
                    [this] { ++changes_; });
    health_->start();
  }
  // Waits until it is well, or unwell for a reason with these words.
  bool until_well() {
    return until([&] { return !health_->refusal(); });
  }
  bool until_unwell(const std::string& words) {
    return until([&] { return why().find(words) != std::string::npos; });
  }
  std::string why() { return health_->refusal() ? health_->refusal()->why : ""; }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  void pass(std::chrono::milliseconds time) { io_.run_for(time); }
  template <class Condition>
  bool until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + seconds{60};
    while (!holds() && std::chrono::steady_clock::now() < end) io_.run_one_for(milliseconds{20});
    return holds();
  }

  boost::asio::io_context io_;
  WallClock clock_;
  TempDirectory directory_;
  std::optional<Health> health_;
  int changes_ = 0;
};

TEST_F(HealthTest, WithoutACheckAMachineWithRoomIsWell) {
  watch("");
  EXPECT_FALSE(health_->refusal());
  EXPECT_EQ(changes_, 0);
}

TEST_F(HealthTest, AFullDiskIsTold) {
  watch("", {}, {std::uint64_t{1} << 60, 1});
  EXPECT_THAT(why(), HasSubstr("Little room is left"));
  EXPECT_TRUE(health_->refusal()->unhealthy);
  EXPECT_EQ(changes_, 1);
}

TEST_F(HealthTest, TheOwnersCheckDecidesAgainAndAgain) {
  write("check", "echo all is well");
  watch("sh " + (directory_ / "check"));
  EXPECT_EQ(why(), "Its health check has not ended yet.");
  EXPECT_TRUE(until_well());
  write("check", "echo; echo '  GPU 2 is hot\t'; echo more >&2; exit 3");
  EXPECT_TRUE(until_unwell("GPU 2 is hot"));
  EXPECT_EQ(why(), "Its health check failed (exit code 3): GPU 2 is hot");
  const int changes = changes_;
  pass(milliseconds{300});
  EXPECT_EQ(changes_, changes) << "the same is told once";
  write("check", "exit 0");
  EXPECT_TRUE(until_well());
}

TEST_F(HealthTest, ACheckThatHangsIsKilledWithAllThatItStarted) {
  watch("sleep 1000 & echo $! > " + (directory_ / "child") + "; wait",
        {milliseconds{100}, milliseconds{700}});
  EXPECT_TRUE(until_unwell("did not end within 1 s"));
  const pid_t child = std::stoi(contents(directory_ / "child"));
  EXPECT_TRUE(until([&] { return !runs(child); }));
}

TEST_F(HealthTest, ACheckThatSaysTooMuchIsNotHeldUpAndIsToldShort) {
  watch("head -c 3000000 /dev/zero | tr '\\0' x; exit 1");
  EXPECT_TRUE(until_unwell("exit code 1"));
  EXPECT_LT(why().size(), 300U);
}

TEST_F(HealthTest, ACheckThatIsKilledOrIsNotThereIsUnwell) {
  watch("kill -SEGV $$");
  EXPECT_TRUE(until_unwell("Its health check failed (signal 11)."));
  watch("/nowhere/check");
  EXPECT_TRUE(until_unwell("exit code 127"));
}

TEST_F(HealthTest, WhatItSaysMovesNobodysCursor) {
  watch("printf 'bad\\033[2Jdisk\\377'; exit 1");
  EXPECT_TRUE(until_unwell("exit code 1"));
  EXPECT_THAT(why(), HasSubstr("bad [2Jdisk"));
}

}  // namespace
}  // namespace paceline::agent
