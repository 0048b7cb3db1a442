#include "scheduler/shadow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "clock/manual/manual_clock.hpp"
#include "scheduler/controller.hpp"
#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::differences;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span;

// Workers that start and stop at once, as the state wants.
class ObedientEngine : public Engine {
 public:
  Observed observe() override { return std::exchange(news_, {}); }
  void committed() override {}
  void on_news(std::function<void()> wake) override { (void)wake; }
  void act(const State& state, std::span<const JobId> jobs) override {
    for (const JobId id : jobs) {
      if (const auto& gang = state.job(id).current) act(id, *gang);
    }
  }
  void tell(Event event) { news_.events.push_back(std::move(event)); }

 private:
  void act(JobId id, const Gang& gang) {
    for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
      const WorkerState is = gang.workers[static_cast<std::size_t>(rank)].state;
      const WorkerKey key{id, gang.generation, rank};
      if (gang.stop && is != WorkerState::ended)
        tell(WorkerEnded{key, testing::ending("signal 15")});
      if (!gang.stop && is == WorkerState::assigned) tell(WorkerStarted{key, 4711});
    }
  }

  Observed news_;
};

// A small server that lives through the same day every time.
class Day {
 public:
  explicit Day(std::string policy = "fifo") {
    options.policy = std::move(policy);
    options.coalesce = {};
    controller.emplace(store, engine, clock, policies, options);
    EXPECT_TRUE(controller->recover());
    engine.tell(NodeUp{NodeId{0}, testing::cluster("1x2 cpu")[0]});
    settle();
  }

  void settle() {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(controller->step());
      clock.advance(span("1s"));
    }
  }

  JobId submit(std::string_view literal) {
    Submission submission{testing::job(literal), {{"train"}, false, {}, {}, "/"}, {}};
    JobId id;
    controller->submit(std::move(submission), [&](Result<JobId> told) { id = *told; });
    settle();
    return id;
  }

  // Of those that run the first in line.
  JobId first_running() {
    for (const auto& key : controller->state().active())
      if (controller->state().job(key.job).state == JobState::running) return key.job;
    throw std::logic_error("nobody runs");
  }

  void end(JobId id) {
    const Gang gang = controller->state().job(id).current.value();
    for (std::int32_t rank = 0; rank < gang.size(); ++rank)
      engine.tell(WorkerEnded{{id, gang.generation, rank}, testing::ending("0")});
    settle();
  }

  void run() {
    submit("2 expect=100s");
    submit("2 expect=50s");
    submit("1 expect=10s");
    end(first_running());
  }

  void try_policy(std::string name, Parameters parameters = {}) {
    EXPECT_TRUE(controller->try_policy(std::move(name), std::move(parameters)));
  }
  ShadowReport report() {
    while (controller->shadow().work()) {
    }
    return *controller->shadow().report();
  }
  // The outcome of a command; it has been carried out.
  template <class Command>
  Result<void> ask(Command command) {
    Result<void> outcome;
    command([&](const Result<void>& told) { outcome = told; });
    settle();
    return outcome;
  }
  const PolicyPeriod& active() { return *controller->state().policy(); }

  MemoryStore store;
  ObedientEngine engine;
  ManualClock clock{time_from_us(1'000'000'000)};
  PolicyRegistry policies;
  Controller::Options options;
  std::optional<Controller> controller;
};

TEST(Shadow, TheSamePolicyDecidesTheSame) {
  Day day("srtf");
  day.try_policy("srtf");
  day.run();
  const auto report = day.report();
  EXPECT_GE(report.rounds, 4U);
  EXPECT_EQ(report.differed, 0U);
  EXPECT_EQ(report.failed + report.skipped, 0U);
  EXPECT_EQ(report.forecast.live.completion, report.forecast.shadow.completion);
}

TEST(Shadow, KeepsTheRoundsThatDiffer) {
  Day day;
  day.submit("2 expect=100s");
  day.submit("2 expect=50s");
  day.submit("1 expect=10s");
  day.try_policy("srtf");
  day.end(JobId{1});
  const auto report = day.report();
  // fifo starts job 2, which came before; srtf starts job 3, which is shorter.
  ASSERT_GE(report.differed, 1U);
  const auto& first = report.differences.front();
  ASSERT_THAT(first.live, SizeIs(1));
  ASSERT_THAT(first.shadow, SizeIs(1));
  EXPECT_EQ(first.live[0].job, JobId{2});
  EXPECT_EQ(first.shadow[0].job, JobId{3});
  EXPECT_EQ(first.shadow[0].reason.code, ReasonCode::starts);
}

TEST(Shadow, ForecastsWhatTheCandidateWouldChange) {
  Day day;
  day.submit("2 expect=100s");
  day.submit("2 expect=50s");
  day.submit("1 expect=10s");
  day.try_policy("srtf");
  const auto& forecast = day.report().forecast;
  EXPECT_EQ(forecast.samples, 1U);
  EXPECT_EQ(forecast.jobs, 3U);
  EXPECT_LT(forecast.shadow.completion, forecast.live.completion);
  EXPECT_LT(forecast.shadow.waiting, forecast.live.waiting);
}

TEST(Shadow, HasNoEffect) {
  Day alone, shadowed;
  shadowed.try_policy("elastic-srtf");
  alone.run();
  shadowed.run();
  EXPECT_GT(shadowed.report().rounds, 0U);
  const auto a = *alone.store.entries(1, 1'000);
  const auto b = *shadowed.store.entries(1, 1'000);
  EXPECT_EQ(a, b);
}

TEST(Shadow, CatchesUpWithTheLiveState) {
  Day day;
  day.submit("2 expect=100s");
  day.try_policy("round-robin");
  day.run();
  day.report();
  EXPECT_THAT(differences(day.controller->shadow().state(), day.controller->state()), IsEmpty());
}

TEST(Shadow, PassesRoundsOverWhenItFallsBehind) {
  Day day;
  day.try_policy("srtf");
  for (std::size_t i = 0; i < 2 * Shadow::kBehindMax; ++i) day.submit("1 expect=1s");
  const auto report = day.report();
  EXPECT_GE(report.skipped, Shadow::kBehindMax);
  EXPECT_GE(report.rounds, Shadow::kBehindMax);
  EXPECT_THAT(differences(day.controller->shadow().state(), day.controller->state()), IsEmpty());
}

TEST(Shadow, StartsAgainWhenItFallsFarBehind) {
  PolicyRegistry policies;
  PackPlacer placer;
  testing::World world("1x2 cpu", "fifo");
  Shadow shadow({policies, placer, {}, "fifo"});
  shadow.begin("srtf", {}, world.state().parts(), world.now());
  world.submit("1");
  const Entry entry = world.journal().back();
  const std::vector<Entry> flood(Shadow::kQueueMax, entry);
  shadow.round(world.now(), {});
  shadow.take(flood, world.state());
  while (shadow.work()) {
  }
  EXPECT_EQ(shadow.report()->skipped, 1U);
  EXPECT_THAT(differences(shadow.state(), world.state()), IsEmpty());
}

TEST(Shadow, IsPromotedWithWhatItRemembers) {
  Day day;
  day.try_policy("round-robin", {});
  day.run();
  const auto memo = day.report().memo;
  ASSERT_FALSE(memo.empty());
  const auto before = day.controller->state().seq();
  EXPECT_TRUE(day.ask([&](auto done) { day.controller->promote_policy(std::move(done)); }));
  EXPECT_EQ(day.active().name, "round-robin");
  const auto entries = *day.store.entries(before + 1, 2);
  EXPECT_EQ(std::get<Plan>(entries[1].body).memo, memo);
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  EXPECT_FALSE(day.controller->shadow().work());
}

TEST(Shadow, RollsBackToThePolicyAndItsParameters) {
  Day day;
  const auto set = [&](std::string name, Parameters parameters) {
    EXPECT_TRUE(day.ask([&](auto done) {
      day.controller->set_policy(std::move(name), std::move(parameters), std::move(done));
    }));
  };
  set("fifo", {{"backfill", "easy"}});
  set("srtf", {});
  EXPECT_TRUE(day.ask([&](auto done) { day.controller->rollback_policy(std::move(done)); }));
  EXPECT_EQ(day.active().name, "fifo");
  EXPECT_EQ(day.active().parameters, (Parameters{{"backfill", "easy"}}));
}

TEST(Shadow, SaysWhatIsMissing) {
  Day day;
  EXPECT_THAT(day.controller->try_policy("srtff", {}).error().message, HasSubstr("srtf"));
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  const auto promoted =
      day.ask([&](auto done) { day.controller->promote_policy(std::move(done)); });
  EXPECT_EQ(promoted.error().message, "No policy is tried.");
  const auto rolled = day.ask([&](auto done) { day.controller->rollback_policy(std::move(done)); });
  EXPECT_EQ(rolled.error().message, "No other policy was active before fifo.");
}

}  // namespace
}  // namespace paceline
