#include "app/background.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "api/world_testing.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::differences;
using ::testing::IsEmpty;

TEST(Background, WorksUntilNothingIsLeft) {
  std::atomic<int> left = 1'000;
  std::latch done(1);
  Background background([&] {
    if (left == 0) return false;
    if (--left == 0) done.count_down();
    return true;
  });
  background.wake();
  done.wait();
  EXPECT_EQ(left, 0);
}

TEST(Background, MissesNoWakeFromAnyThread) {
  constexpr std::ptrdiff_t kPieces = 1'000;
  constexpr std::ptrdiff_t kThreads = 4;
  std::atomic<int> left = 0;
  std::latch done(kPieces * kThreads);
  Background background([&] {
    if (left == 0) return false;
    --left;
    done.count_down();
    return true;
  });
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::ptrdiff_t piece = 0; piece < kPieces; ++piece) {
        ++left;
        background.wake();
      }
    });
  }
  done.wait();
  EXPECT_EQ(left, 0);
}

TEST(Background, EndsWithWorkLeft) {
  std::latch begun(1);
  std::atomic<bool> first = true;
  {
    Background background([&] {
      if (first.exchange(false)) begun.count_down();
      return true;
    });
    background.wake();
    begun.wait();
  }
  SUCCEED() << "it would not come back";
}

// ---- a trial whose two sides are on two threads, as in the program ----

// The one that asks for least comes first; counts its rounds.
constexpr const char* kSmallestFirst = R"(-- The smallest first.
function decide(cluster)
  remember("rounds", tostring((tonumber(recall("rounds")) or 0) + 1))
  local plan, free = {}, cluster.free
  for _, job in ipairs(by("want", cluster.waiting)) do
    free = free - job.want * job.slots_per_worker
    if free < 0 then break end
    plan[#plan + 1] = {job = job, workers = job.want, reason = "it is small"}
  end
  return plan
end)";

class TrialInTheBackground : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options.coalesce = {};
    options.read_beside = [file = scratch.database()] {
      return SqliteStore::open_to_read(file).and_then([](auto read) { return read->load(); });
    };
    controller.emplace(*store, engine, clock, policies, options);
    background.emplace([this] {
      const bool did = controller->shadow().work();
      if (did && ++pieces == 1) pieces.notify_all();
      return did;
    });
    controller->shadow().on_work([this] { background->wake(); });
    ASSERT_TRUE(controller->recover());
    step();
    controller->desk().load("mine", kSmallestFirst, {}, [](const Result<void>& done) {
      EXPECT_TRUE(done) << done.error().message;
    });
    step();
  }

  void step() {
    ASSERT_TRUE(controller->step());
    clock.advance(std::chrono::seconds{1});
  }

  void submit(std::uint32_t n) {
    static constexpr std::array kSizes = {"1..1", "1..4", "2..2", "3..8"};
    Submission submission{testing::job(kSizes[n % kSizes.size()]), {}, {}};
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller->submit(std::move(submission), [](const Result<JobId>& id) { EXPECT_TRUE(id); });
    step();
  }

  // The first job that runs is done.
  void end_one() {
    const State& state = controller->state();
    for (const auto& key : state.active()) {
      const Job& job = state.job(key.job);
      if (job.state != JobState::running) continue;
      for (std::int32_t rank = 0; rank < job.current->size(); ++rank)
        engine.end({job.id, job.current->generation, rank}, 0, clock.now());
      return step();
    }
  }

  void day(std::uint32_t jobs) {
    for (std::uint32_t n = 0; n < jobs; ++n) {
      submit(n);
      if (n % 3 != 0) end_one();
      (void)controller->shadow().report();
    }
  }

  void try_policy(const std::string& name) {
    controller->desk().try_out({name, {}}, {}, [](const Result<void>& done) {
      EXPECT_TRUE(done) << done.error().message;
    });
    step();
    pieces.wait(0);
  }

  // What the other thread left is done here.
  void catch_up() {
    controller->shadow().on_work({});
    background.reset();
    submit(0);  // hands over what could not be handed over while the other thread had the lock
    while (controller->shadow().work()) {
    }
  }

  Scratch scratch;
  std::unique_ptr<SqliteStore> store = SqliteStore::open(scratch.dir()).value();
  InstantEngine engine{8};
  ManualClock clock{time_from_us(1'000'000'000)};
  LuaEngine scripts;
  PolicyRegistry policies{&scripts};
  Controller::Options options;
  std::optional<Controller> controller;
  std::atomic<int> pieces = 0;  // that the other thread did
  std::optional<Background> background;
};

TEST_P(TrialInTheBackground, FollowsTheLiveSide) {
  try_policy(GetParam());
  day(100);
  catch_up();
  const ShadowReport report = *controller->shadow().report();
  EXPECT_GT(report.rounds, 0U);
  EXPECT_GE(report.rounds + report.skipped, 100U);
  EXPECT_EQ(report.failed, 0U) << report.failure;
  EXPECT_THAT(differences(controller->shadow().state(), controller->state()), IsEmpty());
}

TEST_P(TrialInTheBackground, IsReplacedEditedAndPromotedWhileItIsAtWork) {
  const auto well = [](const Result<void>& done) { EXPECT_TRUE(done) << done.error().message; };
  for (int i = 0; i < 10; ++i) {
    try_policy(GetParam());
    day(5);
    controller->desk().load("mine", fmt::format("{}\n-- edition {}", kSmallestFirst, i), {}, well);
    day(5);
    if (i % 3 == 0) controller->desk().end_trial({}, well);
    if (i % 3 == 1) controller->desk().promote({}, well);
    step();
  }
  try_policy(GetParam());
  day(5);
  catch_up();
  EXPECT_EQ(controller->shadow().report()->failed, 0U);
  EXPECT_THAT(differences(controller->shadow().state(), controller->state()), IsEmpty());
}

std::string candidate_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param == std::string_view("mine") ? "Lua" : info.param;
}

INSTANTIATE_TEST_SUITE_P(Candidates, TrialInTheBackground, ::testing::Values("srtf", "mine"),
                         candidate_name);

}  // namespace
}  // namespace paceline
