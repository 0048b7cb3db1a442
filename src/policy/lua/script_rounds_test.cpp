// People's own policies in the control plane: loading, failing, giving way, and swapping them while
// jobs run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <array>
#include <map>

#include "base/rng.hpp"
#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
#include "plan/check.hpp"
#include "policy/lua/lua_policy.hpp"
#include "policy/patient.hpp"
#include "scheduler/controller.hpp"
#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::span;

// Workers that start when they are wanted, end when they are told, and end well by themselves after
// a time that the job's id decides.
class ShortJobs : public testing::ObedientEngine {
 public:
  explicit ShortJobs(Clock& clock) : clock_(clock) {}

  Observed observe() override {
    for (auto due = ends_.begin(); due != ends_.end() && due->first <= clock_.now();
         due = ends_.erase(due))
      tell(WorkerEnded{due->second, testing::ending("0")});
    return ObedientEngine::observe();
  }

  std::map<JobId, int> starts;  // of rank 0

 protected:
  void start(const ProcessKey& worker) override {
    starts[worker.job] += worker.number == 0 ? 1 : 0;
    ends_.emplace(clock_.now() + (worker.job.value % 7 + 1) * span("100ms"), worker);
    ObedientEngine::start(worker);
  }
  void end(const ProcessKey& worker, const Stop& stop) override {
    std::erase_if(ends_, [&](const auto& due) { return due.second == worker; });
    ObedientEngine::end(worker, stop);
  }

 private:
  Clock& clock_;
  std::multimap<Time, ProcessKey> ends_;
};

constexpr const char* kFirstCome = R"(-- Arrival order.
function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    free = free - job.want * job.slots_per_worker
    if free < 0 then break end
    plan[#plan + 1] = {job = job, workers = job.want, reason = "its turn"}
  end
  return plan
end)";

// The same, but who does not fit is passed over, for ever if need be.
constexpr const char* kWhatFits = R"(-- Arrival order, what fits.
function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    local need = job.want * job.slots_per_worker
    if need <= free then
      free = free - need
      plan[#plan + 1] = {job = job, workers = job.want, reason = "it fits"}
    end
  end
  return plan
end)";

// Is loaded without complaint; fails as soon as one job runs and no other.
constexpr const char* kFailsLater = R"(-- Fails.
function decide(cluster)
  if #cluster.running == 1 then error("out of ideas") end
  return {}
end)";

// The same, and comes to no end.
constexpr const char* kHangsLater = R"(
function decide(cluster)
  if #cluster.running == 1 then while true do pcall(error) end end
  return {}
end)";

// Starts what fits, counts its rounds, and fails over every job that wants five workers.
constexpr const char* kFailsOverFive = R"(-- Fails over some.
function decide(cluster)
  remember("rounds", tostring((recall("rounds") or 0) + 1))
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    if job.want == 5 then error("five?") end
    free = free - job.want
    if free < 0 then break end
    plan[#plan + 1] = {job = job, workers = job.want, reason = "its turn"}
  end
  return plan
end)";

class ScriptRounds : public ::testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    restart();
    engine->tell(NodeUp{NodeId{0}, testing::cluster("1x8 cpu")[0]});
    step();
  }

  void restart() {
    controller.reset();
    engine = std::make_unique<ShortJobs>(clock);
    controller = std::make_unique<Controller>(store, *engine, clock, policies, options);
    ASSERT_TRUE(controller->recover());
  }

  void step(Duration later = span("50ms")) {
    ASSERT_TRUE(controller->step());
    clock.advance(later);
  }

  JobId submit(std::string_view literal) {
    std::optional<JobId> given;
    Submission submission{testing::job(literal), {}, {}};
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller->submit(std::move(submission), [&](Result<JobId> id) { given = id.value(); });
    step();
    return given.value_or(JobId{});
  }

  // The refusal; empty: it is loaded, and durable.
  std::string load(const std::string& name, const std::string& text) {
    std::optional<std::string> said;
    controller->desk().load(
        name, text, {}, [&](const Result<void>& done) { said = done ? "" : done.error().message; });
    step();
    return said.value_or("nothing was said");
  }

  std::string set(const std::string& name, Parameters parameters = {}) {
    std::optional<std::string> said;
    controller->desk().set({name, std::move(parameters)}, {}, [&](const Result<void>& done) {
      said = done ? "" : done.error().message;
    });
    step();
    return said.value_or("nothing was said");
  }

  // The script decides; jobs that it fails over find no room.
  void begin_failing_over_five() {
    ASSERT_EQ(load("mine", kFailsOverFive), "");
    for (int i = 0; i < 5; ++i) submit("1..1 hold");
    submit("6..6");
    ASSERT_EQ(set("mine"), "");
  }
  // A round in which the script fails, and one with nothing to decide.
  void fail_and_be_quiet() {
    const auto failed = journalled<PolicyFailed>().size();
    const JobId job = submit("5..5");
    EXPECT_EQ(journalled<PolicyFailed>().size(), failed + 1);
    controller->request(job, Request::cancel, {}, [](const Result<void>&) {});
    step();
    step();
    EXPECT_EQ(journalled<PolicyFailed>().size(), failed + 1);
  }

  std::string failure(const std::string& name) const {
    return controller->state().scripts().at(name).failure;
  }

  template <class T>
  std::vector<T> journalled() {
    std::vector<T> found;
    const auto entries = store.entries(1, 1'000'000).value();
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      if (const auto* wanted = event ? std::get_if<T>(event) : nullptr) found.push_back(*wanted);
    }
    return found;
  }

  MemoryStore store;
  ManualClock clock{time_from_us(10'000'000'000)};
  LuaEngine scripts;
  PolicyRegistry policies{&scripts};
  Controller::Options options{.build = "test", .policy = "fifo", .coalesce = span("1ms")};
  std::unique_ptr<ShortJobs> engine;
  std::unique_ptr<Controller> controller;
};

TEST_F(ScriptRounds, LoadSetAndForgetAPolicy) {
  EXPECT_EQ(load("mine", kFirstCome), "");
  EXPECT_EQ(controller->desk().pages().at("mine").summary, "Arrival order.");
  EXPECT_EQ(set("mine"), "");
  EXPECT_EQ(controller->state().policy()->name, "mine");
  const JobId job = submit("2..2");
  step();
  EXPECT_EQ(controller->state().job(job).last_change.text, "its turn");
  std::string said;
  const auto keep = [&](const Result<void>& done) { said = done ? "" : done.error().message; };
  controller->desk().forget("mine", {}, keep);
  EXPECT_EQ(said, "The policy mine is active.");
  EXPECT_EQ(set("fifo"), "");
  controller->desk().forget("mine", {}, keep);
  step();
  EXPECT_EQ(said, "");
  EXPECT_THAT(controller->state().scripts(), IsEmpty());
  EXPECT_THAT(set("mine"), HasSubstr("There is no policy 'mine'"));
}

TEST_F(ScriptRounds, RefuseAScriptThatCannotDecideNow) {
  submit("1..2");
  EXPECT_THAT(load("mine", "function decide(cluster) retrun end"), HasSubstr("line 1"));
  EXPECT_THAT(load("mine", "function decide(cluster) return {{job = 1, workers = 9}} end"),
              HasSubstr("asks for 9 workers of job 1"));
  EXPECT_THAT(load("fifo", kFirstCome), HasSubstr("The policy fifo is built in."));
  EXPECT_THAT(load("mine", std::string((256 << 10) + 1, ' ')), HasSubstr("256 KiB"));
  EXPECT_THAT(journalled<PolicyLoaded>(), IsEmpty());
}

TEST_F(ScriptRounds, AreTriedOnABusyClusterBeforeTheyDecide) {
  EXPECT_THAT(load("mine",
                   "function decide(cluster)\n"
                   "  for _, job in ipairs(cluster.running) do local n = job.wnat + 1 end\n"
                   "  return {}\nend"),
              AllOf(HasSubstr("On a busy cluster made up to try it:"), HasSubstr("in line 2")));
  EXPECT_THAT(load("mine",
                   "function decide(cluster)\n"
                   "  local plan = {}\n"
                   "  for _, job in ipairs(cluster.waiting) do\n"
                   "    plan[#plan + 1] = {job = job, workers = job.max + 1, reason = 'more'}\n"
                   "  end\n"
                   "  return plan\nend"),
              HasSubstr("made up to try it"));
  EXPECT_THAT(journalled<PolicyLoaded>(), IsEmpty());
}

TEST_F(ScriptRounds, LetThePolicyBeforeDecideWhenAScriptFails) {
  load("mine", kFailsLater);
  set("mine");
  const JobId first = submit("1..1");
  EXPECT_EQ(controller->state().job(first).state, JobState::pending);
  set("fifo");
  step();
  set("mine");
  EXPECT_THAT(failure("mine"), HasSubstr("in line 3: out of ideas"));
  EXPECT_EQ(controller->state().policy()->name, "mine");
  const JobId second = submit("1..1");
  step();
  EXPECT_NE(controller->state().job(second).state, JobState::pending) << "fifo started it";
  EXPECT_EQ(controller->state().job(second).attempt, 1);
}

TEST_F(ScriptRounds, GiveWayForGoodAfterThreeFailuresInARow) {
  load("mine", kHangsLater);
  submit("1..1 hold");
  const JobId trains = submit("6..6");
  step();
  ASSERT_EQ(controller->state().job(trains).state, JobState::running);
  ASSERT_EQ(set("mine"), "");
  for (int i = 0; i < 6 && controller->state().policy()->name == "mine"; ++i) submit("1..1 hold");
  EXPECT_EQ(controller->state().policy()->name, "fifo");
  EXPECT_EQ(journalled<PolicyFailed>().size(), 3U);
  EXPECT_THAT(failure("mine"), HasSubstr("does not come to an end"));
  EXPECT_EQ(engine->starts[trains], 1) << "trainings are untouched";
  restart();
  EXPECT_EQ(controller->state().policy()->name, "fifo");
  EXPECT_THAT(failure("mine"), HasSubstr("does not come to an end"));
}

TEST_F(ScriptRounds, GiveWayThoughQuietOnesLieBetweenFailures) {
  begin_failing_over_five();
  fail_and_be_quiet();
  fail_and_be_quiet();
  EXPECT_EQ(controller->state().policy()->name, "mine");
  fail_and_be_quiet();
  EXPECT_EQ(controller->state().policy()->name, "fifo");
  EXPECT_EQ(journalled<PolicyFailed>().size(), 3U);
}

TEST_F(ScriptRounds, CountFailuresAnewOnceTheScriptChangedSomething) {
  begin_failing_over_five();
  fail_and_be_quiet();
  fail_and_be_quiet();
  const JobId small = submit("1..1");
  EXPECT_EQ(controller->state().job(small).last_change.text, "its turn");
  fail_and_be_quiet();
  EXPECT_EQ(controller->state().policy()->name, "mine");
}

TEST_F(ScriptRounds, TakeAnEditedFileAtOnceAlsoWhileItIsActive) {
  load("mine", "function decide(cluster) return {} end");
  set("mine");
  const JobId job = submit("1..1");
  step();
  EXPECT_EQ(controller->state().job(job).state, JobState::pending);
  EXPECT_EQ(load("mine", kFirstCome), "");
  step();
  EXPECT_EQ(controller->state().job(job).attempt, 1);
  EXPECT_THAT(load("mine", "nonsense("), HasSubstr("in line 1"));
  EXPECT_EQ(controller->state().scripts().at("mine").text, kFirstCome) << "the old one stays";
}

TEST_F(ScriptRounds, GoOnWithTheSameScriptAfterARestart) {
  load("mine", kFirstCome);
  set("mine");
  ASSERT_TRUE(controller->checkpoint());
  restart();
  EXPECT_EQ(controller->state().policy()->name, "mine");
  EXPECT_EQ(controller->desk().pages().at("mine").summary, "Arrival order.");
  const JobId job = submit("1..1");
  step();
  EXPECT_EQ(controller->state().job(job).attempt, 1);
}

TEST_F(ScriptRounds, GoOnWithoutAnEngineForScripts) {
  load("mine", kFirstCome);
  set("mine");
  const PolicyRegistry bare;
  controller = std::make_unique<Controller>(store, *engine, clock, bare, options);
  ASSERT_TRUE(controller->recover());
  EXPECT_EQ(controller->state().policy()->name, "fifo");
}

TEST_F(ScriptRounds, ExplainInTheWordsOfTheScript) {
  EXPECT_THAT(load("mine",
                   "function decide(c) if c.waiting[1] then return "
                   "{{job = c.waiting[1], workers = 0, reason = 'waits for the moon'}} end "
                   "return {} end"),
              "");
  set("mine");
  const JobId job = submit("1..1");
  EXPECT_THAT(sentence(controller->reason(controller->state().job(job))),
              HasSubstr("waits for the moon"));
}

// ---- patience, which scripts know nothing of ----

class ScriptStream : public ScriptRounds {
 protected:
  // The script decides, and small jobs come faster than they end.
  void begin(const Parameters& parameters) {
    ASSERT_EQ(load("mine", kWhatFits), "");
    ASSERT_EQ(set("mine", parameters), "");
    for (int i = 0; i < 8; ++i) submit("1..1");
    wide = submit("6..6");
  }
  [[nodiscard]] bool waits() const { return !controller->state().job(wide).started_at; }
  // On slots that are kept nobody starts but the job that they are kept for; elsewhere others do.
  void check_kept() {
    const State& state = controller->state();
    const auto kept = reservation(state);
    if (!kept || !waits()) return;
    for (const QueueKey& key : state.active()) {
      const Job& job = state.job(key.job);
      if (job.current->formed_at < kept->since) continue;
      ++started_beside;
      for (const Worker& worker : job.current->workers) {
        const SlotId slot{worker.seat.node, worker.seat.slots[0]};
        EXPECT_THAT(kept->slots, Not(Contains(slot))) << job.id.value;
      }
    }
  }

  JobId wide;
  int started_beside = 0;
};

TEST_F(ScriptStream, KeepsSlotsForAJobThatTheScriptPassesOverForEver) {
  begin({{"patience", "1s"}});
  for (int i = 0; i < 60 && waits(); ++i) {
    submit(i % 2 == 0 ? "2..2" : "1..1");
    check_kept();
  }
  EXPECT_FALSE(waits());
  EXPECT_GT(started_beside, 0);
}

TEST_F(ScriptStream, PassesAWideJobOverForEverWithoutPatience) {
  begin({{"patience", "off"}});
  for (int i = 0; i < 200; ++i) submit(i % 2 == 0 ? "2..2" : "1..1");
  EXPECT_TRUE(waits());
}

// ---- 1,000 swaps while 200 short jobs run ----

class Swaps : public ScriptRounds {
 protected:
  void swap(Rng& rng) {
    static constexpr std::array kNames = {"fifo", "elastic-fifo", "round-robin", "mine", "other"};
    const auto ignore = [](const Result<void>&) {};
    if (rng.chance(0.5))
      return controller->desk().set({kNames[rng.below(kNames.size())], {}}, {}, ignore);
    std::string text = fmt::format("{}\n-- edition {}", kFirstCome, rng.below(1'000));
    if (rng.chance(0.2)) text = fails_after(clock.now());
    controller->desk().load(rng.chance(0.5) ? "mine" : "other", text, {}, ignore);
  }

  static std::string fails_after(Time time) {
    return fmt::format(
        "function decide(cluster)\n"
        "  if cluster.now > {} then error('too late') end\n  return {{}}\nend",
        to_seconds(time));
  }

  // A new server on what was stored; the workers live on.
  void restart_keeping_workers() {
    controller = std::make_unique<Controller>(store, *engine, clock, policies, options);
    ASSERT_TRUE(controller->recover());
  }

  void submit_one(std::uint32_t n) {
    Submission submission{testing::job(n % 3 == 0 ? "2..2" : "1..1"), {}, {}};
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller->submit(std::move(submission), [](const Result<JobId>& id) { EXPECT_TRUE(id); });
  }
};

TEST_F(Swaps, LoseNoJobAndRestartNone) {
  Rng rng(7);
  load("mine", kFirstCome);
  load("other", kFirstCome);
  for (std::uint32_t n = 0; n < 1'000; ++n) {
    if (n % 5 == 0) submit_one(n / 5);
    swap(rng);
    step();
    if (n % 100 == 50) restart_keeping_workers();
  }
  set("fifo");
  for (int i = 0; i < 10'000 && !controller->state().queue().empty(); ++i) step();
  const State& state = controller->state();
  ASSERT_EQ(state.jobs().size(), 200U);
  for (const Job& job : state.jobs()) {
    EXPECT_EQ(job.state, JobState::completed) << job.id.value;
    EXPECT_EQ(job.last_generation, Generation{1}) << job.id.value;
    EXPECT_EQ(engine->starts[job.id], 1) << job.id.value;
  }
  EXPECT_GT(journalled<PolicySet>().size() + journalled<PolicyLoaded>().size(), 900U);
  EXPECT_GT(journalled<PolicyFailed>().size(), 10U);
  EXPECT_THAT(check_state(state), IsEmpty());
  EXPECT_THAT(testing::differences(state, *store.load()), IsEmpty());
}

}  // namespace
}  // namespace paceline
