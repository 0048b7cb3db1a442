// Which job gives way, whatever the rule: where a policy leaves it open, settling chooses by what
// is lost.
#include "policy/settle.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "plan/reclaim.hpp"
#include "policy/elastic_fifo.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

// Of one job: would it begin anew, and how many slot-seconds would it lose?
struct Loss {
  bool anew;
  double work;
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

Loss loss_of(const World& world, const Job& job) {
  Time since = *job.current->started_at;
  if (job.checkpoint) since = std::max(since, job.checkpoint->acknowledged_at);
  const bool anew = !job.checkpoint && job.spec->elastic != Elastic::restart;
  return {anew, to_seconds(world.now() - since) * job.slots(job.current->size())};
}

// Up to nine jobs of two tenants on twelve slots that ran and saved as chance would have it.
class Crowd {
 public:
  Crowd(std::uint64_t seed, Owed owed) : rng_(seed), owed_(owed) {
    if (rng_.chance(0.7)) world_.tell(RulesSet{{span("10m")}});
    std::int64_t left = 12;
    while (left > 0 && running_.size() < 9) {
      const auto n = rng_.between(1, std::min<std::int64_t>(4, left));
      left -= n;
      const char* elastic = rng_.chance(0.3) ? " elastic=restart" : "";
      running_.push_back(world_.run(fmt::format("{} user={}{}", n, anybody(), elastic),
                                    static_cast<std::int32_t>(n)));
      world_.advance(std::chrono::seconds{rng_.between(1, 300)});
      const JobId any = running_[rng_.below(running_.size())];
      if (rng_.chance(0.5)) world_.checkpoint(any);
    }
    world_.advance(span("20s"));
    for (std::int64_t i = rng_.between(1, 3); i > 0; --i)
      waiting_.push_back(world_.submit(fmt::format("{} user={}", rng_.between(1, 6), anybody())));
  }

  // Every running job may give way to every waiting one.
  Plan round() {
    return world_.round([&](const Snapshot& snapshot, Draft& draft) {
      std::vector<Wish> wishes;
      for (const JobId id : waiting_) {
        const Job& job = world_.job(id);
        if (job.state == JobState::pending)
          wishes.push_back({&job, 0, job.range.min, job.range.min, job.range.min, owed_});
      }
      for (const JobId id : running_) {
        const Job& job = world_.job(id);
        if (job.state == JobState::running) wishes.push_back({&job, job.workers(), 0, 0, 0, owed_});
      }
      settle(snapshot, draft, {.wishes = std::move(wishes)});
    });
  }

  // Of a plan to come: a job that is stopped loses no more than one that could have given as much
  // and goes on.
  void check_stops() {
    const Snapshot before = world_.snapshot();
    std::map<JobId, Loss> losses;
    std::map<JobId, bool> guarded;
    for (const JobId id : running_) {
      const Job& job = world_.job(id);
      if (job.state != JobState::running) continue;
      losses.emplace(id, loss_of(world_, job));
      guarded[id] = must_be_asked(before, job);
    }
    const Plan plan = round();
    std::set<JobId> changed;
    for (const Change& change : plan.changes) changed.insert(change.job);
    for (const Change& change : plan.changes) {
      if (change.kind != ChangeKind::stop) continue;
      ++stops;
      const JobId starting = change.beneficiary.value_or(change.job);
      if (world_.job(change.job).spec->user != world_.job(starting).spec->user) ++between_tenants;
      EXPECT_FALSE(guarded.at(change.job)) << "job " << change.job.value;
      for (const auto& [other, loss] : losses) {
        if (changed.contains(other) || guarded.at(other)) continue;
        if (world_.job(other).range.min < world_.job(change.job).range.min) continue;
        EXPECT_LE(losses.at(change.job), loss)
            << "job " << change.job.value << " is stopped, and not job " << other.value;
      }
    }
  }

  // Until all jobs that can start have: every job that is asked gives way or saves in the end.
  void live() {
    for (int i = 0; i < 4; ++i) {
      check_stops();
      for (const auto& key : std::set(world_.state().active())) {
        const Job& job = world_.job(key.job);
        if (job.current && job.current->stop) world_.killed(key.job);
        if (job.state == JobState::starting && job.current) world_.started(key.job);
      }
      world_.advance(span("5m"));
      if (rng_.chance(0.3)) save_one();
    }
    for (const JobId id : waiting_) starts += world_.job(id).started_at ? 1 : 0;
  }

  int stops = 0, starts = 0, between_tenants = 0;

 private:
  const char* anybody() { return rng_.chance(0.5) ? "ann" : "bob"; }
  void save_one() {
    const JobId id = running_[rng_.below(running_.size())];
    if (world_.job(id).state == JobState::running) world_.checkpoint(id);
  }

  Rng rng_;
  Owed owed_;
  World world_{"1x12 cpu"};
  std::vector<JobId> running_, waiting_;
};

class SettleCrowds : public ::testing::TestWithParam<Owed> {};

TEST_P(SettleCrowds, StopTheJobThatLosesLeastOfAllThatMayGive) {
  int stops = 0, starts = 0, between_tenants = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Crowd crowd(seed, GetParam());
    crowd.live();
    stops += crowd.stops;
    starts += crowd.starts;
    between_tenants += crowd.between_tenants;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(stops, 500);
  EXPECT_GT(between_tenants, 200);
  EXPECT_GT(starts, 500) << "every job that was asked has given way after ten minutes";
}

INSTANTIATE_TEST_SUITE_P(All, SettleCrowds, ::testing::Values(Owed::yes, Owed::no),
                         [](const auto& tested) {
                           return tested.param == Owed::yes ? "Owed" : "Unprotected";
                         });

// Nothing comes free by its leaving; another could give what is asked for.
TEST(Settle, AJobOnAMachineThatIsNotHeardIsNoGiver) {
  World world("2x2 cpu", "fifo");
  const JobId gone = world.run("2", 2);
  const JobId giver = world.run("2", 2);
  world.advance(span("1h"));
  world.checkpoint(gone);
  world.node_down(
      world.state().find_node(world.job(gone).current->workers[0].seat.node)->spec.name);
  const JobId urgent = world.submit("2");
  world.round([&](const Snapshot& snapshot, Draft& draft) {
    std::vector<Wish> wishes{{&world.job(urgent), 0, 2, 2, 2, Owed::yes}};
    for (const JobId id : {giver, gone}) wishes.push_back({&world.job(id), 2, 0, 0, 0, Owed::yes});
    settle(snapshot, draft, {.wishes = std::move(wishes)});
  });
  EXPECT_EQ(world.job(giver).state, JobState::stopping);
  EXPECT_EQ(world.job(urgent).state, JobState::starting);
  EXPECT_EQ(world.job(gone).state, JobState::running);
}

// It has no more than its share, which counts slots that the waiting job can't use.
TEST(Settle, AJobThatComesUpIsAwaitedByOneThatItCouldMakeRoomFor) {
  World world("1x4 cpu; 1x12 h100");
  const JobId comes_up = world.submit("1..12 devices=h100 elastic=restart");
  world.round();
  EXPECT_EQ(world.job(comes_up).planned_workers(), 12);
  const JobId waits = world.submit("4 devices=h100");
  const auto awaited = [&] {
    std::vector<JobId> starts;
    world.round([&](const Snapshot& snapshot, Draft& draft) {
      ElasticFifo().decide(snapshot, draft);
      starts = draft.awaited().starts;
    });
    return starts;
  };
  EXPECT_THAT(awaited(), ::testing::Contains(comes_up));
  world.started(comes_up);
  EXPECT_THAT(awaited(), ::testing::IsEmpty());
  EXPECT_EQ(world.job(waits).planned_workers(), 4);
}

// With fewer seats left than it would keep it gives less than none: what others give is enough.
TEST(Settle, AJobWhoseSlotsAreGoneTakesNothingFromWhatOthersGive) {
  World world("2x4 cpu", "fifo");
  const JobId shrinks = world.run("1..4 elastic=restart", 4);
  const JobId giver = world.run("4", 4);
  world.advance(span("1h"));
  world.checkpoint(shrinks);
  world.checkpoint(giver);
  const NodeId node = world.job(shrinks).current->workers[0].seat.node;
  NodeSpec spec = world.state().find_node(node)->spec;
  spec.slots.resize(1);
  world.tell(NodeUp{node, spec});
  const JobId urgent = world.submit("4");
  world.round([&](const Snapshot& snapshot, Draft& draft) {
    std::vector<Wish> wishes{{&world.job(urgent), 0, 4, 4, 4, Owed::yes}};
    wishes.push_back({&world.job(shrinks), 4, 2, 2, 2, Owed::yes});
    wishes.push_back({&world.job(giver), 4, 0, 0, 0, Owed::yes});
    settle(snapshot, draft, {.wishes = std::move(wishes)});
  });
  EXPECT_EQ(world.job(giver).state, JobState::stopping);
  EXPECT_EQ(world.job(urgent).state, JobState::starting);
}

}  // namespace
}  // namespace paceline
