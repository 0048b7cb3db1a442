// Checkpoints that lie on one node alone: what the state makes of them, and where their jobs may start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/check.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using testing::span;
using testing::World;

class KeptCheckpoints : public ::testing::Test {
 protected:
  // A job that runs on the first node, with one worker.
  KeptCheckpoints() { job_ = world_.run("1..8 elastic=restart", 1); }

  [[nodiscard]] const Job& job() const { return world_.job(job_); }
  [[nodiscard]] std::string node_of(std::uint32_t id) const {
    return world_.state().find_node(NodeId{id})->spec.name;
  }
  // As it was acknowledged on the first node.
  Checkpoint save(std::uint64_t report) {
    const Generation generation = job().current->generation;
    Checkpoint saved{fmt::format("/saved/{}", report), report, {}, world_.now()};
    saved.place = {node_of(0), {}, {job_, Generation{1}, 0}, report, {}, {}};
    world_.tell(CheckpointAcknowledged{job_, generation, saved});
    return saved;
  }
  void tell_kept(Checkpoint checkpoint, Keeping keeping, const std::string& text = "") {
    if (keeping == Keeping::kept) checkpoint.place->ship = text;
    if (keeping == Keeping::unkept) checkpoint.place->unkept = text;
    world_.tell(CheckpointKept{job_, std::move(checkpoint), keeping});
  }
  // What is wrong with a start on that node.
  std::vector<std::string> start_on(std::uint32_t node) {
    Plan plan;
    plan.changes.push_back({ChangeKind::start,
                            job_,
                            Generation{job().last_generation.value + 1},
                            {Seat{NodeId{node}, {0}}},
                            {ReasonCode::script, {}, "because"},
                            0,
                            {}});
    return violations(world_.snapshot(), plan);
  }
  World world_{"2x4 cpu"};
  JobId job_;
};

TEST_F(KeptCheckpoints, AWaitingJobStartsElsewhereOnceThereIsACopy) {
  world_.preempt(job_, world_.submit("4"), 4);
  const Checkpoint saved = save(1);
  world_.ended(job_);
  ASSERT_EQ(job().state, JobState::pending);
  ASSERT_EQ(start_on(1).size(), 1U);
  EXPECT_THAT(start_on(1)[0],
              HasSubstr("needs node " + node_of(0) + ", where its newest checkpoint lies"));
  tell_kept(saved, Keeping::kept, "ship");
  EXPECT_TRUE(start_on(1).empty());
  EXPECT_EQ(job().checkpoint->place->ship, "ship");
}

TEST_F(KeptCheckpoints, OfOneThatLiesWhereAllSeeItNothingIsKept) {
  world_.preempt(job_, world_.submit("4"), 4);
  const Checkpoint saved = save(1);
  world_.ended(job_);
  tell_kept(saved, Keeping::shared);
  EXPECT_FALSE(job().checkpoint->place);
  EXPECT_TRUE(start_on(1).empty());
}

TEST_F(KeptCheckpoints, ACopyOfTheOneBeforeServesWhereTheNewestIsLost) {
  const Checkpoint first = save(1);
  tell_kept(first, Keeping::kept, "first");
  world_.advance(span("10m"));
  world_.preempt(job_, world_.submit("4"), 4);
  const Checkpoint second = save(2);
  EXPECT_EQ(job().kept->place->ship, "first");
  world_.ended(job_);
  const double billed = job().bill.failure;
  tell_kept(second, Keeping::lost);
  EXPECT_EQ(job().checkpoint->path, first.path);
  EXPECT_FALSE(job().kept);
  EXPECT_TRUE(start_on(1).empty());
  EXPECT_DOUBLE_EQ(job().bill.failure - billed, 600);
  EXPECT_EQ(job().ran_at, job().saved_at);
}

TEST_F(KeptCheckpoints, ACopyThatComesLateIsOfUseStill) {
  const Checkpoint first = save(1);
  save(2);
  tell_kept(first, Keeping::kept, "first");
  EXPECT_EQ(job().checkpoint->step, 2U);
  ASSERT_TRUE(job().kept);
  EXPECT_EQ(job().kept->step, 1U);
}

TEST_F(KeptCheckpoints, ACopyOfTheOneBeforeThatIsLostServesNobody) {
  const Checkpoint first = save(1);
  tell_kept(first, Keeping::kept, "first");
  world_.advance(span("10m"));
  const Checkpoint second = save(2);
  ASSERT_TRUE(job().kept);
  tell_kept(first, Keeping::unkept, "it is lost");
  EXPECT_FALSE(job().kept);
  EXPECT_EQ(job().checkpoint->path, second.path);
  EXPECT_EQ(job().checkpoint->place->unkept, "");
  tell_kept(second, Keeping::lost);
  EXPECT_FALSE(job().checkpoint);
  EXPECT_TRUE(job().saved_at.empty()) << "nothing of what it did is left";
}

TEST_F(KeptCheckpoints, ARestartWaitsForTheCopy) {
  world_.change_size(job_, 6);
  ASSERT_TRUE(job().forming);
  const Checkpoint saved = save(1);
  world_.ended(job_);
  EXPECT_FALSE(job().current) << "it has all its slots, and lacks its checkpoint on one node";
  EXPECT_EQ(job().state, JobState::resizing);
  tell_kept(saved, Keeping::kept, "ship");
  ASSERT_TRUE(job().current);
  EXPECT_EQ(job().current->size(), 6);
}

TEST_F(KeptCheckpoints, ARestartThatNeverGetsItGoesBackToTheQueue) {
  world_.change_size(job_, 6);
  const Checkpoint saved = save(1);
  world_.ended(job_);
  tell_kept(saved, Keeping::unkept, "it is too large");
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(world_.state().slots_leased(), 0);
  EXPECT_EQ(start_on(1).size(), 1U);
  EXPECT_TRUE(start_on(0).empty());
}

TEST_F(KeptCheckpoints, ARestartThatIsToldSoWhileItsGangLeavesGoesBackToTheQueue) {
  world_.change_size(job_, 6);
  const Checkpoint saved = save(1);
  tell_kept(saved, Keeping::unkept, "it is too large");
  EXPECT_TRUE(job().forming) << "a later one may be kept";
  world_.ended(job_);
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(world_.state().slots_leased(), 0);
}

TEST_F(KeptCheckpoints, AreLostWhereAnotherMachineTakesTheName) {
  NodeSpec spec = world_.state().find_node(NodeId{0})->spec;
  spec.machine = "aaaa";
  world_.tell(NodeUp{NodeId{0}, spec});
  const Checkpoint first = save(1);
  tell_kept(first, Keeping::kept, "first");
  save(2);
  world_.node_lost(node_of(0));
  world_.node_down(node_of(0));
  world_.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(job().checkpoint->step, 2U) << "it is the machine that it was";
  spec.machine = "bbbb";
  world_.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(job().checkpoint->path, first.path);
  EXPECT_TRUE(start_on(1).empty());
}

TEST_F(KeptCheckpoints, OneThatRunsIsTiedOnlyIfThereWillBeNoCopy) {
  const Checkpoint saved = save(1);
  const auto grows = [&] {
    const Plan plan = world_.plan([&](const Snapshot&, Draft& draft) {
      if (const auto seats = draft.refit(job_, 6))
        draft.resize(job_, *seats, {ReasonCode::script, {}, "because"});
    });
    return !plan.changes.empty();
  };
  EXPECT_TRUE(grows()) << "it saves anew when it is told to leave";
  tell_kept(saved, Keeping::unkept, "it is too large");
  EXPECT_FALSE(grows());
}

TEST_F(KeptCheckpoints, WithItsNodeItIsLost) {
  world_.preempt(job_, world_.submit("4"), 4);
  save(1);
  world_.ended(job_);
  const JobId other = JobId{job_.value + 1};
  world_.started(other);
  world_.ended(other);
  world_.node_down(node_of(0));
  EXPECT_TRUE(job().checkpoint) << "it may come back";
  world_.node_retired(node_of(0));
  EXPECT_FALSE(job().checkpoint);
  EXPECT_TRUE(start_on(1).empty());
}

// It went on elsewhere: the copy of the one before is not lost with that node.
TEST_F(KeptCheckpoints, AJobThatRunsLosesTheNewestAloneWithItsNode) {
  world_.ended(job_);
  job_ = world_.run("4..8", 8);
  const Checkpoint first = save(1);
  tell_kept(first, Keeping::kept, "first");
  tell_kept(save(2), Keeping::unkept, "it is too large");
  world_.stands(job_);
  Placement seats;
  std::vector<Survivor> survivors;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const Seat& seat = job().current->workers[static_cast<std::size_t>(rank)].seat;
    if (seat.node == NodeId{0}) continue;
    survivors.push_back({{job_, Generation{1}, rank}, static_cast<std::int32_t>(seats.size())});
    seats.push_back(seat);
  }
  world_.resize_in_place(job_, seats, survivors);
  for (const Parting& each : std::vector(job().parting))
    world_.ended(each.process, testing::ending("0"));
  world_.node_down(node_of(0));
  world_.node_retired(node_of(0));
  ASSERT_TRUE(world_.state().nodes()[0].retired);
  ASSERT_TRUE(job().checkpoint);
  EXPECT_EQ(job().checkpoint->path, first.path);
}

// It moves off its node, which dies once it has left.
TEST_F(KeptCheckpoints, AJobThatWaitsForACopyGivesItsSeatsBackOnceItsMachineIsNotHeard) {
  world_.checkpoint(job_);
  Plan plan{world_.state().round() + 1, "elastic-fifo", "test", {}, {}, {}, {}};
  plan.changes.push_back({ChangeKind::move,
                          job_,
                          Generation{2},
                          {Seat{NodeId{1}, {0}}},
                          {ReasonCode::leaves_node, {1, 1}, node_of(0)},
                          0,
                          {}});
  world_.fold(plan);
  save(1);
  world_.ended(job_);
  ASSERT_TRUE(job().forming) << "a start there would not find it";
  world_.node_down(node_of(0));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(world_.state().slots_leased(), 0);
  EXPECT_EQ(start_on(1).size(), 1U);
  world_.node_retired(node_of(0));
  EXPECT_FALSE(job().checkpoint);
  EXPECT_TRUE(start_on(1).empty());
}

TEST_F(KeptCheckpoints, WhatIsToldOfOneThatIsNotTheNewestChangesNothing) {
  const Checkpoint first = save(1);
  save(2);
  const Job before = job();
  tell_kept(first, Keeping::lost);
  tell_kept(first, Keeping::unkept, "it is too large");
  tell_kept(first, Keeping::shared);
  EXPECT_EQ(job().checkpoint, before.checkpoint);
  EXPECT_EQ(job().kept, before.kept);
}

}  // namespace
}  // namespace paceline
