#include "scheduler/departures.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "support/world.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using testing::ending;
using testing::World;

class DeparturesTest : public ::testing::Test {
 protected:
  DeparturesTest() {
    world_.checkpoint(job_);
    world_.advance(1min);
    world_.preempt(job_, world_.submit("4"), 4);
  }
  void ends(std::int32_t rank) {
    const Event event = WorkerEnded{world_.job(job_).current->process(job_, rank), ending("0")};
    departures_.follow(world_.state(), event, world_.now());
    world_.tell(event);
  }

  World world_{"1x4 cpu"};
  Departures departures_;
  JobId job_ = world_.run("2", 2);
};

TEST_F(DeparturesTest, OneThatSavesWhenItIsToldTo) {
  world_.advance(2s);
  ends(0);
  EXPECT_FALSE(departures_.of(job_)) << "a worker is there still";
  world_.advance(1s);
  world_.checkpoint(job_);
  ends(1);
  EXPECT_EQ(departures_.of(job_), (Departure{3s, true}));
}

TEST_F(DeparturesTest, OneThatDoesNot) {
  world_.advance(5s);
  ends(1);
  ends(0);
  EXPECT_EQ(departures_.of(job_), (Departure{5s, false}));
}

TEST(Departures, OfOneThatEndedByItselfNothingIsKnown) {
  World world("1x4 cpu");
  Departures departures;
  const JobId job = world.run("1", 1);
  departures.follow(world.state(),
                    WorkerEnded{world.job(job).current->process(job, 0), ending("0")}, world.now());
  EXPECT_FALSE(departures.of(job));
}

}  // namespace
}  // namespace paceline
