#include "agent/linux/stopped_watch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace paceline::agent {
namespace {

using namespace std::chrono_literals;

class StoppedWatchTest : public ::testing::Test {
 protected:
  StoppedWatchTest() {
    child_ = ::fork();
    if (child_ == 0)
      while (true) ::pause();
    watch_.watch(identify(child_));
  }
  ~StoppedWatchTest() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  void stop() {
    ::kill(child_, SIGSTOP);
    ::waitpid(child_, nullptr, WUNTRACED);
  }
  void go_on() {
    ::kill(child_, SIGCONT);
    ::waitpid(child_, nullptr, WCONTINUED);
  }
  // Looks in such steps; when it was found, since the first look.
  std::optional<StoppedWatch::Steady::duration> found_within(
      StoppedWatch::Steady::duration span, StoppedWatch::Steady::duration step = 50ms) {
    const auto begin = now_;
    for (; now_ - begin <= span; now_ += step)
      if (watch_.look(now_)) return now_ - begin;
    return {};
  }

  pid_t child_ = 0;
  StoppedWatch watch_;
  StoppedWatch::Steady::time_point now_{1h};
};

TEST_F(StoppedWatchTest, OneThatWasStoppedIsFoundWithinTwoSeconds) {
  EXPECT_FALSE(found_within(10s));
  stop();
  const auto after = found_within(10s);
  ASSERT_TRUE(after);
  EXPECT_GE(*after, kStoppedMax);
  EXPECT_LT(*after, 2s);
}

TEST_F(StoppedWatchTest, OneThatGoesOnInTimeIsNot) {
  stop();
  EXPECT_FALSE(found_within(1s));
  go_on();
  EXPECT_FALSE(found_within(1s));
  stop();
  EXPECT_FALSE(found_within(1s));
}

TEST_F(StoppedWatchTest, APauseOfPacelinesOwnDoesNotCount) {
  stop();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(found_within(1s));
    watch_.excuse();
  }
}

TEST_F(StoppedWatchTest, ATimeInWhichNobodyLookedDoesNotCount) {
  stop();
  EXPECT_FALSE(found_within(1h, 1500ms));
}

TEST_F(StoppedWatchTest, WhoEverGotItsNumberLaterIsSomebodyElse) {
  ProcessId other = identify(child_);
  ++other.start_time;
  watch_.watch(other);
  stop();
  EXPECT_FALSE(found_within(10s));
  watch_.watch({});
  EXPECT_FALSE(found_within(10s));
}

}  // namespace
}  // namespace paceline::agent
