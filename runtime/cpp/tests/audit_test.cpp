// What a resume is compared with, and what is said of it.
#include "paceline/torch/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang.hpp"

namespace paceline::testing {
namespace {

using detail::Audit;
using detail::Finding;
using detail::RecentLoss;
using detail::Record;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Record record() {
  return {.step = 12,
          .samples = 120,
          .epoch = 1,
          .position = 20,
          .order = 7,
          .batch = 10,
          .rates = {{0.1, 0.2}, {0.3}},
          .loss = 0.5};
}

TEST(Record, IsTheSameAfterItTravelled) {
  auto before = record();
  for (const auto& loss : {std::optional<double>(0.5), std::optional<double>()}) {
    before.loss = loss;
    const auto now = Record::unpacked(before.packed());
    EXPECT_THAT(detail::differences(before, {now}, "before"), IsEmpty());
    EXPECT_EQ(now.loss, loss);
    EXPECT_EQ(now.rates, before.rates);
  }
}

TEST(Record, HasOneSentenceForEachDifference) {
  auto later = record();
  later.step = 13;
  EXPECT_THAT(detail::differences(record(), {later, later}, "before"),
              ElementsAre("the training is at step 13, before it was at step 12"));
  const Record other{.step = 12, .order = 8, .batch = 5, .rates = {{0.1, 0.2}, {}}};
  EXPECT_THAT(detail::differences(record(), {record(), other}, "before"),
              ElementsAre("on rank 1 the training has seen 0 samples, before it had seen 120",
                          "on rank 1 the data go on at sample 0 of epoch 0, before they were at "
                          "sample 20 of epoch 1: samples come twice or not at all",
                          "on rank 1 the samples come in another order than before (shuffle=?), so "
                          "some come twice or not at all in this epoch",
                          "on rank 1 a global batch has 5 samples, before it had 10 samples",
                          "on rank 1 the learning rates are 0.1, 0.2, before they were 0.1, 0.2, "
                          "0.3: set them by job.steps(), and change none after job.checkpoint()"));
}

RecentLoss losses(std::initializer_list<double> all) {
  RecentLoss recent;
  for (const auto each : all) {
    recent.begin_step();
    recent.add(each, 4);
  }
  return recent;
}

TEST(RecentLoss, Forgets) {
  auto recent = losses({});
  for (int i = 0; i < 100; ++i) {
    recent.begin_step();
    recent.add(i < 50 ? 8 : 2, 4);
  }
  const Gang gang(2, [&](Group& group) {
    EXPECT_NEAR(*recent.over_all(group), 2.0, 0.05);
    EXPECT_EQ(losses({}).over_all(group), std::nullopt);
  });
}

TEST(RecentLoss, IsThatOfAllSamples) {
  const Gang gang(2, [](Group& group) {
    RecentLoss recent;
    recent.add(group.rank() == 0 ? 1.0 : 4.0, group.rank() == 0 ? 2 : 1);
    EXPECT_DOUBLE_EQ(*recent.over_all(group), 2.0);
  });
}

struct Said {
  std::optional<Finding> first, end;
};

// What rank 0 of two says, of which rank 1 stands there.
Said said(const Record& on_rank_1, std::initializer_list<double> since) {
  Said found;
  const Gang gang(2, [&](Group& group) {
    Audit audit(record(), "of checkpoint c.pt", "in checkpoint c.pt");
    EXPECT_FALSE(audit.is_due(100));
    const auto first = audit.compare(group, group.rank() == 0 ? record() : on_rank_1);
    EXPECT_FALSE(audit.is_due(16));
    EXPECT_TRUE(audit.is_due(17));
    const auto end = audit.conclude(group, losses(since));
    if (group.rank() == 0) found = {first, end};
  });
  return found;
}

TEST(Audit, IsOneLineWhereAllAgree) {
  const auto found = said(record(), {0.4});
  EXPECT_FALSE(found.first);
  EXPECT_TRUE(found.end->agrees);
  EXPECT_EQ(found.end->text,
            "step 12 of checkpoint c.pt: samples, data position, learning rate agree; "
            "loss 0.4 (0.5 before)");
  EXPECT_THAT(found.end->lines, ElementsAre("resumed at " + found.end->text));
  EXPECT_EQ(said(record(), {}).end->text,
            "step 12 of checkpoint c.pt: samples, data position, learning rate agree");
}

TEST(Audit, TellsOfOneRankThatDiffersAndSaysNoMoreThatAllAgree) {
  auto other = record();
  other.batch = 20;
  const auto found = said(other, {0.4});
  EXPECT_FALSE(found.first->agrees);
  EXPECT_EQ(found.first->text,
            "on rank 1 a global batch has 20 samples, in checkpoint c.pt it had 10 samples");
  EXPECT_THAT(found.first->lines, ElementsAre("resume audit: " + found.first->text + "."));
  EXPECT_FALSE(found.end);
}

TEST(Audit, TellsPacelineOfAllThatDiffersTogether) {
  auto other = record();
  other.batch = 20;
  const auto found = said(other, {1.25});
  EXPECT_THAT(found.end->lines, ElementsAre(StartsWith("resume audit: the loss is 1.25")));
  EXPECT_THAT(found.end->text, StartsWith(found.first->text + "; the loss is 1.25"));
}

TEST(Audit, TellsOfALossThatJumps) {
  const auto end = said(record(), {1.25}).end;
  EXPECT_FALSE(end->agrees);
  EXPECT_THAT(end->lines,
              ElementsAre("resume audit: the loss is 1.25 in the first steps after the resume, "
                          "0.5 in checkpoint c.pt: more than 2 times as much."));
  EXPECT_TRUE(said(record(), {0.99}).end->agrees);
}

}  // namespace
}  // namespace paceline::testing
