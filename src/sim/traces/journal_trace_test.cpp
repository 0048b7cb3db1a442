#include "sim/traces/journal_trace.hpp"

#include <gmock/gmock.h>

#include "sim/cluster.hpp"
#include "sim/study/simulation.hpp"
#include "support/world.hpp"

namespace paceline::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using TraceWorld = paceline::testing::World;

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> all;
  for (const TraceJob& job : trace.jobs) all.push_back(job.name);
  return all;
}

TEST(JournalTrace, HasJobsAsTheyWereSubmittedAndAsLongAsTheyRan) {
  TraceWorld world("2x4 cpu");
  const JobId a = world.run("2..4@2 slots_per_worker=2 priority=60 name=train user=ann", 2);
  const Time submitted = world.now();
  world.advance(minutes{3});
  world.pause(a);
  world.advance(minutes{5});
  world.resume(a);
  world.advance(minutes{2});
  world.ended(a);
  const Trace trace = trace_of(world.state(), {}, Speedup::linear());
  EXPECT_EQ(trace.format, "paceline");
  ASSERT_THAT(names_of(trace), ElementsAre("1"));
  const TraceJob& job = trace.jobs[0];
  EXPECT_EQ(job.submitted, submitted);
  EXPECT_EQ(job.duration, minutes{5}) << "a pause is no work";
  EXPECT_EQ(job.slots, 4);
  EXPECT_EQ(job.line, 1);
  EXPECT_EQ(job.user + "/" + job.application, "ann/train");
  EXPECT_EQ(job.spec->workers, (WorkerRange{2, 4, 2}));
  EXPECT_EQ(job.spec->priority, 60);
  EXPECT_EQ(trace.cut_short + trace.not_over + trace.no_duration, 0U);
  EXPECT_EQ(cluster_text(trace.nodes), "2x4:cpu");
}

TEST(JournalTrace, WeighsTheSizesItRanAtWithTheSpeedupOfTheSimulation) {
  TraceWorld world("1x4 cpu");
  const JobId a = world.run("1..4@2 elastic=restart", 4);
  world.advance(seconds{30});
  world.ended(a);
  const auto length = [&](const Speedup& speedup) {
    return trace_of(world.state(), {}, speedup).jobs.at(0).duration;
  };
  EXPECT_EQ(length(Speedup::linear()), seconds{60});
  EXPECT_EQ(length(Speedup::table({{1, 1}, {2, 2}, {4, 3}})), seconds{45});
}

TEST(JournalTrace, CountsWhatWasCutShortAndWhatIsNotOver) {
  TraceWorld world("1x4 cpu");
  const JobId cancelled = world.run("1", 1);
  world.run("1 expect=1h", 1);
  world.run("1", 1);
  world.submit("4 expect=2m");
  world.submit("4");
  world.advance(seconds{20});
  world.cancel(cancelled);
  world.killed(cancelled);
  const Trace trace = trace_of(world.state(), {}, Speedup::linear());
  std::vector<Duration> lengths;
  for (const TraceJob& job : trace.jobs) lengths.push_back(job.duration);
  EXPECT_THAT(lengths, ElementsAre(seconds{20}, minutes{60}, seconds{20}, minutes{2}));
  EXPECT_EQ(trace.cut_short, 1U);
  EXPECT_EQ(trace.not_over, 3U);
  EXPECT_EQ(trace.no_duration, 1U);
}

TEST(JournalTrace, ResizesOnlyScriptsThatCouldBeResized) {
  TraceWorld world("1x4 cpu");
  const auto ran = [&](std::string_view literal, bool saves) {
    const JobId id = world.run(literal, 1);
    world.advance(seconds{1});
    if (saves) world.checkpoint(id);
    world.ended(id);
  };
  ran("1..2", false);
  ran("1..2", true);
  ran("1..2 elastic=restart", false);
  ran("1..2 elastic=no", true);
  std::vector<Elastic> elastic;
  for (const TraceJob& job : trace_of(world.state(), {}, Speedup::linear()).jobs)
    elastic.push_back(job.spec->elastic);
  EXPECT_THAT(elastic, ElementsAre(Elastic::no, Elastic::restart, Elastic::restart, Elastic::no));
}

TEST(JournalTrace, TellsWhatResizesAndRestartsPaused) {
  TraceWorld world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 4);
  const auto pauses = [&] {
    const Trace trace = trace_of(world.state(), {}, Speedup::linear());
    return std::pair(trace.restart_pause, trace.resize_pause);
  };
  EXPECT_EQ(pauses(), std::pair(std::optional<Duration>(), std::optional<Duration>()));
  world.checkpoint(a);
  world.change_size(a, 2);
  world.killed(a);
  world.advance(seconds{6});
  world.started(a);
  const std::optional<Duration> six(seconds{6}), two(seconds{2});
  EXPECT_EQ(pauses(), std::pair(six, six)) << "a resize is a restart";
  const Gang& gang = *world.job(a).current;
  world.resize_in_place(a, {gang.workers[1].seat}, {{gang.process(a, 1), 0}});
  world.advance(seconds{2});
  world.stands(a);
  EXPECT_EQ(pauses(), std::pair(six, two));
}

// Simulated again on the same nodes, with every wish that jobs had.
TEST(JournalTrace, PlaysItsJobsWithTheirOwnSizesDependenciesAndDeadlines) {
  TraceWorld world("1x4 cpu");
  const JobId a = world.run("1..4@2 elastic=restart", 2);
  world.advance(seconds{1});
  world.submit("2 after=1 expect=10s deadline=1h");
  world.advance(seconds{39});
  world.ended(a);
  const auto trace = std::make_shared<const Trace>(trace_of(world.state(), {}, Speedup::linear()));
  sim::Setup setup;
  setup.nodes = trace->nodes;
  setup.policy.name = "elastic-fifo";
  const PolicyRegistry registry;
  const auto outcome = simulate(make_workload(trace, 4, {}), setup, registry);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->jobs.size(), 2U);
  EXPECT_EQ(outcome->refused + outcome->unfinished, 0U);
  const JobOutcome& first = outcome->jobs[0];
  EXPECT_EQ(*first.ended - first.submitted, seconds{20}) << "all four slots were free";
  EXPECT_EQ(outcome->jobs[1].started, first.ended) << "it waits for the first one";
}

}  // namespace
}  // namespace paceline::sim
