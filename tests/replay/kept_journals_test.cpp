// Databases that versions of before wrote, as they left them when they were killed: each opens, is
// replayed, and a server goes on from it. tests/replay/kept/schema_N.sql is one as text; whoever
// changes the schema keeps one of the schema before, and whoever changes the rules of the fold one of
// the rules before, as rules_N.sql.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <sstream>

#include "app/faults.hpp"
#include "clock/manual/manual_clock.hpp"
#include "faults/log_tap.hpp"
#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "scheduler/controller.hpp"
#include "sim/replay/replay.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeafEngine final : public Engine {
 public:
  Observed observe() override { return {}; }
  void committed() override {}
  void act(const State&, std::span<const JobId>) override {}
  void on_news(std::function<void()>) override {}
};

class KeptJournal : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    std::ifstream file(std::string("tests/replay/kept/") + GetParam());
    ASSERT_TRUE(file.is_open());
    std::stringstream text;
    text << file.rdbuf();
    SQLite::Database(scratch_.database(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec(text.str());
  }
  std::unique_ptr<SqliteStore> open() {
    auto opened = SqliteStore::open(scratch_.dir());
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static void submit_next(Controller& controller) {
    const JobId next = controller.state().next_job_id();
    std::optional<Result<JobId>> told;
    Submission submission;
    submission.spec.name = "next";
    submission.spec.uid = 1000;
    submission.launch.command = {"true"};
    submission.launch.directory = "/";
    controller.submit(std::move(submission), [&](Result<JobId> id) { told = std::move(id); });
    ASSERT_TRUE(controller.step());
    ASSERT_TRUE(told && *told) << (told ? told->error().message : "nobody answered");
    EXPECT_EQ(**told, next);
  }

  Scratch scratch_;
};

TEST_P(KeptJournal, OpensAndIsTheFoldOfItsEntries) {
  const auto store = open();
  const auto state = store->load();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_GT(state->jobs().given(), 0U);
  State fold;
  const auto entries = store->entries(1, 10'000);
  for (const Entry& entry : *entries) {
    apply(fold, entry);
    EXPECT_EQ(fold.misfit(), "") << entry.seq;
  }
  EXPECT_EQ(fold.parts(), state->parts());
  EXPECT_THAT(check_state(*state), IsEmpty());
}

TEST_P(KeptJournal, IsReplayed) {
  const auto store = open();
  const auto replayed = replay(*store, fault_kit().policies);
  ASSERT_TRUE(replayed) << replayed.error().message;
  if (const auto& found = replayed->difference)
    ADD_FAILURE() << "entry " << found->seq << "\n" << found->recorded << "\n" << found->replayed;
  EXPECT_GT(replayed->plans, 0U);
}

TEST_P(KeptJournal, GoesOn) {
  const auto store = open();
  DeafEngine engine;
  ManualClock clock{store->load()->at()};
  const PolicyRegistry policies;
  Controller controller(*store, engine, clock, policies, {.build = "test"});
  ASSERT_TRUE(controller.recover());
  submit_next(controller);
  ASSERT_TRUE(controller.checkpoint());
  EXPECT_EQ(store->load()->parts(), controller.state().parts());
}

// When each job that was forgotten ended is known by then, so that it can be dropped.
TEST_P(KeptJournal, LetsGoOfWhatItForgot) {
  const auto store = open();
  const auto forgotten = store->forgotten(JobId{1}, 100).value();
  const auto first = store->first_ended(Kept::whole).value();
  ASSERT_EQ(first.has_value(), !forgotten.empty());
  for (const Job& job : forgotten) {
    EXPECT_EQ(store->remains(job.id).value()->ended_at, job.ended_at);
    EXPECT_LE(first->at, *job.ended_at);
    EXPECT_TRUE(store->thin(job.id).value());
    EXPECT_TRUE(store->drop(job.id, store->load()->at()).value());
  }
  EXPECT_EQ(store->first_ended(Kept::whole).value(), std::nullopt);
}

// A newer program wrote plans by other rules, and its workers acted on them; then this one is started again.
TEST_P(KeptJournal, PassesOverPlansOfOtherRulesAndWhatFollowedThem) {
  const auto store = open();
  const State before = *store->load();
  const auto known = std::ranges::find_if(
      before.jobs(), [](const Job& job) { return job.started_at.has_value(); });
  ASSERT_NE(known, before.jobs().end());
  Plan plan{before.round() + 1, before.policy()->name, "newer", {}, {}, {}, {}};
  Change start;
  start.kind = ChangeKind::start;
  start.job = known->id;
  start.generation = Generation{900};
  start.placement = {Seat{NodeId{0}, {0}}};
  plan.changes.push_back(start);
  Entry first{before.seq() + 1, before.at(), plan};
  first.began.emplace().rules = kFoldRules + 1;
  const ProcessKey worker{known->id, Generation{900}, 0};
  Ending ended;
  ended.cause = Cause::exited;
  Batch batch;
  batch.entries = {first,
                   {before.seq() + 2, before.at(), WorkerStarted{worker, 4711}},
                   {before.seq() + 3, before.at(), WorkerEnded{worker, ended}}};
  ASSERT_TRUE(store->append(batch));

  std::vector<std::string> heard;
  const faults::LogTap tap;
  const faults::LogTap::Listening listening(
      [&](std::string_view line) { heard.emplace_back(line); });
  DeafEngine engine;
  ManualClock clock{before.at()};
  const PolicyRegistry policies;
  Controller controller(*store, engine, clock, policies, {.build = "test"});
  ASSERT_TRUE(controller.recover());
  EXPECT_THAT(heard, Contains(HasSubstr(fmt::format("entry {}", before.seq() + 1))));
  EXPECT_EQ(controller.state().job(known->id).state, known->state);
  EXPECT_THAT(check_state(controller.state()), IsEmpty());
  ASSERT_TRUE(controller.step());
  EXPECT_TRUE(store->load());
}

INSTANTIATE_TEST_SUITE_P(Kept, KeptJournal,
                         ::testing::Values("schema_7.sql", "schema_8.sql", "schema_9.sql",
                                           "rules_1.sql", "rules_2.sql", "rules_3.sql",
                                           "rules_4.sql", "rules_5.sql"));

// Five of six workers died at once, which was a crash loop by then.
class FirstRules : public KeptJournal {};

TEST_P(FirstRules, EndAJobAsTheyDid) {
  const auto store = open();
  const State state = *store->load();
  const Job& job = state.job(JobId{1});
  EXPECT_EQ(job.state, JobState::failed);
  EXPECT_EQ(job.ending->cause, Cause::crash_loop);
  EXPECT_EQ(job.retries_used, 0);
}

INSTANTIATE_TEST_SUITE_P(Kept, FirstRules, ::testing::Values("rules_1.sql"));

// It waited for a checkpoint that was lost with its node, and would have for ever.
class SecondRules : public KeptJournal {};

TEST_P(SecondRules, LeftAJobThatANewServerStarts) {
  const auto store = open();
  const State before = *store->load();
  EXPECT_EQ(before.job(JobId{1}).state, JobState::resizing);
  EXPECT_FALSE(before.job(JobId{1}).current);
  DeafEngine engine;
  ManualClock clock{before.at()};
  const PolicyRegistry policies;
  Controller controller(*store, engine, clock, policies, {.build = "test"});
  ASSERT_TRUE(controller.recover());
  submit_next(controller);
  const Job& job = controller.state().job(JobId{1});
  ASSERT_TRUE(job.current);
  EXPECT_EQ(job.current->generation, Generation{2});
  EXPECT_THAT(check_state(controller.state()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kept, SecondRules, ::testing::Values("rules_2.sql"));

// One of two workers was killed, and the other was not to wait for one in its place.
class ThirdRules : public KeptJournal {};

TEST_P(ThirdRules, EndedTheOthersWhereTooFewWereLeft) {
  const auto store = open();
  const State state = *store->load();
  const Job& job = state.job(JobId{1});
  EXPECT_EQ(job.state, JobState::pending);
  EXPECT_EQ(job.retries_used, 1);
}

INSTANTIATE_TEST_SUITE_P(Kept, ThirdRules, ::testing::Values("rules_3.sql"));

}  // namespace
}  // namespace paceline::sim
