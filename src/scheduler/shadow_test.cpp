#include "scheduler/shadow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
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

// Scripts that decide nothing, and once the gate is closed wait at it until it is open again.
class Gate : public ScriptEngine {
 public:
  [[nodiscard]] Result<std::unique_ptr<ScriptPolicy>> load(std::string_view, std::string_view,
                                                           const Parameters&) const override {
    return std::make_unique<Visitor>(*this);
  }
  void close() { open_ = false; }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void wait_for_somebody() const { waits_.wait(false); }

 private:
  class Visitor : public ScriptPolicy {
   public:
    explicit Visitor(const Gate& gate) : gate_(gate) {}
    [[nodiscard]] const ScriptPage& page() const override { return page_; }
    void decide(const Snapshot&, Draft&) const override {
      if (gate_.open_) return;
      gate_.waits_ = true;
      gate_.waits_.notify_all();
      gate_.open_.wait(false);
    }

   private:
    const Gate& gate_;
    ScriptPage page_;
  };

  std::atomic<bool> open_ = true;
  mutable std::atomic<bool> waits_ = false;
};

// A small server that lives through the same day every time.
class Day {
 public:
  explicit Day(std::string policy = "fifo", const ScriptEngine* scripts = nullptr)
      : policies(scripts) {
    options.policy = std::move(policy);
    options.coalesce = {};
    options.read_beside = [this] {
      ++readings;
      return store.load();
    };
    controller.emplace(store, engine, clock, policies, options);
    EXPECT_TRUE(controller->recover());
    engine.tell(NodeUp{NodeId{0}, testing::cluster("1x2 cpu")[0]});
    run_until_quiet();
  }

  void run_until_quiet() {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(controller->step());
      clock.advance(span("1s"));
    }
  }

  JobId submit(std::string_view literal) {
    Submission submission{testing::job(literal), {{"train"}, false, {}, {}, "/"}, {}};
    JobId id;
    controller->submit(std::move(submission), [&](Result<JobId> told) { id = *told; });
    run_until_quiet();
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
    run_until_quiet();
  }

  void run() {
    submit("2 expect=100s");
    submit("2 expect=50s");
    submit("1 expect=10s");
    end(first_running());
  }

  void try_policy(std::string name, Parameters parameters = {}) {
    EXPECT_TRUE(ask([&](auto done) {
      controller->desk().try_out({std::move(name), std::move(parameters)}, {}, std::move(done));
    }));
    work();
  }
  void work() {
    while (controller->shadow().work()) {
    }
  }
  ShadowReport report() {
    work();
    return *controller->shadow().report();
  }
  void crash_and_restart() {
    controller.emplace(store, engine, clock, policies, options);
    EXPECT_TRUE(controller->recover());
    run_until_quiet();
  }
  // The outcome of a command; it has been carried out.
  template <class Command>
  Result<void> ask(Command command) {
    Result<void> outcome;
    command([&](const Result<void>& told) { outcome = told; });
    run_until_quiet();
    return outcome;
  }
  const PolicyPeriod& active() { return *controller->state().policy(); }

  MemoryStore store;
  testing::ObedientEngine engine;
  ManualClock clock{time_from_us(1'000'000'000)};
  PolicyRegistry policies;
  Controller::Options options;
  int readings = 0;
  std::optional<Controller> controller;
};

// Of what happened besides trials.
std::vector<decltype(Entry::body)> bodies(Day& day) {
  std::vector<decltype(Entry::body)> bodies;
  const auto entries = *day.store.entries(1, 1'000'000);
  for (const Entry& entry : entries) {
    const auto* event = std::get_if<Event>(&entry.body);
    if (!event || !std::holds_alternative<TrialBegan>(*event)) bodies.push_back(entry.body);
  }
  return bodies;
}

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

TEST(Shadow, ForecastsAnewOnceTheTwoDecideDifferently) {
  for (const std::string candidate : {"fifo", "srtf"}) {
    Day day;
    day.submit("2 expect=100s");
    day.try_policy(candidate);
    day.submit("2 expect=50s");
    day.submit("1 expect=10s");
    day.end(JobId{1});
    const auto report = day.report();
    EXPECT_EQ(report.differed > 0, candidate == "srtf");
    EXPECT_EQ(report.forecast.samples, candidate == "srtf" ? 2U : 1U) << "within the same minute";
  }
}

TEST(Shadow, HasNoEffect) {
  Day alone, shadowed;
  alone.run_until_quiet();
  shadowed.try_policy("elastic-srtf");
  alone.run();
  shadowed.run();
  EXPECT_GT(shadowed.report().rounds, 0U);
  EXPECT_EQ(bodies(alone), bodies(shadowed));
}

// The candidate doesn't come back from a round, on a thread of its own, while more happens than any
// queue may hold.
TEST(Shadow, NeverHoldsTheLiveSideUp) {
  Gate gate;
  Day alone("fifo", &gate), shadowed("fifo", &gate);
  for (Day* day : {&alone, &shadowed}) {
    EXPECT_TRUE(day->ask(
        [&](auto done) { day->controller->desk().load("slow", "waits", {}, std::move(done)); }));
  }
  alone.run_until_quiet();
  shadowed.try_policy("slow");
  gate.close();
  alone.submit("1");
  shadowed.submit("1");
  std::thread working([&] { shadowed.work(); });
  gate.wait_for_somebody();
  const std::size_t many = Shadow::kQueueMax / 4;  // each makes more than four entries and rounds
  for (Day* day : {&alone, &shadowed}) {
    for (std::size_t i = 0; i < many; ++i) {
      day->submit("1");
      day->end(day->first_running());
    }
  }
  EXPECT_EQ(bodies(alone), bodies(shadowed));
  EXPECT_EQ(shadowed.controller->shadow().report()->rounds, 0U);
  gate.open();
  working.join();
  EXPECT_GE(shadowed.report().skipped, many);
  EXPECT_EQ(shadowed.readings, 2) << "what was queued is dropped, and the state read anew";
  EXPECT_THAT(differences(shadowed.controller->shadow().state(), shadowed.controller->state()),
              IsEmpty());
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

// A shadow of a world, whose journal is read from the world's state.
class Beside {
 public:
  explicit Beside(std::string_view cluster, TrialBegan trial = {"srtf", {}})
      : world(cluster, "fifo") {
    world.tell(std::move(trial));
    shadow.resume(world.state(), world.now());
  }

  Result<State> read() {
    ++readings;
    if (unreadable) return fail(ErrorCode::storage, "The disk is gone.");
    return State(world.state().parts());
  }
  void round() { shadow.round({world.state(), world.now()}, {}); }
  void take_newest() { shadow.take({&world.journal().back(), 1}, world.state()); }
  void work() {
    while (shadow.work()) {
    }
  }

  PolicyRegistry policies;
  PackPlacer placer;
  testing::World world;
  int readings = 0;
  bool unreadable = false;
  Shadow shadow{{policies, placer, {}, "fifo", [this] { return read(); }}};
};

TEST(Shadow, ReadsAnewWhenItFallsFarBehind) {
  Beside beside("1x2 cpu");
  beside.work();
  beside.round();
  for (std::size_t i = 0; i <= Shadow::kQueueMax; ++i) {
    beside.world.tell(PolicyFailed{"mine", "It fails."});
    beside.take_newest();
  }
  beside.work();
  EXPECT_EQ(beside.readings, 2);
  EXPECT_EQ(beside.shadow.report()->skipped, 1U);
  EXPECT_THAT(differences(beside.shadow.state(), beside.world.state()), IsEmpty());
}

TEST(Shadow, PassesOverWhatItReadAlready) {
  Beside beside("1x2 cpu");
  (void)beside.shadow.work();  // read; what comes now is queued
  beside.world.submit("1");
  beside.take_newest();
  beside.work();
  EXPECT_THAT(differences(beside.shadow.state(), beside.world.state()), IsEmpty());
  beside.round();
  beside.work();
  EXPECT_EQ(beside.shadow.report()->rounds, 1U);
  EXPECT_EQ(beside.shadow.report()->skipped, 0U);
}

TEST(Shadow, SaysThatTheJournalCantBeReadAndTriesAgain) {
  Beside beside("1x2 cpu");
  beside.unreadable = true;
  beside.work();
  EXPECT_EQ(beside.shadow.report()->failure, "The disk is gone.");
  beside.world.submit("1");
  beside.take_newest();
  beside.unreadable = false;
  beside.round();
  beside.work();
  beside.round();
  beside.work();
  EXPECT_EQ(beside.shadow.report()->rounds, 1U);
  EXPECT_THAT(differences(beside.shadow.state(), beside.world.state()), IsEmpty());
}

TEST(Shadow, ReadsAnewWhereEntriesAreMissing) {
  Beside beside("1x2 cpu");
  beside.work();
  beside.world.submit("1");
  beside.world.submit("1");
  beside.take_newest();
  beside.work();
  EXPECT_EQ(beside.shadow.report()->failed, 1U);
  beside.round();
  beside.work();
  EXPECT_THAT(differences(beside.shadow.state(), beside.world.state()), IsEmpty());
}

TEST(Shadow, CountsWhatTheCandidatePromotesAndNotWhatTheLivePolicyDoes) {
  Beside beside("1x1 cpu", {"las", {{"threshold", "10"}, {"promote", "2"}}});
  auto& world = beside.world;
  const JobId c = world.run("1", 1);
  world.advance(span("5s"));
  const JobId a = world.submit("1");
  world.preempt(c, a, 1);
  world.killed(c);
  world.started(a);
  world.advance(span("30s"));
  world.preempt(a, world.submit("1"), 1);
  world.killed(a);
  // It ran for 30 s, hence waits in the second queue and counts anew after twice as long.
  const auto service_of_a = [&] { return beside.shadow.state().job(a).service_from; };
  beside.work();
  world.advance(span("59s"));
  beside.round();
  beside.work();
  EXPECT_DOUBLE_EQ(service_of_a(), 0);
  world.advance(span("1s"));
  beside.round();
  beside.work();
  EXPECT_DOUBLE_EQ(service_of_a(), 30);
  EXPECT_DOUBLE_EQ(world.job(a).service_from, 0);
  // Under the live policy the other one counts anew; what was read anew in between changes neither.
  for (const bool read_anew : {false, true}) {
    if (read_anew) world.tell(PolicyFailed{"mine", "It fails."});
    world.fold(Plan{world.state().round() + 1, "las", "", {}, {}, {}, {c}});
    beside.take_newest();
    beside.round();
    beside.work();
    beside.round();
    beside.work();
    EXPECT_EQ(beside.readings, read_anew ? 2 : 1);
    EXPECT_DOUBLE_EQ(world.job(c).service_from, 5);
    EXPECT_DOUBLE_EQ(beside.shadow.state().job(c).service_from, 0);
    EXPECT_DOUBLE_EQ(service_of_a(), 30);
  }
}

TEST(Shadow, IsPromotedWithWhatItRemembers) {
  Day day;
  day.try_policy("round-robin", {});
  day.run();
  const auto memo = day.report().memo;
  ASSERT_FALSE(memo.empty());
  const auto before = day.controller->state().seq();
  EXPECT_TRUE(day.ask([&](auto done) { day.controller->desk().promote({}, std::move(done)); }));
  EXPECT_EQ(day.active().name, "round-robin");
  const auto entries = *day.store.entries(before + 1, 3);
  EXPECT_EQ(std::get<Plan>(entries[1].body).memo, memo);
  EXPECT_EQ(std::get<Event>(entries[2].body), Event(TrialEnded{"round-robin"}));
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  EXPECT_FALSE(day.controller->shadow().work());
}

TEST(Shadow, OutlivesTheServer) {
  Day day;
  day.try_policy("srtf");
  const Time began = day.controller->shadow().report()->since;
  day.submit("2 expect=100s");
  EXPECT_GT(day.report().rounds, 0U);
  day.crash_and_restart();
  auto report = *day.controller->shadow().report();
  EXPECT_EQ(report.policy, "srtf");
  EXPECT_EQ(report.since, began);
  EXPECT_GT(report.counted_since, began);
  EXPECT_EQ(report.rounds, 0U);
  day.work();
  day.submit("1 expect=10s");
  EXPECT_GT(day.report().rounds, 0U);
  EXPECT_THAT(differences(day.controller->shadow().state(), day.controller->state()), IsEmpty());
}

TEST(Shadow, EndsForGood) {
  Day day;
  day.try_policy("srtf");
  EXPECT_TRUE(day.ask([&](auto done) { day.controller->desk().end_trial({}, std::move(done)); }));
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  EXPECT_FALSE(day.controller->shadow().work());
  day.crash_and_restart();
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  const auto again =
      day.ask([&](auto done) { day.controller->desk().end_trial({}, std::move(done)); });
  EXPECT_EQ(again.error().message, "No policy is tried.");
}

TEST(Shadow, RollsBackToThePolicyAndItsParameters) {
  Day day;
  const auto set = [&](std::string name, Parameters parameters) {
    EXPECT_TRUE(day.ask([&](auto done) {
      day.controller->desk().set({std::move(name), std::move(parameters)}, {}, std::move(done));
    }));
  };
  set("fifo", {{"backfill", "easy"}});
  set("srtf", {});
  EXPECT_TRUE(day.ask([&](auto done) { day.controller->desk().roll_back({}, std::move(done)); }));
  EXPECT_EQ(day.active().name, "fifo");
  EXPECT_EQ(day.active().parameters, (Parameters{{"backfill", "easy"}}));
}

TEST(Shadow, SaysWhatIsMissing) {
  Day day;
  const auto tried = day.ask([&](auto done) {
    day.controller->desk().try_out({"srtff", {}}, {}, std::move(done));
  });
  EXPECT_THAT(tried.error().message, HasSubstr("srtf"));
  EXPECT_EQ(day.controller->shadow().report(), std::nullopt);
  const auto promoted =
      day.ask([&](auto done) { day.controller->desk().promote({}, std::move(done)); });
  EXPECT_EQ(promoted.error().message, "No policy is tried.");
  const auto rolled =
      day.ask([&](auto done) { day.controller->desk().roll_back({}, std::move(done)); });
  EXPECT_EQ(rolled.error().message, "No other policy was active before fifo.");
}

}  // namespace
}  // namespace paceline
