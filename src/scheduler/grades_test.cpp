#include "scheduler/grades.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::ending;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span;
using testing::World;

class GradesTest : public ::testing::Test {
 protected:
  // Seconds from now.
  [[nodiscard]] ExpectedTime in(std::int64_t at, std::int64_t earliest, std::int64_t latest) const {
    const auto time = [&](std::int64_t s) { return world.now() + std::chrono::seconds{s}; };
    return {time(at), time(earliest), time(latest), LengthSource::declared};
  }
  void tell(JobId job, std::optional<ExpectedTime> start, std::optional<ExpectedTime> end = {}) {
    grades.told(job, {std::move(start), std::move(end), {}}, world.now());
  }
  void follow(JobId job) { grades.follow(world.state(), std::vector{job}); }
  // A job that starts so long after it was told to start in 100 s, with 50 s on either side.
  void play(Duration after) {
    const JobId job = world.submit("1");
    tell(job, in(100, 50, 150));
    world.advance(after);
    world.start(job, 1);
    world.started(job);
    follow(job);
    world.ended(job);
    follow(job);
  }

  World world{"1x1 cpu", "fifo"};
  Grades grades;
};

TEST_F(GradesTest, HoldWhatWasToldAgainstTheTruth) {
  play(span("80s"));
  play(span("200s"));
  ASSERT_THAT(grades.summary(), SizeIs(1));
  const GradeSummary kind = grades.summary().front();
  EXPECT_EQ(kind.of, Milestone::start);
  EXPECT_EQ(kind.known, LengthSource::declared);
  EXPECT_EQ(kind.graded, 2U);
  EXPECT_EQ(kind.inside, 1U);
  EXPECT_EQ(grades.waiting(), 0U);
}

TEST_F(GradesTest, AnEndIsGradedWhereTheJobCompleted) {
  const JobId good = world.run("1", 1);
  tell(good, {}, in(100, 50, 150));
  world.advance(span("110s"));
  world.ended(good);
  follow(good);
  ASSERT_THAT(grades.summary(), SizeIs(1));
  EXPECT_EQ(grades.summary().front().of, Milestone::end);
  EXPECT_EQ(grades.summary().front().median_error, span("10s"));
  EXPECT_NEAR(grades.summary().front().median_ratio, 10 / 110.0, 1e-9);
  const JobId bad = world.run("1 retry=0", 1);
  tell(bad, {}, in(100, 50, 150));
  world.ended(bad, ending("1"));
  follow(bad);
  EXPECT_EQ(grades.summary().front().graded, 1U);
  EXPECT_EQ(grades.waiting(), 0U);
}

TEST_F(GradesTest, WhatPeopleDoSaysNothing) {
  const JobId job = world.submit("1");
  tell(job, in(100, 50, 150), in(200, 150, 250));
  world.cancel(job);
  follow(job);
  EXPECT_THAT(grades.summary(), IsEmpty());
  EXPECT_EQ(grades.waiting(), 0U);
}

TEST_F(GradesTest, AreKeptOnceAMinuteAndThenTwiceAsSeldom) {
  const JobId job = world.submit("1");
  for (int second = 0; second < 600; ++second) {
    tell(job, in(1000, 500, 1500));
    world.advance(span("1s"));
  }
  // At 0, 60, 120, 240 and 480 s.
  EXPECT_EQ(grades.waiting(), 5U);
}

TEST_F(GradesTest, HaveBounds) {
  for (std::size_t i = 0; i < kGradesMax + 1; ++i) {
    play(span("100s"));
    world.tell(JobsForgotten{{JobId{static_cast<std::uint32_t>(i + 1)}}});
  }
  EXPECT_EQ(grades.summary().front().graded, kGradesMax);
  for (std::size_t i = 0; i < kToldMax + 1; ++i)
    tell(JobId{static_cast<std::uint32_t>(i + 5'000)}, in(100, 50, 150));
  EXPECT_EQ(grades.waiting(), kToldMax);
}

TEST_F(GradesTest, NowIsNoForesight) {
  const JobId job = world.submit("1");
  tell(job, in(0, 0, 0));
  EXPECT_EQ(grades.waiting(), 0U);
}

TEST_F(GradesTest, TooNarrowIntervalsAreWidenedUntilEightInTenFallInside) {
  // The truth is 1 to 10 times as far away as the plays said.
  for (int round = 0; round < 4; ++round) {
    for (int i = 1; i <= 10; ++i) play(span("100s") + i * span("50s"));
  }
  const GradeSummary kind = grades.summary().front();
  EXPECT_GE(kind.widened, 8);
  EXPECT_LE(kind.widened, 9);
  Expectations expectations{1, world.now(), {{JobId{1}, {in(1000, 900, 1100), {}, {}}}}};
  grades.adjust(expectations);
  const auto& start = *expectations.jobs.at(JobId{1}).start;
  EXPECT_EQ(start.at, world.now() + span("1000s"));
  EXPECT_NEAR(to_seconds(*start.latest - *start.at), 100 * kind.widened, 1e-3);
  EXPECT_NEAR(to_seconds(*start.at - start.earliest), 100 * kind.widened, 1e-3);
}

TEST_F(GradesTest, TooWideOnesAreNarrowed) {
  for (int i = 0; i < 40; ++i) play(span("110s"));
  EXPECT_EQ(grades.summary().front().widened, 0.25) << "the least";
}

TEST_F(GradesTest, FewTeachNothing) {
  for (int i = 0; i < 19; ++i) play(span("500s"));
  EXPECT_EQ(grades.summary().front().widened, 1);
  play(span("500s"));
  EXPECT_GT(grades.summary().front().widened, 1);
}

TEST_F(GradesTest, SurviveAsAText) {
  for (int i = 0; i < 25; ++i) play(span("200s"));
  const JobId job = world.submit("1");
  tell(job, in(100, 50, 150));
  Grades read = Grades::parse(grades.text());
  EXPECT_EQ(read.text(), grades.text());
  EXPECT_EQ(read.waiting(), 1U);
  EXPECT_EQ(read.summary().front().widened, grades.summary().front().widened);
  world.advance(span("100s"));
  world.start(job, 1);
  world.started(job);
  read.follow(world.state(), std::vector{job});
  EXPECT_EQ(read.summary().front().graded, 26U);
}

TEST_F(GradesTest, WhatCameTrueAfterTheTextWasWrittenIsGradedFromTheState) {
  const JobId waits = world.submit("1"), ends = world.submit("1");
  for (const JobId job : {waits, ends}) tell(job, in(100, 50, 150), in(200, 150, 250));
  Grades read = Grades::parse(grades.text());
  world.advance(span("120s"));
  world.start(ends, 1);
  world.started(ends);
  world.ended(ends);
  read.resume(world.state());
  ASSERT_THAT(read.summary(), SizeIs(2));
  EXPECT_EQ(read.summary().front().median_error, span("20s"));
  EXPECT_EQ(read.waiting(), 2U) << "of the other job";
}

TEST_F(GradesTest, ADamagedTextIsReadAsFarAsItGoes) {
  EXPECT_EQ(Grades::parse("told 1 9 0 5 5 5 5 1\ngrade x\nnonsense\n\ntold 1 0").waiting(), 0U);
  EXPECT_THAT(Grades::parse("grade 0 7 1 1 1 1\ngrade 0 -1 1 1 1 1").summary(), IsEmpty());
}

}  // namespace
}  // namespace paceline
