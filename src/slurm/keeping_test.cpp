#include "slurm/keeping.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::VariantWith;

const PilotSettings kFour{
    .nodes_max = 4, .time = minutes{60}, .gres = "gpu:4", .idle = minutes{10}};

KnownPilot pending(std::uint64_t job) {
  return {.invitation = static_cast<std::uint32_t>(job),
          .pilot = Pilot{.job = job, .slurm_state = "PENDING", .reason = "Priority"}};
}

KnownPilot running(std::uint64_t job,
                   PilotNode node = {.name = "n", .up = true, .busy = true, .slots = 4}) {
  return {.invitation = static_cast<std::uint32_t>(job),
          .pilot = Pilot{.job = job, .state = PilotState::running, .slurm_state = "RUNNING"},
          .node = std::move(node)};
}

TEST(Keeping, AsksForAsManyNodesAsWaitingWorkCouldUse) {
  EXPECT_EQ(pilots_wanted({.wanted = 9, .there = 0}, kFour), 3U);
  EXPECT_EQ(pilots_wanted({.wanted = 9, .there = 4}, kFour), 2U);
  EXPECT_EQ(pilots_wanted({.wanted = 4, .there = 4}, kFour), 0U);
  EXPECT_EQ(pilots_wanted({.wanted = 900, .there = 0}, kFour), 4U);
}

TEST(Keeping, WhatComesIsNotAskedForAgain) {
  EXPECT_THAT(reconcile({.settings = kFour, .demand = {.wanted = 8}}),
              ElementsAre(VariantWith<AskFor>(AskFor{2})));
  EXPECT_THAT(reconcile({.settings = kFour, .demand = {.wanted = 8}, .pilots = {pending(7)}}),
              ElementsAre(VariantWith<AskFor>(AskFor{1})));
  EXPECT_THAT(
      reconcile({.settings = kFour, .demand = {.wanted = 8}, .pilots = {pending(7), pending(8)}}),
      IsEmpty());
}

TEST(Keeping, APilotThatWasAskedForAMomentAgoComes) {
  EXPECT_THAT(
      reconcile({.settings = kFour, .demand = {.wanted = 4}, .pilots = {{.invitation = 7}}}),
      IsEmpty());
}

TEST(Keeping, OneThatSlurmDoesNotListIsOverAfterAWhile) {
  EXPECT_THAT(
      reconcile({.settings = kFour, .pilots = {{.invitation = 7, .asked_for = kListedWithin}}}),
      ElementsAre(VariantWith<CountOver>(CountOver{7, "which Slurm knows no more", false})));
}

TEST(Keeping, NeverMoreThanTheBound) {
  EXPECT_THAT(reconcile({.settings = kFour,
                         .demand = {.wanted = 100, .there = 12},
                         .pilots = {running(1), running(2), running(3)}}),
              ElementsAre(VariantWith<AskFor>(AskFor{1})));
  EXPECT_THAT(reconcile({.settings = kFour, .demand = {.wanted = 100}, .may_ask = false}),
              IsEmpty());
}

// Of seed 20029681: somebody undrains a node while another is asked for in its stead.
TEST(Keeping, WhatWaitsBeyondTheBoundIsTakenBack) {
  EXPECT_THAT(reconcile({.settings = kFour,
                         .demand = {.wanted = 100, .there = 12},
                         .pilots = {running(1), running(2), running(3), pending(7), pending(8)}}),
              ElementsAre(VariantWith<GiveBack>(GiveBack{8})));
}

TEST(Keeping, AnotherIsAskedForBeforeOneDrainsAway) {
  auto leaving =
      running(1, {.name = "n1", .up = true, .draining = true, .begun = true, .busy = true});
  EXPECT_THAT(reconcile({.settings = {.nodes_max = 1, .gres = "gpu:4"},
                         .demand = {.wanted = 4},
                         .pilots = {leaving}}),
              ElementsAre(VariantWith<AskFor>(AskFor{1})));
}

TEST(Keeping, WhatIsNotWantedAnyMoreIsTakenBackBeforeItStarts) {
  EXPECT_THAT(reconcile({.settings = kFour,
                         .demand = {.wanted = 4},
                         .pilots = {pending(7), pending(9), pending(8)}}),
              ElementsAre(VariantWith<GiveBack>(GiveBack{9}), VariantWith<GiveBack>(GiveBack{8})));
}

TEST(Keeping, OneThatWaitsInVainIsGivenBackForAnother) {
  auto requeued = pending(7), outdated = pending(8);
  requeued.node = PilotNode{.name = "n1", .busy = true, .slots = 4};
  requeued.requeued = outdated.outdated = true;
  EXPECT_THAT(reconcile({.settings = {.nodes_max = 1, .gres = "gpu:4"},
                         .demand = {.wanted = 4},
                         .pilots = {requeued, outdated}}),
              ElementsAre(VariantWith<GiveBack>(GiveBack{7}), VariantWith<GiveBack>(GiveBack{8}),
                          VariantWith<AskFor>(AskFor{1})));
  requeued.pilot->state = PilotState::over;
  requeued.pilot->slurm_state = "CANCELLED";
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {requeued}}),
              ElementsAre(VariantWith<CountOver>(CountOver{7, "job 7, requeued", true})));
}

TEST(Keeping, AnIdleNodeDrainsAndIsThenGivenBack) {
  const PilotNode idle{.name = "n1", .up = true, .idle_for = minutes{10}, .slots = 4};
  EXPECT_THAT(reconcile({.settings = kFour, .demand = {.there = 4}, .pilots = {running(1, idle)}}),
              ElementsAre(VariantWith<DrainPilot>(
                  DrainPilot{"n1", "nothing runs there, and nothing waits for it", {}, {}})));
  EXPECT_THAT(reconcile({.settings = kFour,
                         .demand = {.needed = 1, .wanted = 1, .there = 4},
                         .pilots = {running(1, idle)}}),
              IsEmpty());
  auto drained = idle;
  drained.draining = drained.begun = true;
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {running(1, drained)}}),
              ElementsAre(VariantWith<GiveBack>(GiveBack{1})));
}

TEST(Keeping, ADrainIsAnnouncedThatEndsBeforeTheTimeLimit) {
  auto pilot = running(1);
  pilot.pilot->time_left = minutes{50};
  EXPECT_THAT(
      reconcile({.settings = kFour, .demand = {.wanted = 4, .there = 4}, .pilots = {pilot}}),
      ElementsAre(VariantWith<DrainPilot>(
          DrainPilot{"n", "Slurm's time limit of pilot job 1", minutes{35}, minutes{47}})));
  pilot.node->draining = true;
  EXPECT_THAT(
      reconcile({.settings = kFour, .demand = {.wanted = 4, .there = 4}, .pilots = {pilot}}),
      IsEmpty());
}

TEST(Keeping, TheReasonOfSlurmIsTold) {
  auto gone = running(8123);
  gone.pilot->state = PilotState::over;
  gone.pilot->slurm_state = "PREEMPTED";
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {gone}}),
              ElementsAre(VariantWith<CountOver>(CountOver{8123, "job 8123, PREEMPTED", true})));
  gone.pilot->state = PilotState::ending;
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {gone}}), IsEmpty())
      << "as long as its processes may be there, its workers may run";
}

// What may still run starts nowhere else.
TEST(Keeping, APilotThatSlurmLostIsLeftToItsLease) {
  auto failed = running(5);
  failed.pilot->state = PilotState::over;
  failed.pilot->slurm_state = "NODE_FAIL";
  auto forgotten = running(6);
  forgotten.pilot.reset();
  forgotten.asked_for = kListedWithin;
  EXPECT_THAT(
      reconcile({.settings = kFour, .pilots = {failed, forgotten}}),
      ElementsAre(VariantWith<LeaveToLease>(LeaveToLease{"n", "job 5, NODE_FAIL"}),
                  VariantWith<LeaveToLease>(LeaveToLease{"n", "which Slurm knows no more"})));
  failed.node->begun = true;
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {failed}}), IsEmpty());
  failed.node->busy = false;
  EXPECT_THAT(reconcile({.settings = kFour, .pilots = {failed}}),
              ElementsAre(VariantWith<CountOver>(CountOver{5, "job 5, NODE_FAIL", true})));
}

TEST(Keeping, WhoLeavesSlurmGivesEverythingBack) {
  auto started = running(3);
  started.node.reset();
  EXPECT_THAT(
      reconcile({.settings = kFour,
                 .demand = {.wanted = 100},
                 .pilots = {pending(1), running(2), started},
                 .leaving = true}),
      ElementsAre(VariantWith<GiveBack>(GiveBack{1}),
                  VariantWith<DrainPilot>(DrainPilot{"n", "Slurm is left", {}, kLeavesWithin}),
                  VariantWith<GiveBack>(GiveBack{3})));
}

}  // namespace
}  // namespace paceline
