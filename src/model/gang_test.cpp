#include "model/gang.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

Ending exited(std::int32_t code, std::int64_t at_us) {
  return {Cause::exited, code, 0, {}, time_from_us(at_us)};
}

Gang of_endings(const std::vector<std::optional<Ending>>& endings) {
  Gang gang;
  for (const auto& e : endings)
    gang.workers.push_back({{}, e ? WorkerState::ended : WorkerState::running, 1, e});
  return gang;
}

TEST(Gang, FindsTheFirstFailureInTime) {
  EXPECT_EQ(of_endings({exited(0, 1), std::nullopt}).first_failure(), nullptr);
  const Gang gang = of_endings({exited(0, 1), exited(2, 30), exited(3, 20), exited(4, 20)});
  EXPECT_EQ(gang.first_failure()->exit_code, 3);  // of two at the same time the lower rank
  Ending killed;
  killed.cause = Cause::signalled;
  EXPECT_EQ(of_endings({exited(2, 5), killed}).first_failure()->cause, Cause::signalled);
}

TEST(Gang, CountsOurKillAsAFailureOnlyIfThereIsNoOther) {
  Ending ours = exited(0, 1);
  ours.cause = Cause::gang_failed;
  EXPECT_EQ(of_endings({ours, exited(2, 5)}).first_failure()->exit_code, 2);
  EXPECT_EQ(of_endings({ours, exited(0, 5)}).first_failure()->cause, Cause::gang_failed);
}

TEST(Gang, KnowsItsProcessesWhateverTheyWereBornInto) {
  Gang gang = of_endings({std::nullopt, std::nullopt, std::nullopt});
  gang.generation = Generation{3};
  const JobId job{7};
  const ProcessKey survivor{job, Generation{1}, 0}, newcomer{job, Generation{3}, 5};
  gang.workers[1].process = survivor;
  gang.workers[2].process = newcomer;
  EXPECT_EQ(gang.process(job, 0), (ProcessKey{job, Generation{3}, 0}));
  EXPECT_EQ(gang.process(job, 1), survivor);
  EXPECT_EQ(gang.rank_of(survivor), 1);
  EXPECT_EQ(gang.rank_of(newcomer), 2);
  EXPECT_EQ(gang.rank_of({job, Generation{3}, 0}), 0);
  for (const std::int32_t number : {-1, 1, 2, 3})
    EXPECT_EQ(gang.rank_of({job, Generation{3}, number}), std::nullopt) << number;
  EXPECT_EQ(gang.rank_of({job, Generation{1}, 1}), std::nullopt);
}

TEST(Gang, HasStartedOnceNobodyWaitsForItsStart) {
  Gang gang = of_endings({std::nullopt, exited(0, 1)});
  EXPECT_TRUE(gang.all_started());
  EXPECT_FALSE(gang.all_ended());
  gang.workers[0].state = WorkerState::assigned;
  EXPECT_FALSE(gang.all_started());
  EXPECT_TRUE(of_endings({exited(0, 1), exited(0, 1)}).all_ended());
}

TEST(Ending, AsksForARequeueByItsCode) {
  EXPECT_TRUE(exited(75, 0).asks_requeue());
  EXPECT_TRUE(exited(99, 0).asks_requeue());
  EXPECT_FALSE(exited(1, 0).asks_requeue());
  EXPECT_TRUE(exited(0, 0).clean());
  Ending lost = exited(75, 0);
  lost.cause = Cause::node_lost;
  EXPECT_FALSE(lost.asks_requeue());
  EXPECT_FALSE(Ending{}.clean());  // without a code nothing is known to be well
}

}  // namespace
}  // namespace paceline
