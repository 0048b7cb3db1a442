#include "loop/errands.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace paceline {
namespace {

TEST(Errands, AreDoneInOrderInOneThreadAndComeBackToTheLoop) {
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  Errands errands(io);
  const auto here = std::this_thread::get_id();
  std::vector<int> numbers;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 20; ++i)
    errands.add(
        [&threads, i] {
          threads.push_back(std::this_thread::get_id());
          return std::make_unique<int>(i);
        },
        [&, here](std::unique_ptr<int> number) {
          EXPECT_EQ(std::this_thread::get_id(), here);
          numbers.push_back(*number);
        });
  EXPECT_TRUE(errands.busy());
  while (errands.busy()) io.run_one();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers.at(static_cast<std::size_t>(i)), i);
  EXPECT_NE(threads.front(), here);
  EXPECT_EQ(threads.front(), threads.back());
}

TEST(Errands, ACoroutineWaitsForItsOwn) {
  boost::asio::io_context io;
  Errands errands(io);
  int got = 0;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        got = co_await errands.run([] { return 7; });
        got += co_await errands.run([] { return 8; });
      },
      boost::asio::detached);
  io.run();
  EXPECT_EQ(got, 15);
}

TEST(Errands, TheirEndWaitsForTheOneUnderWayAndNothingComesBack) {
  boost::asio::io_context io;
  std::atomic<bool> begun = false, ended = false;
  int back = 0;
  {
    Errands errands(io);
    errands.add(
        [&] {
          begun = true;
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
          ended = true;
          return 0;
        },
        [&](int) { ++back; });
    for (int i = 0; i < 100; ++i) errands.add([] { return 0; }, [&](int) { ++back; });
    while (!begun) std::this_thread::yield();
  }
  EXPECT_TRUE(ended);
  io.run();
  EXPECT_EQ(back, 0);
}

}  // namespace
}  // namespace paceline
