#include "agent/linux/process_environments.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>

#include "agent/linux/memory_testing.hpp"

namespace paceline::agent {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds time_of(const std::function<void()>& act) {
  const auto began = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - began;
}

class ProcessEnvironmentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!silent_.is_silent()) GTEST_SKIP() << "no file systems of one's own here";
  }
  // What it says of the silent one and of this process.
  std::pair<int, int> read() {
    int silent = -1, own = -1;
    EXPECT_TRUE(environments_.read({silent_.pid(), ::getpid()},
                                   [&](pid_t pid, const MemoryFile& environment) {
                                     (pid == ::getpid() ? own : silent) = environment.error;
                                   }));
    return {silent, own};
  }

  SilentProcess silent_;
  ProcessEnvironments environments_;
};

TEST_F(ProcessEnvironmentsTest, OneThatIsSilentIsWaitedForOnce) {
  const std::pair seen{ETIMEDOUT, 0};
  EXPECT_EQ(read(), seen);
  // Beside reads that nobody holds up: a machine may be slow.
  ProcessEnvironments others;
  std::chrono::nanoseconds longer{0};
  for (int i = 0; i < 200; ++i) {
    longer += time_of([&] { EXPECT_EQ(read(), seen); });
    longer -= time_of([&] { EXPECT_TRUE(others.read({::getpid()}, [](auto&&...) {})); });
  }
  EXPECT_LT(longer, 5s) << "10 s, were it asked each time";
}

TEST_F(ProcessEnvironmentsTest, OneThatIsSilentNoMoreIsAskedAgain) {
  EXPECT_EQ(read().first, ETIMEDOUT);
  silent_.end();
  EXPECT_TRUE(eventually([&] { return read().first != ETIMEDOUT; }));
}

}  // namespace
}  // namespace paceline::agent
