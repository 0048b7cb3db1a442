// Forecasts of literal worlds under policies that ship, with their arithmetic.
#include "forecast/forecast.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class ForecastTest : public ::testing::Test {
 protected:
  ForecastOutcome forecast(std::string_view policy) {
    const auto made = *PolicyRegistry().make(policy, {});
    Forecast forecast(world->state().parts(), world->now(), decider(*made), placer, Protects::no);
    while (forecast.step()) {
    }
    return forecast.outcome();
  }

  std::optional<World> world{std::in_place, "1x1 cpu", "fifo"};
  PackPlacer placer;
};

TEST_F(ForecastTest, ShortestFirstWaitsLess) {
  world->submit("1 expect=100s");
  world->submit("1 expect=10s");
  // One slot. fifo: ends at 100 and 110, waits 0 and 100.
  const auto fifo = forecast("fifo");
  EXPECT_EQ(fifo.jobs, 2U);
  EXPECT_EQ(fifo.unfinished, 0U);
  EXPECT_DOUBLE_EQ(fifo.means.completion, 105);
  EXPECT_DOUBLE_EQ(fifo.means.waiting, 50);
  EXPECT_DOUBLE_EQ(fifo.means.makespan, 110);
  // srtf: the second ends at 10, the first at 110; waits 10 and 0.
  const auto srtf = forecast("srtf");
  EXPECT_DOUBLE_EQ(srtf.means.completion, 60);
  EXPECT_DOUBLE_EQ(srtf.means.waiting, 5);
  EXPECT_DOUBLE_EQ(srtf.means.makespan, 110);
  EXPECT_EQ(srtf.means.lost, Bill());
}

// Decides as of two policies the one does whose forecast has jobs complete sooner.
class SoonerOfTwo : public Policy {
 public:
  void decide(const Snapshot& snapshot, Draft& draft) const override {
    const bool first = completion(*fifo_, snapshot) <= completion(*srtf_, snapshot);
    (first ? *fifo_ : *srtf_).decide(snapshot, draft);
  }

 private:
  [[nodiscard]] double completion(const Policy& policy, const Snapshot& snapshot) const {
    Forecast forecast(snapshot.state.parts(), snapshot.now, decider(policy), placer_, Protects::no);
    while (forecast.step()) {
    }
    return forecast.outcome().means.completion;
  }

  std::unique_ptr<Policy> fifo_ = *PolicyRegistry().make("fifo", {});
  std::unique_ptr<Policy> srtf_ = *PolicyRegistry().make("srtf", {});
  PackPlacer placer_;
};

TEST_F(ForecastTest, CanBeAskedByAPolicyForItsDecision) {
  world->submit("1 expect=100s");
  const JobId shorter = world->submit("1 expect=10s");
  const SoonerOfTwo policy;
  Draft draft(world->snapshot(), placer);
  const auto plan = decide(draft, decider(policy));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->changes.size(), 1U);
  EXPECT_EQ(plan->changes.front().job, shorter);
}

// Their names say nothing of their ranks.
TEST_F(ForecastTest, ProcessesThatGoOnWithOtherRanksRunToTheEnd) {
  world.emplace("1x2 cpu", "fifo");
  const JobId job = world->run("2 expect=100s", 2);
  const Seat first{NodeId{0}, {0}}, second{NodeId{0}, {1}};
  world->resize_in_place(job, {second, first},
                         {{{job, Generation{1}, 1}, 0}, {{job, Generation{1}, 0}, 1}});
  const auto fifo = forecast("fifo");
  EXPECT_EQ(fifo.unfinished, 0U);
  EXPECT_DOUBLE_EQ(fifo.means.completion, 100);
}

TEST_F(ForecastTest, OnlyLeaversAreEndedByAResizeInPlace) {
  world.emplace("1x2 cpu", "fifo");
  const JobId job = world->run("1..2@1 expect=100s", 2);
  world->resize_in_place(job, {{NodeId{0}, {1}}}, {{{job, Generation{1}, 1}, 0}});
  const auto fifo = forecast("fifo");
  EXPECT_EQ(fifo.unfinished, 0U);
  EXPECT_EQ(fifo.means.lost, Bill()) << "nobody begins again";
  // One worker is its wanted size.
  EXPECT_DOUBLE_EQ(fifo.means.completion, 100);
}

TEST_F(ForecastTest, APreemptionCostsWhatWasNotSavedAndAPause) {
  const JobId long_one = world->run("1 expect=200s elastic=restart", 1);
  world->advance(span("50s"));
  world->submit("1 expect=10s");
  // fifo: the long one ends at 200, the other waits 150 and ends at 210: (200 + 160) / 2.
  EXPECT_DOUBLE_EQ(forecast("fifo").means.completion, 180);
  // srtf: 50 s of the long one are lost; it goes on at 60, after the prior pause of 5 s, with all
  // 200 s to do, and ends at 265: (265 + 10) / 2.
  const auto srtf = forecast("srtf");
  EXPECT_DOUBLE_EQ(srtf.means.completion, 137.5);
  EXPECT_EQ(srtf.means.lost, (Bill{50, 0, 0}));
  // With a checkpoint at 50 nothing is lost but the pause: it ends at 215: (215 + 10) / 2.
  world->checkpoint(long_one);
  const auto saved = forecast("srtf");
  EXPECT_DOUBLE_EQ(saved.means.completion, 112.5);
  EXPECT_EQ(saved.means.lost, Bill());
}

TEST_F(ForecastTest, TellsWhoseJobsLoseWhatByWhichCause) {
  world.emplace("1x4 cpu", "fifo");
  world->run("1 user=ann expect=200s elastic=restart", 1);
  world->run("2..3@3 user=bob expect=200s elastic=restart", 3);
  world->advance(span("50s"));
  world->submit("1 user=cleo expect=10s");
  // bob shrinks for cleo and grows again when she is done after 10 s. Lost: 50 s × 3 that no
  // checkpoint saved; the pause of 5 s × 2; the next 5 s × 2, not saved either; a pause of 5 s × 3.
  const Bill bobs{0, 150 + 10 + 10 + 15, 0};
  const auto shrunk = forecast("elastic-fifo");
  EXPECT_EQ(shrunk.means.lost, bobs);
  EXPECT_EQ(shrunk.lost, (std::map<std::string, Bill>{{"ann", {}}, {"bob", bobs}, {"cleo", {}}}));
  // A policy that stops a job for cleo stops bob's whole gang, the larger one.
  const auto stopped = forecast("srtf");
  EXPECT_EQ(stopped.means.lost, (Bill{150, 0, 0}));
  EXPECT_EQ(stopped.lost.at("bob"), (Bill{150, 0, 0}));
}

TEST_F(ForecastTest, CountsWhatHasRunAndUnknownLengthsAsTheMedian) {
  const JobId first = world->run("1 expect=100s", 1);
  world->advance(span("60s"));
  world->submit("1");
  world->submit("1 hold");
  // The first ends in 40 s, 100 s after it came; the second takes 100 s, the median of {100}: it
  // waits 40 and ends after 140. A held job isn't counted.
  const auto outcome = forecast("fifo");
  EXPECT_EQ(outcome.jobs, 2U);
  EXPECT_EQ(outcome.guessed, 1U);
  EXPECT_DOUBLE_EQ(outcome.means.completion, 120);
  EXPECT_DOUBLE_EQ(outcome.means.waiting, 20);
  EXPECT_EQ(world->job(first).state, JobState::running);
}

TEST_F(ForecastTest, SpareSlotsMakeAnElasticJobFaster) {
  world.emplace("1x2 cpu", "fifo");
  world->submit("1..2@1 expect=100s");
  EXPECT_DOUBLE_EQ(forecast("fifo").means.completion, 100);
  EXPECT_LT(forecast("elastic-fifo").means.completion, 60);
}

TEST_F(ForecastTest, CountsWhatRanAtAnotherSizeByTheSpeedsThatTheJobExpects) {
  world.emplace("1x4 cpu", "fifo");
  world->run("1..4@4 expect=5000s speeds=1:1,4:2 elastic=no", 1);
  world->advance(span("4000s"));
  // Half as fast as it wants: 2,000 of the 5,000 s are done, and the rest takes 6,000.
  EXPECT_DOUBLE_EQ(forecast("fifo").means.completion, 10'000);
}

TEST_F(ForecastTest, AJobTakesAsLongAsOnTheDevicesThatItHas) {
  world.emplace("1x1 a100; 1x1 v100", "fifo");
  const JobId job = world->run("1 samples=10000", 1);
  Progress report;
  const auto train = [&](std::uint64_t samples) {
    world->advance(span("10s"));
    report.samples = report.samples.value_or(0) + samples;
    report.reported_at = world->now();
    world->report(job, report);
  };
  for (int i = 0; i < 4; ++i) train(1000);
  world->checkpoint(job);
  const std::string first =
      world->state().find_node(world->job(job).current->workers[0].seat.node)->spec.name;
  world->node_lost(first);
  world->start(job, 1);
  world->started(job);
  for (int i = 0; i < 3; ++i) train(100);
  world->advance(span("20s"));
  // 5,700 samples were left 20 s ago, of which it does 10 a second here.
  EXPECT_NEAR(forecast("fifo").means.makespan, 550, 1e-3);
}

TEST_F(ForecastTest, EndsWhereNothingCanHappenAnyMore) {
  world->submit("1 expect=10s");
  world->node_down("cpu-0");
  world->advance(span("30s"));
  const auto outcome = forecast("fifo");
  EXPECT_EQ(outcome.unfinished, 1U);
  EXPECT_DOUBLE_EQ(outcome.means.completion, 30);
}

}  // namespace
}  // namespace paceline
