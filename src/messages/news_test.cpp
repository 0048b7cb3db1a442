#include "messages/news.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class NewsTest : public ::testing::Test {
 protected:
  JobId run(std::string_view literal) {
    const JobId job = world.submit(literal);
    world.round();
    world.started(job);
    return job;
  }
  // What is new of it; told from then on.
  std::vector<MessageKind> news(JobId job) { return news(world.job(job)); }
  std::vector<MessageKind> news(const Job& job) {
    std::vector<MessageKind> kinds;
    for (const News& each : news_of(job, told)) {
      kinds.push_back(each.kind);
      mark(told, each);
    }
    return kinds;
  }
  void report(JobId job, double accuracy) {
    Progress progress;
    progress.metrics["accuracy"] = accuracy;
    progress.reported_at = world.now();
    world.report(job, progress);
  }

  World world{"1x4 cpu"};
  Told told;
};

TEST_F(NewsTest, TellsEachThingOnceInItsOrder) {
  Job job = world.job(run("1"));
  JobSpec spec = *job.spec;
  spec.target = parse_target("accuracy>=0.6", "accuracy>=0.9").value();
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  EXPECT_THAT(news(job), ElementsAre(MessageKind::started));
  job.target.delivered_at = world.now();
  EXPECT_THAT(news(job), ElementsAre(MessageKind::delivered));
  job.target.reached_at = world.now() + span("5s");
  job.ended_at = world.now() + span("10s");
  job.state = JobState::completed;
  EXPECT_THAT(news(job), ElementsAre(MessageKind::final, MessageKind::ended));
  EXPECT_THAT(news(job), IsEmpty());
}

TEST_F(NewsTest, WhoMissedAllTellsAll) {
  const JobId job = run("1");
  world.advance(span("5s"));
  world.ended(job, ending("1"));
  EXPECT_THAT(news(job), ElementsAre(MessageKind::started, MessageKind::failed));
}

TEST_F(NewsTest, ATargetOfOneTierIsToldOnceToWhoAsksForEither) {
  const JobId job = run("1 target=accuracy>=0.6");
  report(job, 0.7);
  told.started = true;
  const auto found = news_of(world.job(job), told);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].is_among({MessageKind::final}));
  EXPECT_TRUE(found[0].is_among({MessageKind::delivered}));
  EXPECT_FALSE(found[0].is_among({MessageKind::ended}));
}

TEST_F(NewsTest, AFailureIsAnEndToo) {
  const JobId job = run("1");
  world.ended(job, ending("1"));
  told.started = true;
  const auto found = news_of(world.job(job), told);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].is_among({MessageKind::ended}));
  EXPECT_TRUE(found[0].is_among({MessageKind::failed}));
}

TEST_F(NewsTest, TellsEachTimeThatItWaitsAgain) {
  const JobId job = run("1 retry=5");
  EXPECT_THAT(news(job), ElementsAre(MessageKind::started));
  world.ended(job, ending("75"));
  EXPECT_THAT(news(job), ElementsAre(MessageKind::requeued));
  EXPECT_THAT(news(job), IsEmpty());
  world.advance(span("10m"));
  world.round();
  world.started(job);
  EXPECT_THAT(news(job), IsEmpty());
  world.ended(job, ending("75"));
  EXPECT_THAT(news(job), ElementsAre(MessageKind::requeued));
}

TEST_F(NewsTest, StallsOnlyWhereItReportedAndRunsOn) {
  const JobId job = run("1");
  const auto stall = [&](Time heard_from = {}, Audience audience = Audience::owner) {
    return stall_of(world.job(job), told, audience, span("30m"), heard_from);
  };
  EXPECT_EQ(stall(), std::nullopt);
  report(job, 0.5);
  const auto found = stall();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at, world.now() + span("30m"));
  mark(told, *found);
  EXPECT_EQ(stall(), std::nullopt);
  EXPECT_TRUE(stall({}, Audience::operator_)) << "who was not told of it";
  mark(told, *stall({}, Audience::operator_));
  EXPECT_EQ(stall({}, Audience::operator_), std::nullopt);
  world.advance(span("40m"));
  report(job, 0.6);
  EXPECT_EQ(stall()->at, world.now() + span("30m"));
  EXPECT_TRUE(stall({}, Audience::operator_));
  const Time heard_from = world.now() + span("1h");
  EXPECT_EQ(stall(heard_from)->at, heard_from + span("30m"));
  world.ended(job);
  EXPECT_EQ(stall(), std::nullopt);
}

}  // namespace
}  // namespace paceline
