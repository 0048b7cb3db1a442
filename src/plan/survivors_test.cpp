// Processes that go on in the next generation of their job, with other ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.hpp"
#include "plan/assemble.hpp"
#include "plan/check.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

// A job whose two workers run in the slots 0 and 1 of a node with four.
class Survivors : public ::testing::Test {
 protected:
  Survivors() { job_ = world_.run("1..4 elastic=restart retry=1 grace=10s", 2); }

  static Seat seat(std::uint32_t slot) { return {NodeId{0}, {slot}}; }
  [[nodiscard]] ProcessKey born(std::uint32_t generation, std::int32_t number) const {
    return {job_, Generation{generation}, number};
  }
  [[nodiscard]] const Job& job() const { return world_.job(job_); }
  [[nodiscard]] const Slot& slot(std::uint32_t index) const {
    return world_.state().slot({NodeId{0}, index});
  }
  [[nodiscard]] std::vector<ProcessKey> processes() const {
    std::vector<ProcessKey> all;
    for (std::int32_t rank = 0; rank < job().current->size(); ++rank)
      all.push_back(job().current->process(job_, rank));
    return all;
  }
  void ends(const ProcessKey& process, const Ending& how) {
    Ending e = how;
    e.at = world_.now();
    world_.tell(WorkerEnded{process, e});
  }
  static Ending told(Cause cause) {
    Ending e = ending("signal 15");
    e.cause = cause;
    return e;
  }

  // Three workers: the first two change places, and rank 1 is new.
  void grow() {
    world_.resize_in_place(job_, {seat(1), seat(2), seat(0)}, {{born(1, 0), 2}, {born(1, 1), 0}});
  }
  // One worker: rank 0 leaves.
  void shrink() { world_.resize_in_place(job_, {seat(1)}, {{born(1, 1), 0}}); }

  World world_{"1x4 box"};
  JobId job_;
};

TEST_F(Survivors, KeepNameSlotsAndPidWhenTheirRanksChange) {
  grow();
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 1), born(2, 2), born(1, 0)));
  EXPECT_EQ(slot(0).lease, (Lease{born(1, 0), false}));
  EXPECT_EQ(slot(1).lease, (Lease{born(1, 1), false}));
  EXPECT_EQ(slot(2).lease, (Lease{born(2, 2), false}));
  EXPECT_EQ(job().current->workers[2].pid, 4000);
  EXPECT_EQ(job().leased, 3);
  EXPECT_EQ(job().attempt, 1) << "an attempt lasts as long as a worker survives";
  EXPECT_EQ(job().state, JobState::resizing);
  world_.tell(WorkerStarted{born(2, 2), 4711});
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->workers[1].pid, 4711);
  EXPECT_EQ(job().bill, Bill{}) << "no work is lost";
}

TEST_F(Survivors, AreStartedNoSecondTime) {
  grow();
  world_.tell(WorkerStarted{born(1, 0), 9999});
  EXPECT_EQ(job().current->workers[2].pid, 4000);
  EXPECT_EQ(job().state, JobState::resizing) << "the newcomer does not run yet";
}

TEST_F(Survivors, SpeakForTheGenerationThatTheyAreIn) {
  grow();
  Progress report;
  report.step = 7;
  world_.tell(Progressed{job_, Generation{1}, report});
  EXPECT_FALSE(job().progress) << "nobody is of that generation any more";
  world_.tell(Progressed{job_, Generation{2}, report});
  EXPECT_EQ(job().progress->step, 7U);
}

TEST_F(Survivors, EndTheGangThatTheyAreIn) {
  grow();
  world_.tell(WorkerStarted{born(2, 2), 4711});
  ends(born(1, 0), ending("1"));
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(job().current->workers[2].state, WorkerState::ended);
  EXPECT_EQ(job().current->stop->cause, Cause::gang_failed);
  EXPECT_FALSE(slot(0).lease) << "its slot is free";
  ends(born(1, 1), told(Cause::gang_failed));
  ends(born(2, 2), told(Cause::gang_failed));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
  EXPECT_EQ(world_.state().slots_leased(), 0);
}

TEST_F(Survivors, CompleteTheirJob) {
  grow();
  world_.started(job_);
  world_.ended(job_);
  EXPECT_EQ(job().state, JobState::completed);
}

TEST_F(Survivors, GoOnOnceTheLeaversAreGone) {
  shrink();
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().current->generation, Generation{1});
  EXPECT_EQ(slot(0).lease, (Lease{born(1, 0), true}));
  EXPECT_EQ(slot(1).lease, (Lease{born(1, 1), false})) << "it stays";
  ends(born(1, 0), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::running) << "nobody is to be started";
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_FALSE(job().current->stop);
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 1)));
  EXPECT_EQ(job().leased, 1);
  EXPECT_FALSE(slot(0).lease);
}

TEST_F(Survivors, GoOnHoweverSomebodyLeft) {
  shrink();
  ends(born(1, 0), ending("1"));
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{2});
}

TEST_F(Survivors, WaitForASlotThatAnotherProcessOfTheirsLeaves) {
  world_.resize_in_place(job_, {seat(1), seat(0)}, {{born(1, 1), 0}});
  EXPECT_EQ(slot(0).promise, born(2, 2)) << "0 and 1 are numbers of processes that live";
  ends(born(1, 0), told(Cause::resized));
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(slot(0).lease, (Lease{born(2, 2), false}));
  EXPECT_EQ(job().state, JobState::resizing);
  world_.tell(WorkerStarted{born(2, 2), 1});
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(Survivors, ThatEndBeforeTheyGoOnEndTheGangTheyWereIn) {
  shrink();
  ends(born(1, 1), ending("1"));
  EXPECT_FALSE(job().forming);
  EXPECT_EQ(job().current->stop->cause, Cause::gang_failed);
  ends(born(1, 0), told(Cause::gang_failed));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
}

TEST_F(Survivors, ThatAreDoneBeforeTheyGoOnEndItForTheOthersToo) {
  grow();
  world_.started(job_);
  world_.resize_in_place(job_, {seat(0), seat(1)}, {{born(1, 0), 0}, {born(1, 1), 1}});
  EXPECT_FALSE(slot(1).lease->ending);
  ends(born(1, 0), ending("0"));
  EXPECT_FALSE(job().forming);
  EXPECT_TRUE(slot(1).lease->ending) << "the stop is for all of them again";
  EXPECT_FALSE(job().goes_on(0));
  ends(born(1, 1), told(Cause::resized));
  ends(born(2, 2), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::pending);
}

TEST_F(Survivors, MayOnlyChangePlaces) {
  world_.resize_in_place(job_, {seat(1), seat(0)}, {{born(1, 0), 1}, {born(1, 1), 0}});
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(job().current->rank_of(born(1, 0)), 1);
}

TEST_F(Survivors, AreStoppedWithTheRestIfTheirJobIsCancelled) {
  shrink();
  world_.cancel(job_);
  EXPECT_FALSE(job().forming);
  EXPECT_TRUE(slot(0).lease->ending);
  EXPECT_TRUE(slot(1).lease->ending);
  world_.killed(job_);
  EXPECT_EQ(job().state, JobState::cancelled);
}

TEST_F(Survivors, AreRequeuedWithTheirJobIfTheirNodeIsLost) {
  grow();
  world_.started(job_);
  world_.node_lost(world_.state().nodes()[0].spec.name);
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 0);
}

TEST_F(Survivors, MaySurviveAgain) {
  grow();
  world_.tell(WorkerStarted{born(2, 2), 4711});
  world_.resize_in_place(job_, {seat(0), seat(2)}, {{born(1, 0), 0}, {born(2, 2), 1}});
  ends(born(1, 1), told(Cause::resized));
  EXPECT_EQ(job().current->generation, Generation{3});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 0), born(2, 2)));
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(Survivors, AreThereAgainInAStateFromItsParts) {
  grow();
  const auto again = assemble(world_.state().parts());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(testing::differences(world_.state(), *again), IsEmpty());
}

TEST_F(Survivors, AreNotBelievedToBeInTwoRanksOrOfAnotherJob) {
  grow();
  StateParts twice = world_.state().parts();
  twice.nodes[0].slots[2].lease.reset();
  twice.jobs.at(JobId{1}).current->workers[1].process = born(1, 0);
  EXPECT_THAT(assemble(twice).error().message, HasSubstr("or one in two ranks"));
  StateParts other = world_.state().parts();
  other.nodes[0].slots[2].lease.reset();
  other.jobs.at(JobId{1}).current->workers[1].process->job = JobId{9};
  EXPECT_THAT(assemble(other).error().message, HasSubstr("a process of another job"));
}

TEST_F(Survivors, MustBeWorkersThatRunAndStayWhereTheyAre) {
  const auto wrong = [&](const Placement& seats, const std::vector<Survivor>& survivors) {
    Change change{
        ChangeKind::move, job_, Generation{2}, seats, {ReasonCode::grows, {2, 2}, {}}, 0, {},
        survivors};
    return violations(world_.snapshot(), {1, "fifo", "", {change}, {}, {}, {}});
  };
  const Survivor first{born(1, 0), 0}, second{born(1, 1), 1};
  EXPECT_THAT(wrong({seat(0), seat(1)}, {first, second}), IsEmpty());
  EXPECT_THAT(wrong({seat(0), seat(1)}, {{born(2, 0), 0}}),
              Contains("job 1 is to go on with a worker it has not"));
  EXPECT_THAT(wrong({seat(0), seat(1)}, {{born(1, 0), 2}}),
              Contains("job 1 is to go on with a worker it has not"));
  EXPECT_THAT(wrong({seat(2), seat(1)}, {first}),
              Contains("worker 0 of job 1 is to go on elsewhere, or does not run"));
  EXPECT_THAT(wrong({seat(0), seat(1)}, {first, first}),
              Contains("worker 0 of job 1 is to go on twice"));
  const JobId waits = world_.submit("1..1");
  Change start{
      ChangeKind::start, waits, Generation{1}, {seat(3)}, {ReasonCode::starts, {1}, {}}, 0, {}};
  start.survivors = {{{waits, Generation{1}, 0}, 0}};
  EXPECT_THAT(violations(world_.snapshot(), {1, "fifo", "", {start}, {}, {}, {}}),
              Contains("job 2 is to go on with a worker it has not"));
}

// ---- whatever happens ----

// One job whose gangs change in place and otherwise, in a world that checks its state at every
// entry.
class RandomGangs {
 public:
  explicit RandomGangs(std::uint64_t seed) : rng_(seed) {
    job_ = world_.run("1..4 elastic=restart retry=9 grace=10s", 2);
    note_born();
  }

  void run() {
    for (int i = 0; i < 40; ++i) step();
    if (!is_over(job().state)) world_.cancel(job_);
    while (job().current) end_one(Cause::cancelled);
    EXPECT_TRUE(is_over(job().state));
    EXPECT_EQ(world_.state().slots_leased(), 0);
  }
  int in_place = 0;  // changes

 private:
  [[nodiscard]] const Job& job() const { return world_.job(job_); }

  void step() {
    world_.advance(testing::span("20s"));
    if (is_over(job().state)) return;
    if (job().state == JobState::pending) return start_again();
    switch (rng_.below(6)) {
      case 0:
        return end_one(rng_.chance(0.3) ? Cause::exited : Cause::preempted);
      case 1:
      case 2:
        return start_some();
      default:
        return change();
    }
  }
  void start_again() {
    world_.advance(testing::span("1h"));
    world_.start(job_, 2);
    note_born();
  }
  void start_some() {
    if (!job().current) return;
    if (rng_.chance(0.6)) return world_.started(job_);
    const auto rank = static_cast<std::int32_t>(rng_.below(job().current->workers.size()));
    world_.tell(WorkerStarted{job().current->process(job_, rank), 1});
  }
  // Those that are told to go first; others fail.
  void end_one(Cause cause) {
    std::vector<std::int32_t> alive;
    for (std::int32_t rank = 0; job().current && rank < job().current->size(); ++rank) {
      const auto& worker = job().current->workers[static_cast<std::size_t>(rank)];
      if (worker.state != WorkerState::ended) alive.push_back(rank);
    }
    if (alive.empty()) return;
    Ending how = ending(rng_.chance(0.1) ? "0" : "1");
    if (job().current->stop) how.cause = cause;
    how.at = world_.now();
    const std::int32_t rank = alive[rng_.below(alive.size())];
    world_.tell(WorkerEnded{job().current->process(job_, rank), how});
    note_born();
  }
  // Survivors and newcomers in whatever order.
  void change() {
    if (job().state != JobState::running) return;
    Placement seats;
    std::vector<Survivor> survivors;
    std::vector<std::pair<std::uint32_t, std::optional<ProcessKey>>> fillers;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      const auto& lease = world_.state().slot({NodeId{0}, slot}).lease;
      if (rng_.chance(lease ? 0.7 : 0.3)) {
        const bool stays = lease && rng_.chance(0.8);
        fillers.emplace_back(slot, stays ? std::optional(lease->worker) : std::nullopt);
      }
    }
    for (std::size_t i = fillers.size(); i > 1; --i)
      std::swap(fillers[i - 1], fillers[rng_.below(i)]);
    for (const auto& [slot, process] : fillers) {
      if (process) survivors.push_back({*process, static_cast<std::int32_t>(seats.size())});
      seats.push_back({NodeId{0}, {slot}});
    }
    const Generation before = job().last_generation;
    try {
      world_.resize_in_place(job_, seats, survivors);
    } catch (const std::invalid_argument&) {
      EXPECT_EQ(job().last_generation, before) << "a change that is refused changes nothing";
      return;
    }
    in_place += survivors.empty() ? 0 : 1;
    note_born();
  }
  // No name is given twice, and no two that live share a number.
  void note_born() {
    if (!job().current) return;
    std::set<std::int32_t> numbers;
    for (std::int32_t rank = 0; rank < job().current->size(); ++rank) {
      const ProcessKey process = job().current->process(job_, rank);
      const auto& worker = job().current->workers[static_cast<std::size_t>(rank)];
      EXPECT_EQ(job().current->rank_of(process), rank);
      EXPECT_TRUE(worker.state == WorkerState::ended || numbers.insert(process.number).second);
      const bool own = process.born == job().current->generation;
      const bool known = !born_.insert(process).second;
      EXPECT_TRUE(own || known) << "a process that goes on was there before";
    }
  }

  Rng rng_;
  World world_{"1x6 box"};
  JobId job_;
  std::set<ProcessKey> born_;
};

TEST(RandomSurvivors, LeaveAStateThatIsWholeWhateverHappens) {
  int in_place = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomGangs gangs(seed);
    ASSERT_NO_THROW(gangs.run());
    in_place += gangs.in_place;
  }
  EXPECT_GT(in_place, 1'000);
}

}  // namespace
}  // namespace paceline
