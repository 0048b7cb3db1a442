#include "loop/timer.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace paceline {
namespace {

using namespace std::chrono_literals;

class TimerTest : public ::testing::Test {
 protected:
  // Its call stands in the loop's queue, behind `first`.
  void let_it_fall_due(std::function<void()> first) {
    timer_->after(1ms, [this] { ++calls_; });
    boost::asio::steady_timer before(io_, 0ms);
    before.async_wait([&](const boost::system::error_code&) { first(); });
    std::this_thread::sleep_for(5ms);
    run();
  }
  void run() {
    io_.restart();
    io_.run();
  }

  boost::asio::io_context io_;
  std::optional<Timer> timer_{std::in_place, io_};
  int calls_ = 0;
};

TEST_F(TimerTest, CallsOnce) {
  timer_->after(1ms, [this] { ++calls_; });
  EXPECT_TRUE(timer_->set());
  run();
  EXPECT_EQ(calls_, 1);
  EXPECT_FALSE(timer_->set());
}

TEST_F(TimerTest, CallsNothingOnceItHasGone) {
  timer_->after(1h, [this] { ++calls_; });
  timer_.reset();
  run();
  EXPECT_EQ(calls_, 0);
}

TEST_F(TimerTest, CallsNothingOnceItHasGoneThoughTheTimeHadCome) {
  let_it_fall_due([this] { timer_.reset(); });
  EXPECT_EQ(calls_, 0);
}

TEST_F(TimerTest, CallsNothingOnceItIsCancelledThoughTheTimeHadCome) {
  let_it_fall_due([this] { timer_->cancel(); });
  EXPECT_EQ(calls_, 0);
  EXPECT_FALSE(timer_->set());
}

TEST_F(TimerTest, CallsTheLaterAloneWhereItIsSetAnewThoughTheTimeHadCome) {
  let_it_fall_due([this] { timer_->after(1ms, [this] { calls_ += 10; }); });
  EXPECT_EQ(calls_, 10);
}

TEST_F(TimerTest, TheCallMaySetItAgain) {
  std::function<void()> again = [&] {
    if (++calls_ < 3) timer_->after(0ms, again);
  };
  timer_->after(0ms, again);
  run();
  EXPECT_EQ(calls_, 3);
}

TEST_F(TimerTest, TheCallMayEndIt) {
  timer_->after(0ms, [this] {
    timer_.reset();
    ++calls_;
  });
  run();
  EXPECT_EQ(calls_, 1);
}

}  // namespace
}  // namespace paceline
