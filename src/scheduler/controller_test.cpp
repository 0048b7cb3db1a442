#include "scheduler/controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
#include "plan/check.hpp"
#include "store/memory/memory_store.hpp"
#include "store/wrapped_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using testing::differences;
using ::testing::ElementsAre;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::span;

// Workers that do what the state wants when the test says so.
class HandEngine : public testing::ObedientEngine {
 public:
  Observed observe() override {
    ++asked;
    return ObedientEngine::observe();
  }
  void act(const State&, std::span<const JobId> jobs) override {
    acted.assign(jobs.begin(), jobs.end());
  }

  std::vector<JobId> acted;
  int asked = 0;
};

// A memory store that can refuse plans alone.
class PickyStore : public WrappedStore {
 public:
  PickyStore() : WrappedStore(disk) {}

  Result<void> append(const Batch& batch) override {
    ++appends;
    const bool plan = !batch.entries.empty() && std::holds_alternative<Plan>(batch.entries[0].body);
    if (refuse_plans && plan)
      return fail(ErrorCode::storage, "The disk is full.", "Make room.", Retry::may_help);
    return disk.append(batch);
  }
  Result<void> checkpoint(const State& state, std::span<const JobId> jobs) override {
    ++checkpoints;
    return disk.checkpoint(state, jobs);
  }

  MemoryStore disk;
  bool refuse_plans = false;
  int appends = 0;
  int checkpoints = 0;
};

const Error kDiskFull{ErrorCode::storage, "The disk is full.", "Make room.", Retry::may_help};

class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    restart();
    const auto nodes = testing::cluster("1x4 cpu");
    engine->tell(NodeUp{NodeId{0}, nodes[0]});
    run_until_quiet();
  }

  // As after a crash: a new controller on what was stored.
  void restart() {
    controller.reset();
    engine = std::make_unique<HandEngine>();
    controller = std::make_unique<Controller>(store, *engine, clock, policies, options);
    recovered = controller->recover();
  }

  // Steps, each in its own coalescing window, until nothing new happens.
  void run_until_quiet() {
    for (std::uint64_t seq = ~std::uint64_t{0}; seq != controller->state().seq();) {
      seq = controller->state().seq();
      step();
    }
  }

  void step(Duration later = span("20ms")) {
    (void)controller->step();
    clock.advance(later);
  }

  // What `done` was called with; nothing if it was not yet.
  std::shared_ptr<std::optional<Result<JobId>>> ask(std::string_view literal, std::string key = {},
                                                    std::uint32_t uid = 1000) {
    auto told = std::make_shared<std::optional<Result<JobId>>>();
    Submission submission{testing::job(literal), {}, std::move(key)};
    submission.spec.uid = uid;
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller->submit(std::move(submission),
                       [told](Result<JobId> r) { told->emplace(std::move(r)); });
    return told;
  }

  JobId submit(std::string_view literal) {
    const auto told = ask(literal);
    step();
    return (*told)->value();
  }

  JobId run(std::string_view literal) {
    const JobId id = submit(literal);
    engine->obey(state());
    step();
    return id;
  }

  void request(JobId id, Request what) {
    controller->request(id, what, account(1000), [](const Result<void>& r) { EXPECT_TRUE(r); });
  }

  void end(JobId id, std::string_view how) {
    const Gang gang = *job(id).current;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
      engine->tell(WorkerEnded{{id, gang.generation, rank}, ending(how)});
    }
  }

  const State& state() const { return controller->state(); }
  const Job& job(JobId id) const { return state().job(id); }

  PickyStore store;
  ManualClock clock{time_from_us(1'000'000'000)};
  PolicyRegistry policies;
  Controller::Options options{.build = "test", .policy = "fifo", .coalesce = span("20ms")};
  std::unique_ptr<HandEngine> engine;
  std::unique_ptr<Controller> controller;
  Result<void> recovered;
};

TEST_F(ControllerTest, TakesAJobFromSubmissionToItsEnd) {
  const auto told = ask("2..2");
  EXPECT_FALSE(*told);
  step();
  EXPECT_EQ((*told)->value(), JobId{1});
  EXPECT_EQ(job(JobId{1}).state, JobState::starting);
  EXPECT_THAT(engine->acted, ElementsAre(JobId{1}));
  engine->obey(state());
  step();
  EXPECT_EQ(job(JobId{1}).state, JobState::running);
  end(JobId{1}, "0");
  step();
  EXPECT_EQ(job(JobId{1}).state, JobState::completed);
  EXPECT_EQ(store.launch(JobId{1})->command.front(), "train");
  EXPECT_THAT(check_state(state()), IsEmpty());
}

TEST_F(ControllerTest, WhatFitsOnlyWithNodesThatMayComeWaits) {
  options.coming = [] { return ComingNodes{.nodes = 2, .slots_each = 4}; };
  restart();
  const auto fits = ask("12"), too_large = ask("13");
  step();
  ASSERT_TRUE(**fits);
  EXPECT_EQ((*too_large)->error().message,
            "It asks for at least 13 slots, and the cluster would have, with all nodes that may "
            "come, 12.");
  const std::string reason = sentence(controller->reason(job(***fits)));
  EXPECT_THAT(reason, ::testing::Not(HasSubstr("fits nowhere")));
}

TEST_F(ControllerTest, ANodeWhereUsersFailIsSetAsideThoughNothingElseHappens) {
  options.limits = Limits{.failing_owners = 2};
  restart();
  engine->tell(NodeUp{NodeId{1}, testing::cluster("2x4 gpu")[1]});
  run_until_quiet();
  for (const char* user : {"ann", "bob"}) {
    end(run("1 user=" + std::string(user)), "1");
    step();
  }
  ASSERT_FALSE(state().find_node(NodeId{0})->drain);
  EXPECT_EQ(controller->next_due(), clock.now());
  step();
  EXPECT_TRUE(state().find_node(NodeId{0})->drain);
}

TEST_F(ControllerTest, NodesThatAreDrainedTogetherTakeNoJobsOfEachOther) {
  engine->tell(NodeUp{NodeId{1}, testing::cluster("2x4 gpu")[1]});
  run_until_quiet();
  const std::vector<std::string> both = {"gpu-1", "cpu-0", "gpu-1"}, none = {"cpu-0", "gpu-9"};
  std::vector<Result<void>> told;
  const auto hear = [&](Result<void> r) { told.push_back(std::move(r)); };
  const auto before = state().seq();
  controller->drains().drain_together(none, {}, account(0), hear);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].error().code, ErrorCode::not_found);
  EXPECT_EQ(controller->drains().look_at_together(both, {}).value().slots, 8);
  controller->drains().drain_together(both, {.reason = "power"}, account(0), hear);
  step();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[1]);
  const auto entries = store.disk.entries(before + 1, 9).value();
  ASSERT_EQ(entries.size(), 2U) << "each once, and no round between";
  EXPECT_EQ(entries[0].at, entries[1].at);
  for (const auto id : {NodeId{0}, NodeId{1}}) EXPECT_TRUE(state().find_node(id)->drain);
}

TEST_F(ControllerTest, ADrainThatBeganEndsSoLongAfterTheNewestOrder) {
  const std::vector<std::string> nodes = {"cpu-0"};
  const DrainOrder order{.within = span("30m")};
  controller->drains().drain("cpu-0", {}, account(0), [](const Result<void>&) {});
  run_until_quiet();
  clock.advance(span("1h"));
  const Time ends = clock.now() + span("30m");
  EXPECT_EQ(controller->drains().look_at_together(nodes, order).value().ends, ends);
  controller->drains().drain_together(nodes, order, account(0), [](const Result<void>&) {});
  run_until_quiet();
  EXPECT_EQ(state().drain_ends(*state().find_node(NodeId{0})), ends);
}

TEST_F(ControllerTest, TellsTheSubmitterWhatIsImpossible) {
  const auto told = ask("5..8");
  step();
  EXPECT_EQ((*told)->error().message, "It asks for at least 5 slots, and the whole cluster has 4.");
  EXPECT_EQ(state().jobs().size(), 0U);
}

TEST_F(ControllerTest, RefusesARequestAtOnce) {
  std::optional<Result<void>> told;
  controller->request(JobId{7}, Request::cancel, account(1000),
                      [&](Result<void> r) { told = std::move(r); });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->error().message, "There is no job 7.");
  controller->desk().set({"fif", {}}, {}, [&](Result<void> r) { told = std::move(r); });
  EXPECT_EQ(told->error().hint, "Did you mean 'fifo'? 'paceline policy list' shows all.");
}

TEST_F(ControllerTest, LosesNothingWhenTheStoreRefusesAndTellsTheCommander) {
  const JobId a = run("1..1");
  store.disk.refuse_writes(kDiskFull);
  end(a, "0");
  const auto told = ask("1..1");
  const auto stepped = controller->step();
  EXPECT_EQ(stepped.error(), kDiskFull);
  EXPECT_EQ((*told)->error(), kDiskFull);
  EXPECT_EQ(job(a).state, JobState::running);
  EXPECT_EQ(controller->next_due(), clock.now() + span("1s"));
  store.disk.accept_writes();
  step();
  EXPECT_EQ(job(a).state, JobState::running);  // not before its time
  clock.advance(span("1s"));
  step();
  EXPECT_EQ(job(a).state, JobState::completed);
  EXPECT_EQ(state().jobs().size(), 1U);
}

TEST_F(ControllerTest, TakesNoMoreNewsWhileTheStoreRefuses) {
  const JobId a = run("1..1");
  store.disk.refuse_writes(kDiskFull);
  end(a, "0");
  step(span("2s"));
  const int asked = engine->asked;
  for (int i = 0; i < 10; ++i) step(span("2s"));
  EXPECT_EQ(engine->asked, asked);
}

// An engine tells once that it has news; those that came behind what was refused are asked for.
TEST_F(ControllerTest, AsksForTheNewsThatCameWhileTheStoreRefused) {
  const JobId a = run("1..1");
  const JobId b = run("1..1");
  store.disk.refuse_writes(kDiskFull);
  end(a, "0");
  step();
  end(b, "0");
  step(span("1s"));
  store.disk.accept_writes();
  (void)controller->step();
  EXPECT_EQ(job(a).state, JobState::completed);
  EXPECT_EQ(controller->next_due(), clock.now());
  step();
  EXPECT_EQ(job(b).state, JobState::completed);
}

TEST_F(ControllerTest, TriesARoundAgainThatWasNotKept) {
  store.refuse_plans = true;
  const JobId a = submit("1..1");
  EXPECT_EQ(job(a).state, JobState::pending);
  store.refuse_plans = false;
  clock.advance(span("1s"));
  step();
  EXPECT_EQ(job(a).state, JobState::starting);
}

TEST_F(ControllerTest, RecoversTheStateAsItWas) {
  options.policy = "elastic-fifo";
  run("1..4");
  submit("2..2 retry=1");
  request(submit("1..1 hold after=1"), Request::cancel);
  run_until_quiet();
  for (const bool checkpointed : {false, true}) {
    if (checkpointed) {
      ASSERT_TRUE(controller->checkpoint());
    }
    const State before(state().parts());
    restart();
    ASSERT_TRUE(recovered);
    EXPECT_THAT(differences(state(), before), IsEmpty());
  }
}

TEST_F(ControllerTest, ActsOnEveryLiveJobAgainAfterARestart) {
  const JobId a = run("1..1");
  const JobId b = run("1..1");
  end(a, "0");
  step();
  const JobId c = submit("1..1 hold");
  restart();
  EXPECT_THAT(engine->acted, ElementsAre(b, c));
}

TEST_F(ControllerTest, AnswersARepeatedKeyWithTheSameJob) {
  const auto first = ask("1..1", "key");
  const auto same_step = ask("1..1", "key");
  EXPECT_FALSE(*same_step);
  step();
  const auto later = ask("1..1", "key");
  const auto someone_else = ask("1..1", "key", 1001);
  step();
  EXPECT_EQ((*first)->value(), JobId{1});
  EXPECT_EQ((*same_step)->value(), JobId{1});
  EXPECT_EQ((*later)->value(), JobId{1});
  EXPECT_EQ((*someone_else)->value(), JobId{2});
  restart();
  const auto after_restart = ask("1..1", "key");
  step();
  EXPECT_EQ((*after_restart)->value(), JobId{1});
}

TEST_F(ControllerTest, ForgetsWhatIsOverAndGoesOnFromThere) {
  options.limits.emplace();
  options.limits->ended_jobs = 1;
  restart();
  const auto answer_to = [&](std::string_view literal, std::string key = {}) {
    const auto told = ask(literal, std::move(key));
    step();
    return **told;
  };
  const JobId a = answer_to("1..1", "key").value();
  engine->obey(state());
  step();
  end(a, "0");
  const JobId b = run("1..1"), c = run("1..1");
  end(b, "1");
  run_until_quiet();
  EXPECT_TRUE(state().is_forgotten(a));
  ASSERT_NE(state().find_job(b), nullptr);
  EXPECT_EQ(store.forgotten(a, 1)->front().state, JobState::completed);
  EXPECT_EQ(answer_to("1..1", "key").value(), a) << "the key is known as before";
  ErrorCode code = ErrorCode::invalid;
  controller->request(a, Request::cancel, account(1000),
                      [&](const Result<void>& done) { code = done.error().code; });
  EXPECT_EQ(code, ErrorCode::conflict);
  end(c, "0");
  run_until_quiet();
  EXPECT_TRUE(state().is_forgotten(b));
  EXPECT_THAT(answer_to("1..1 after=2").error().message, HasSubstr("would never start"));
  EXPECT_TRUE(answer_to("1..1 after=1").has_value());
  const State before(state().parts());
  restart();
  EXPECT_EQ(state().jobs(), before.jobs());
  EXPECT_EQ(state().forgotten(), before.forgotten());
}

// Of which no later server could read the state.
TEST_F(ControllerTest, TakesNoSizeThatNoJobMayHave) {
  const JobId a = run("1");
  Result<void> told;
  controller->set_range(a, {1, kWorkersMax + 1, 1}, account(1000),
                        [&](const Result<void>& r) { told = r; });
  step();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::invalid);
  EXPECT_EQ(job(a).range.max, 1);
}

TEST_F(ControllerTest, GivesUpNewcomersThatAreNotReadyInTime) {
  options.limits.emplace();
  options.limits->newcomers_wait = 60;
  restart();
  const JobId a = run("2..2");
  engine->tell(GangStands{a, Generation{1}});
  controller->set_range(a, {3, 3, 3}, account(1000), [](const Result<void>& r) { EXPECT_TRUE(r); });
  run_until_quiet();
  ASSERT_TRUE(job(a).forms_in_place());
  const ProcessKey newcomer{a, Generation{2}, 2};
  clock.advance(span("1h"));
  step();
  ASSERT_TRUE(job(a).forms_in_place()) << "its start is the agent's to bound";
  engine->tell(WorkerStarted{newcomer, 4711});
  step();
  clock.advance(span("59s"));
  request(a, Request::pause);
  step();
  clock.advance(span("1h"));
  request(a, Request::resume);
  step();
  clock.advance(span("59s"));
  engine->tell(Progressed{a, Generation{1}, {}});
  step();
  EXPECT_THAT(job(a).parting, IsEmpty()) << "a pause is not counted";
  clock.advance(span("1s"));
  run_until_quiet();
  ASSERT_EQ(job(a).parting.size(), 1U);
  EXPECT_EQ(job(a).parting[0].process, newcomer);
  EXPECT_EQ(job(a).state, JobState::running);
  EXPECT_EQ(job(a).current->joins_failed, 1);
}

TEST_F(ControllerTest, ResizesInPlaceOnceThoseThatLeaveHaveEnded) {
  const auto resize = [&](JobId id, std::int32_t workers) {
    controller->set_range(id, {workers, workers, workers}, account(1000),
                          [](const Result<void>& r) { EXPECT_TRUE(r); });
    run_until_quiet();
  };
  const JobId a = run("4..4");
  engine->tell(GangStands{a, Generation{1}});
  resize(a, 2);
  engine->tell(GangStands{a, Generation{2}});
  run_until_quiet();
  ASSERT_EQ(job(a).state, JobState::running);
  ASSERT_EQ(job(a).parting.size(), 2U);
  resize(a, 3);
  EXPECT_EQ(job(a).state, JobState::running);
  EXPECT_FALSE(job(a).forming);
  EXPECT_EQ(controller->reason(job(a)), (Reason{ReasonCode::waits_for_leavers, {3, 2}, {}}));
  const auto leaving = job(a).parting;
  for (const Parting& each : leaving) {
    Ending left;
    left.cause = Cause::exited;
    left.at = clock.now();
    engine->tell(WorkerEnded{each.process, left});
  }
  run_until_quiet();
  ASSERT_TRUE(job(a).forms_in_place());
  EXPECT_EQ(job(a).forming->size(), 3);
}

TEST_F(ControllerTest, GivesUpWaitingForRoomInPlaceOfTheDead) {
  options.limits.emplace();
  options.limits->replacements_wait = 60;
  restart();
  const JobId a = run("4..4");
  engine->tell(GangStands{a, Generation{1}});
  run_until_quiet();
  auto node = testing::cluster("1x4 cpu")[0];
  for (SlotSpec& slot : node.slots) slot.usable = false;
  engine->tell(NodeUp{NodeId{0}, node});
  Ending killed;
  killed.cause = Cause::signalled;
  killed.signal = 9;
  killed.at = clock.now();
  engine->tell(WorkerEnded{{a, Generation{1}, 0}, killed});
  run_until_quiet();
  ASSERT_TRUE(job(a).awaits_replacements());
  EXPECT_EQ(controller->reason(job(a)).code, ReasonCode::awaits_replacements);
  clock.advance(span("50s"));
  run_until_quiet();
  EXPECT_TRUE(job(a).awaits_replacements());
  clock.advance(span("10s"));
  run_until_quiet();
  EXPECT_EQ(job(a).state, JobState::stopping);
  EXPECT_EQ(job(a).current->stop->cause, Cause::resized);
}

TEST_F(ControllerTest, RetiresANodeThatWasAbsentForLong) {
  options.limits.emplace();
  options.limits->absent_nodes_age = 3'600;
  options.hear_out = span("5s");
  restart();
  engine->tell(NodeUp{NodeId{1}, testing::cluster("1x8 a100")[0]});
  step();
  const JobId a = submit("1..1"), b = submit("8..8");
  engine->tell(NodeDown{NodeId{1}});
  step();
  const auto ends = [&](JobId job) {
    engine->tell(WorkerEnded{{job, Generation{1}, 0}, ending("0")});
  };
  ASSERT_EQ(job(a).state, JobState::starting);
  if (job(b).current) {
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      Ending lost = ending("1");
      lost.cause = Cause::node_lost;
      engine->tell(WorkerEnded{{b, Generation{1}, rank}, lost});
    }
  }
  ends(a);
  run_until_quiet();
  const Time down = state().nodes()[1].absent_since.value();
  clock.advance(span("59m"));
  run_until_quiet();
  EXPECT_FALSE(state().nodes()[1].retired);
  ASSERT_TRUE(controller->next_due().has_value());
  EXPECT_LE(*controller->next_due(), down + span("1h"));
  restart();
  clock.advance(span("1m"));
  run_until_quiet();
  EXPECT_TRUE(state().nodes()[1].retired);
  EXPECT_EQ(sentence(controller->reason(job(b))),
            "fits nowhere any more: It asks for at least 8 slots, and the whole cluster has 4.");
  const auto impossible = ask("5..5");
  step();
  EXPECT_THAT((*impossible)->error().message, HasSubstr("the whole cluster has 4"));
  const State before(state().parts());
  restart();
  EXPECT_EQ(state().nodes(), before.nodes());
  engine->tell(NodeUp{NodeId{1}, testing::cluster("1x8 a100")[0]});
  run_until_quiet();
  EXPECT_EQ(job(b).state, JobState::starting) << "it has joined anew";
}

TEST_F(ControllerTest, AnswersNoKeyBeforeItsJobIsDurable) {
  store.disk.refuse_writes(kDiskFull);
  const auto first = ask("1..1", "key");
  const auto second = ask("1..1", "key");
  step();
  EXPECT_EQ((*first)->error(), kDiskFull);
  EXPECT_EQ((*second)->error(), kDiskFull);
}

TEST_F(ControllerTest, AKeyOfARefusedSubmissionIsFree) {
  const auto impossible = ask("9..9", "key");
  const auto possible = ask("1..1", "key");
  step();
  EXPECT_FALSE((*impossible)->has_value());
  EXPECT_EQ((*possible)->value(), JobId{1});
}

TEST_F(ControllerTest, RefusesWhatIsNewWhileThereIsNoRoomAndGoesOnWithTheRest) {
  bool room = true;
  options.room = [&]() -> Result<void> {
    if (!room) return fail(kDiskFull);
    return {};
  };
  restart();
  const auto before = ask("1..1");
  step();
  room = false;
  const auto refused = ask("1..1", "key");
  run_until_quiet();
  EXPECT_EQ((*refused)->error(), kDiskFull);
  EXPECT_EQ(state().job((*before)->value()).state, JobState::starting);
  room = true;
  const auto again = ask("1..1", "key");
  step();
  EXPECT_EQ((*again)->value(), JobId{2});
}

TEST_F(ControllerTest, MakesOneRoundOfABurstButDoesNotDelayTheFirst) {
  run_until_quiet();
  clock.advance(span("1s"));
  ask("1..1");
  step(span("5ms"));
  EXPECT_EQ(state().round(), 1U);
  for (int i = 0; i < 3; ++i) {
    ask("1..1");
    step(span("5ms"));
  }
  EXPECT_EQ(state().round(), 1U);
  EXPECT_EQ(state().jobs().size(), 4U);
  EXPECT_EQ(controller->next_due(), clock.now());
  step();
  EXPECT_EQ(state().round(), 2U);
  EXPECT_EQ(state().slots_leased(), 4);
}

TEST_F(ControllerTest, StopsAJobAtItsTimeLimit) {
  const JobId a = run("1..1 max_duration=60s");
  EXPECT_LE(*controller->next_due(), job(a).started_at.value() + span("60s"));
  clock.advance(span("61s"));
  step();
  EXPECT_EQ(job(a).state, JobState::stopping);
  engine->obey(state());
  step();
  EXPECT_EQ(job(a).state, JobState::timeout);
}

TEST_F(ControllerTest, HearsOutWhatEndedMeanwhileBeforeItHoldsALimit) {
  const JobId a = run("1..1 max_duration=60s");
  clock.advance(span("61s"));
  options.hear_out = span("5s");
  restart();
  EXPECT_GE(*controller->next_due(), clock.now());
  step();
  EXPECT_EQ(job(a).state, JobState::running);
  engine->tell(WorkerEnded{{a, job(a).current->generation, 0}, ending("0"), span("30s")});
  step();
  EXPECT_EQ(job(a).state, JobState::completed);
  EXPECT_LT(job(a).ran, span("32s"));
}

TEST_F(ControllerTest, HoldsALimitOnceItHasHeard) {
  const JobId a = run("1..1 max_duration=60s");
  clock.advance(span("61s"));
  options.hear_out = span("5s");
  restart();
  step(span("5s"));
  step();
  EXPECT_EQ(job(a).state, JobState::stopping);
}

// A clock of a machine, in the hand.
class MachineClock final : public Clock {
 public:
  Time now() override { return line; }
  WallTime wall() override { return WallTime{(line + ahead).time_since_epoch()}; }
  [[nodiscard]] const Boot* boot() const override { return &booted; }
  void resume(Time last, const std::optional<Boot>& known) override {
    resumed_after = last;
    resumed_in = known;
  }

  Time line = time_from_us(1'000'000'000);
  Duration ahead{};
  Boot booted{"first", line};
  Time resumed_after;
  std::optional<Boot> resumed_in;
};

class ClockSetTest : public ::testing::Test {
 protected:
  ClockSetTest() { begin(); }

  void begin() {
    spdlog::set_level(spdlog::level::off);
    controller =
        std::make_unique<Controller>(store, engine, clock, policies, Controller::Options{});
    ASSERT_TRUE(controller->recover());
    step();
  }
  void step() {
    clock.line += span("1s");
    ASSERT_TRUE(controller->step());
  }
  std::vector<ClockSet> told() {
    std::vector<ClockSet> all;
    const auto entries = store.entries(1, 1'000).value();
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      if (event == nullptr) continue;
      if (const auto* set = std::get_if<ClockSet>(event)) all.push_back(*set);
    }
    return all;
  }
  Result<JobId> submit(JobSpec spec) {
    Result<JobId> answer;
    LaunchSpec launch;
    launch.command = {"train"};
    launch.directory = "/";
    controller->submit({std::move(spec), launch, {}}, [&](Result<JobId> id) { answer = id; });
    step();
    return answer;
  }

  MemoryStore store;
  HandEngine engine;
  MachineClock clock;
  PolicyRegistry policies;
  std::unique_ptr<Controller> controller;
};

TEST_F(ClockSetTest, IsToldOnceWithItsBoot) {
  for (int i = 0; i < 3; ++i) step();
  EXPECT_THAT(told(), ElementsAre(ClockSet{Duration{}, clock.booted}));
}

TEST_F(ClockSetTest, IsToldWhenSomebodySetsIt) {
  clock.ahead = span("3h");
  step();
  clock.ahead += span("900ms");  // within what labels may be off
  step();
  clock.ahead = -span("240h");
  step();
  step();
  EXPECT_THAT(told(), ElementsAre(ClockSet{Duration{}, clock.booted}, ClockSet{span("3h"), {}},
                                  ClockSet{-span("243h"), {}}));
  EXPECT_EQ(controller->state().ahead(), -span("240h"));
}

TEST_F(ClockSetTest, GoesOnAfterARestartWhereTheJournalEnds) {
  begin();
  EXPECT_EQ(clock.resumed_after, controller->state().at());
  EXPECT_EQ(clock.resumed_in, clock.booted);
  EXPECT_EQ(told().size(), 1U);
  clock.booted = {"second", clock.line};
  clock.ahead += span("8h");
  begin();
  EXPECT_THAT(told().back(), (ClockSet{span("8h"), clock.booted}));
}

TEST_F(ClockSetTest, ADeadlineIsDueByTheWallClock) {
  const auto nodes = testing::cluster("1x4 cpu");
  engine.tell(NodeUp{NodeId{0}, nodes[0]});
  step();
  clock.ahead = span("3h");
  JobSpec spec = testing::job("1");
  spec.deadline = clock.wall() - span("1h");
  EXPECT_FALSE(submit(spec));
  spec.deadline = clock.wall() + span("1h");
  const auto id = submit(spec);
  ASSERT_TRUE(id) << id.error().message;
  const Time due = controller->state().deadline(controller->state().job(*id)).value();
  EXPECT_EQ(due, clock.line + span("1h") - span("1s"));
}

TEST_F(ControllerTest, TellsATimeLimitOnceAndAgainAfterARefusal) {
  const JobId a = run("1..1 max_duration=60s");
  clock.advance(span("61s"));
  store.disk.refuse_writes(kDiskFull);
  step(span("1s"));
  store.disk.accept_writes();
  step();
  EXPECT_EQ(job(a).state, JobState::stopping);
  const auto seq = state().seq();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(state().seq(), seq);
}

TEST_F(ControllerTest, StartsARetryWhenItsTimeHasCome) {
  const JobId a = run("1..1 retry=1");
  end(a, "1");
  step();
  EXPECT_EQ(job(a).state, JobState::pending);
  EXPECT_EQ(controller->next_due(), job(a).eligible_at);
  clock.advance(span("1s"));
  step();
  EXPECT_EQ(job(a).state, JobState::starting);
}

TEST_F(ControllerTest, CountsWhatAWorkerSaidBeforeItEnded) {
  const JobId a = run("1..1 target=accuracy>=0.9");
  Progress last;
  last.metrics = {{"accuracy", 0.93}};
  end(a, "0");
  engine->tell(Progressed{a, Generation{1}, last});  // in one batch, whatever the order
  step();
  EXPECT_EQ(job(a).state, JobState::completed);
  EXPECT_TRUE(job(a).should_stop());
}

TEST_F(ControllerTest, SwitchesThePolicyWithoutTouchingAJob) {
  const JobId a = run("1..4@2");
  const JobId b = submit("4..4");
  const Job before_a = job(a), before_b = job(b);
  for (const auto* name : {"round-robin", "fifo"}) {
    controller->desk().set({name, {}}, {}, [](const Result<void>& r) { EXPECT_TRUE(r); });
    run_until_quiet();
    EXPECT_EQ(state().policy()->name, name);
    EXPECT_EQ(job(a), before_a);
    EXPECT_EQ(job(b), before_b);
  }
  EXPECT_EQ(state().periods().size(), 3U);
}

TEST_F(ControllerTest, LetsTheDefaultTakeThePlaceOfAPolicyThisBuildDoesNotKnow) {
  Batch batch;
  batch.entries.push_back({state().seq() + 1, clock.now(), PolicySet{"of-the-future", {}}});
  ASSERT_TRUE(store.append(batch));
  restart();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(state().policy()->name, "fifo");
  EXPECT_EQ(job(run("1..1")).state, JobState::running);
  restart();
  EXPECT_EQ(state().policy()->name, "fifo");
}

TEST_F(ControllerTest, SaysThatItsOwnDefaultIsUnknown) {
  options.policy = "fif";
  PickyStore fresh;
  Controller lost(fresh, *engine, clock, policies, options);
  EXPECT_EQ(lost.recover().error().message, "There is no policy 'fif'.");
}

TEST_F(ControllerTest, TellsEveryEntryInOrderOnce) {
  std::vector<std::uint64_t> told;
  const auto ear =
      controller->on_commit([&](std::span<const Entry> entries, std::span<const JobId>) {
        for (const auto& entry : entries) told.push_back(entry.seq);
      });
  const auto before = state().seq();
  const JobId a = run("1..1");
  end(a, "0");
  run_until_quiet();
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], before + 1 + i);
  EXPECT_EQ(before + told.size(), state().seq());
}

TEST_F(ControllerTest, ChecksPointsOfItsFoldInTimeAndAfterManyEntries) {
  const int before = store.checkpoints;
  submit("1..1");
  EXPECT_EQ(store.checkpoints, before);
  EXPECT_TRUE(controller->next_due());
  clock.advance(span("30s"));
  step();
  EXPECT_EQ(store.checkpoints, before + 1);
  EXPECT_EQ(controller->next_due(), std::nullopt);
  for (std::uint64_t i = 0; i < options.checkpoint_entries; ++i)
    engine->tell(NodeUp{NodeId{0}, state().nodes()[0].spec});
  step();
  EXPECT_EQ(store.checkpoints, before + 2);
}

TEST_F(ControllerTest, IsQuietWhenNothingHappens) {
  run("1..1");
  run_until_quiet();
  const int appends = store.appends;
  for (int i = 0; i < 100; ++i) step(span("1s"));
  EXPECT_EQ(store.appends, appends);
}

TEST_F(ControllerTest, WakesItsDriver) {
  int woken = 0;
  controller->on_wake([&] { ++woken; });
  ask("1..1");
  EXPECT_EQ(woken, 1);
  engine->tell(NodeDown{NodeId{0}});
  EXPECT_EQ(woken, 2);
}

TEST_F(ControllerTest, TellsOthersHowAJobEndedButNotWhatWasSaidOfIt) {
  const JobId a = run("1..1");
  engine->tell(
      WorkerEnded{{a, job(a).current->generation, 0},
                  {Cause::launch_failed, {}, 0, "There is no program '/home/ann/x'.", {}}});
  run_until_quiet();
  EXPECT_EQ(job(a).state, JobState::failed);
  EXPECT_EQ(sentence(controller->reason(state().job(a), Viewer::owner)),
            "There is no program '/home/ann/x'.");
  EXPECT_EQ(sentence(controller->reason(state().job(a), Viewer::other)), "could not be started");
  EXPECT_EQ(controller->why(state().job(a), Viewer::owner).front(),
            "Job 1 (FAILED) There is no program '/home/ann/x'.");
  EXPECT_EQ(controller->why(state().job(a), Viewer::other).front(),
            "Job 1 (FAILED) could not be started.");
  for (const auto& line : controller->why(state().job(a), Viewer::other))
    EXPECT_THAT(line, Not(HasSubstr("ann")));
}

TEST_F(ControllerTest, TakesNoOtherSubmissionUnderAKeyThatWasUsed) {
  const auto first = ask("1..1", "key");
  const auto same = ask("1..1", "key");
  const auto other = ask("2..2", "key");
  step();
  EXPECT_EQ((*first)->value(), (*same)->value());
  EXPECT_EQ((*other)->error().code, ErrorCode::conflict);
  const auto again = ask("1..1", "key");
  const auto later = ask("1..1 name=other", "key");
  const auto another = ask("1..1 name=other", "key", 1001);
  step();
  EXPECT_EQ((*again)->value(), (*first)->value());
  EXPECT_EQ((*later)->error().code, ErrorCode::conflict);
  EXPECT_TRUE((*another)->has_value()) << "keys are each user's own";
  engine->obey(state());
  step();
  end((*first)->value(), "0");
  run_until_quiet();
  ASSERT_TRUE(controller->checkpoint());
  const auto after = ask("1..1", "key");
  step();
  EXPECT_EQ((*after)->value(), (*first)->value()) << "also when it is over";
}

TEST_F(ControllerTest, HoldsToItsLimits) {
  Limits limits;
  limits.waiting_jobs_per_user = 2;
  limits.points_per_second = 3;
  options.limits = limits;
  restart();
  const auto a = ask("4..4"), b = ask("4..4"), c = ask("4..4");
  step();
  EXPECT_TRUE((*b)->has_value());
  EXPECT_EQ((*c)->error().code, ErrorCode::unavailable);
  run_until_quiet();
  restart();
  const auto d = ask("4..4"), e = ask("4..4");
  step();
  EXPECT_TRUE((*d)->has_value()) << "one of the first two has slots";
  EXPECT_FALSE((*e)->has_value()) << "those from before the restart count";
  for (std::uint64_t report = 1; report <= 100; ++report)
    engine->tell(MetricPoint{(*a)->value(), Generation{1}, 0, report, {}, {}, {}, {}});
  run_until_quiet();
  EXPECT_EQ(store.points((*a)->value(), "", 1, 1000)->points.size(), 4U);
  EXPECT_EQ(store.passed_over((*a)->value()), 96U);
  restart();
  EXPECT_EQ(store.passed_over((*a)->value()), 96U);
}

TEST_F(ControllerTest, TellsTheJournalOfProgressNowAndThenAndLosesNothing) {
  options.limits = Limits();
  options.limits->progress_interval = 10;
  restart();
  const JobId a = run("1..1");
  const auto report = [&](std::uint64_t step) {
    Progressed told{a, Generation{1}, {}};
    told.report.step = step;
    engine->tell(told);
    this->step();
  };
  const auto step_of = [&] { return job(a).progress->step; };
  report(1);
  const std::uint64_t before = state().seq();
  report(2);
  report(3);
  EXPECT_EQ(state().seq(), before);
  EXPECT_EQ(step_of(), 1U);
  ASSERT_TRUE(controller->next_due());
  EXPECT_LE(*controller->next_due(), clock.now() + span("10s"));
  clock.advance(span("10s"));
  step();
  EXPECT_EQ(state().seq(), before + 1);
  EXPECT_EQ(step_of(), 3U);
  report(4);
  EXPECT_EQ(step_of(), 3U);
  store.disk.refuse_writes(kDiskFull);
  report(5);
  store.disk.accept_writes();
  clock.advance(span("1s"));
  step();
  restart();
  EXPECT_EQ(step_of(), 5U) << "what the journal was not told when the server ended";
  EXPECT_TRUE(store.unjournalled()->empty());
}

TEST_F(ControllerTest, SaysWhyAJobWaits) {
  run("3..3 name=digits");
  const JobId b = submit("2..2");
  EXPECT_EQ(controller->reason(state().job(b)), (Reason{ReasonCode::waits_for_slots, {2, 1}, {}}));
  EXPECT_THAT(controller->why(state().job(b)),
              Contains(HasSubstr("Job 1 'digits' has 3 of 4 slots")));
}

TEST_F(ControllerTest, GivesWhatAnOwnersCancelFreesToAWaitingJob) {
  const JobId a = run("4..4");
  const JobId b = submit("4..4");
  request(a, Request::cancel);
  step();
  for (std::int32_t rank = 0; rank < 4; ++rank)
    engine->tell(WorkerEnded{{a, job(a).current->generation, rank}, ending("cancelled")});
  step();
  EXPECT_EQ(job(b).state, JobState::starting);
}

TEST_F(ControllerTest, NeedsNoRoundWhenWhatItsPlanAskedForHappens) {
  const auto round_is_due = [&] { return controller->next_due() <= clock.now() + span("1s"); };
  (void)ask("2..2");
  (void)controller->step();
  engine->obey(state());
  (void)controller->step();
  EXPECT_EQ(job(JobId{1}).state, JobState::running);
  EXPECT_FALSE(round_is_due());
  end(JobId{1}, "0");
  (void)controller->step();
  EXPECT_TRUE(round_is_due());
}

TEST_F(ControllerTest, NeedsNoRoundWhenAJobComesUpThatNobodyWaitsFor) {
  const JobId first = submit("2..2");
  const JobId second = submit("2..2");
  (void)submit("1");
  EXPECT_EQ(job(first).state, JobState::starting);
  engine->obey(state());
  (void)controller->step();
  EXPECT_EQ(job(first).state, JobState::running);
  EXPECT_EQ(job(second).state, JobState::running);
  EXPECT_FALSE(controller->next_due() <= clock.now() + span("1s"));
}

TEST_F(ControllerTest, HoldsARoundWhenAJobComesUpThatOthersWaitFor) {
  options.protects = false;
  restart();
  controller->desk().set({"srtf", {}}, {}, [](const Result<void>& r) { EXPECT_TRUE(r); });
  step();
  const JobId longer = submit("4..4 expect=2h");
  const JobId shorter = submit("4..4 expect=1m");
  EXPECT_EQ(job(longer).state, JobState::starting) << "it can't be stopped before it runs";
  engine->obey(state());
  step();
  run_until_quiet();
  EXPECT_EQ(job(longer).state, JobState::stopping);
  engine->obey(state());
  run_until_quiet();
  EXPECT_EQ(job(shorter).state, JobState::starting);
}

TEST_F(ControllerTest, HoldsThatRoundOnceTheJobHasRunForLongEnough) {
  controller->desk().set({"srtf", {}}, {}, [](const Result<void>& r) { EXPECT_TRUE(r); });
  step();
  const JobId longer = submit("4..4 expect=2h elastic=restart");
  const JobId shorter = submit("4..4 expect=1m");
  engine->obey(state());
  (void)controller->step();
  EXPECT_EQ(job(longer).state, JobState::running);
  EXPECT_EQ(controller->next_due(), clock.now() + span("10s")) << "nobody is stopped before that";
  clock.advance(span("10s"));
  run_until_quiet();
  EXPECT_EQ(job(longer).state, JobState::stopping);
  engine->obey(state());
  run_until_quiet();
  EXPECT_EQ(job(shorter).state, JobState::starting);
}

// Two jobs of ann that never saved hold all slots, for 45 s, and one of bob's waits.
class Reclaiming : public ControllerTest {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    controller->set_rules({span("10m")}, {}, [](const Result<void>& done) { EXPECT_TRUE(done); });
    first = run("2 user=ann");
    second = run("2 user=ann");
    step(span("45s"));
    waits = submit("2 user=bob");
  }

  void switch_to_fair() {
    controller->desk().set({"fair", {}}, {}, [](const Result<void>& done) { EXPECT_TRUE(done); });
    run_until_quiet();
  }
  void save(JobId id) {
    engine->tell(
        CheckpointAcknowledged{id, job(id).current->generation, {"/ckpt", {}, {}, clock.now()}});
  }

  JobId first, second, waits;
};

TEST_F(Reclaiming, AJobThatNeverSavedIsAskedAndStoppedWhenItsTimeIsUpOverARestart) {
  switch_to_fair();
  const auto asked = job(second).current->asked;
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->by, waits);
  EXPECT_EQ(controller->reason(state().job(second)).code, ReasonCode::asked);
  EXPECT_EQ(controller->reason(state().job(waits)).code, ReasonCode::waits_for_reclaim);
  clock.advance(span("5m"));
  restart();
  run_until_quiet();
  EXPECT_EQ(job(second).current->asked, asked);
  clock.advance(asked->since + span("10m") - clock.now() - span("1s"));
  run_until_quiet();
  EXPECT_EQ(job(second).state, JobState::running);
  clock.advance(span("1s"));
  run_until_quiet();
  EXPECT_EQ(job(second).state, JobState::stopping);
  EXPECT_EQ(job(first).state, JobState::running);
}

TEST_F(Reclaiming, AJobThatSavesMeanwhileGivesWayAtOnce) {
  switch_to_fair();
  clock.advance(span("2m"));
  save(first);
  run_until_quiet();
  EXPECT_EQ(job(first).state, JobState::stopping);
  EXPECT_THAT(state().asked(), IsEmpty());
  EXPECT_EQ(controller->reason(state().job(second)).code, ReasonCode::runs);
}

TEST_F(Reclaiming, ASwitchIsPlayedBeforeItIsMade) {
  const auto seq = state().seq();
  auto preview = controller->desk().preview({"fair", {}});
  ASSERT_TRUE(preview);
  ASSERT_EQ(preview->effects.size(), 1U);
  EXPECT_TRUE(preview->effects[0].asked);
  EXPECT_EQ(preview->effects[0].job, second);
  EXPECT_EQ(preview->effects[0].by, waits);
  EXPECT_EQ(preview->effects[0].stops_at, clock.now() + span("10m"));
  EXPECT_TRUE(preview->loses_work());
  EXPECT_EQ(preview->lost_slot_seconds(), 0);
  save(first);
  step(span("4s"));
  preview = controller->desk().preview({"fair", {}});
  ASSERT_TRUE(preview);
  ASSERT_EQ(preview->effects.size(), 1U);
  EXPECT_EQ(preview->effects[0].job, first);
  EXPECT_EQ(preview->effects[0].lost, span("4s"));
  EXPECT_EQ(preview->lost_slot_seconds(), 8);
  EXPECT_EQ(preview->starts, 1);
  EXPECT_EQ(state().seq(), seq + 1) << "but for the checkpoint nothing happened";
  EXPECT_EQ(controller->desk().preview({"lottery", {}}).error().code, ErrorCode::not_found);
  EXPECT_FALSE(controller->desk().preview({"fifo", {}})->loses_work());
  EXPECT_EQ(controller->desk().before().error().code, ErrorCode::conflict);
}

TEST_F(ControllerTest, RulesAreSaidAtTheStartOrStayAsTheyWere) {
  EXPECT_EQ(state().rules().reclaim_after, std::nullopt);
  options.unsaid_rules = {span("10m")};
  restart();
  EXPECT_EQ(state().rules().reclaim_after, span("10m"));
  const auto seq = state().seq();
  restart();
  EXPECT_EQ(state().seq(), seq) << "nothing is new";
  options.rules = {span("5m")};
  restart();
  EXPECT_EQ(state().rules().reclaim_after, span("5m"));
  options.rules = {};
  restart();
  EXPECT_EQ(state().rules().reclaim_after, span("5m"));
}

TEST_F(ControllerTest, TakesOnlyRulesThatCanBe) {
  const auto refused = [](const Result<void>& done) { EXPECT_FALSE(done); };
  controller->set_rules({-span("1s")}, {}, refused);
  controller->set_rules({kReclaimAfterMax + span("1s")}, {}, refused);
  controller->set_rules({span("1m")}, {}, [](const Result<void>& done) { EXPECT_TRUE(done); });
  run_until_quiet();
  restart();
  EXPECT_EQ(state().rules().reclaim_after, span("1m"));
}

TEST_F(ControllerTest, HonoursAnOwnersResizeUnderARigidPolicy) {
  const JobId a = run("2..2 elastic=restart");
  controller->set_range(a, {1, 1, 1}, {}, [](const Result<void>& r) { EXPECT_TRUE(r); });
  step();
  EXPECT_EQ(job(a).state, JobState::resizing);
  engine->obey(state());
  step();
  engine->obey(state());
  step();
  EXPECT_EQ(job(a).state, JobState::running);
  EXPECT_EQ(job(a).workers(), 1);
}

}  // namespace
}  // namespace paceline
