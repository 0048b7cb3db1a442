#include "slurm/commands/slurm_commands.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

TEST(SlurmCommandsRun, GivesAndTakes) {
  const auto done = run_slurm({.words = {"sh", "-c", "cat; echo $X >&2; exit 3"},
                               .input = "given",
                               .environment = {"X=said"}});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->output, "given");
  EXPECT_EQ(done->errors, "said\n");
}

TEST(SlurmCommandsRun, WhatDoesNotReadIsNotWaitedFor) {
  const auto done = run_slurm({.words = {"true"}, .input = std::string(1 << 20, 'x')});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 0);
}

TEST(SlurmCommandsRun, AProgramThatIsNotThereIsTold) {
  EXPECT_EQ(run_slurm({.words = {"no-such-program"}}).error().code, ErrorCode::not_found);
}

TEST(SlurmCommandsRun, TimeAndAnswersAreBounded) {
  const auto late =
      run_slurm({.words = {"sleep", "1000"}, .patience = std::chrono::milliseconds{50}});
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  const auto much = run_slurm({.words = {"yes"}, .bytes_max = 100'000});
  EXPECT_EQ(much.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace paceline
