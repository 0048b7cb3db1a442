#include "loop/errand.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <boost/asio/executor_work_guard.hpp>
#include <string>

namespace paceline {
namespace {

// Waits as a dialer would.
int wait_for(const std::function<int()>& interrupted) {
  pollfd state{interrupted(), POLLIN, 0};
  return ::poll(&state, 1, 10'000);
}

TEST(Errand, BringsTheOutcomeBackToTheLoop) {
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  Errand errand(io);
  const auto here = std::this_thread::get_id();
  std::string outcome;
  bool elsewhere = false, back = false;
  errand.run(
      [&] {
        elsewhere = std::this_thread::get_id() != here;
        return std::make_unique<std::string>("done");
      },
      [&](std::unique_ptr<std::string> text) {
        back = std::this_thread::get_id() == here;
        outcome = *text;
      });
  EXPECT_TRUE(errand.busy());
  while (outcome.empty()) io.run_one();
  EXPECT_TRUE(elsewhere);
  EXPECT_TRUE(back);
  EXPECT_FALSE(errand.busy());
}

TEST(Errand, OneFollowsTheOther) {
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  Errand errand(io);
  int runs = 0;
  std::function<void(int)> again = [&](int) {
    if (++runs < 5) errand.run([] { return 0; }, again);
  };
  errand.run([] { return 0; }, again);
  while (runs < 5) io.run_one();
  EXPECT_FALSE(errand.busy());
}

TEST(Errand, ItsEndInterruptsTheWorkAndNothingComesBack) {
  boost::asio::io_context io;
  int polled = -1;
  bool back = false;
  {
    Errand errand(io);
    errand.run(
        [&polled, interrupted = errand.interrupted()] { return polled = wait_for(interrupted); },
        [&](int) { back = true; });
  }
  EXPECT_EQ(polled, 1);
  io.run();
  EXPECT_FALSE(back);
}

}  // namespace
}  // namespace paceline
