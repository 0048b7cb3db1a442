// Every script under examples/policies/ and every snippet of docs/policies.md, run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "policy/lua/lua_policy.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

const std::filesystem::path kExamples = "examples/policies";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::unique_ptr<LuaPolicy> example(const std::string& name, const Parameters& parameters = {}) {
  auto made = LuaPolicy::make(name, read(kExamples / (name + ".lua")), parameters, {});
  if (!made) throw std::invalid_argument(made.error().message);
  return std::move(*made);
}

// One round, folded: "start 2 with 3: because", one line a change.
std::vector<std::string> round_of(const LuaPolicy& policy, World& world) {
  const Plan plan = world.round([&](const Snapshot& s, Draft& d) {
    if (auto ok = policy.try_decide(s, d); !ok) throw std::logic_error(ok.error().message);
  });
  std::vector<std::string> lines;
  for (const Change& change : plan.changes) {
    std::ostringstream line;
    line << to_string(change.kind) << ' ' << change.job.value;
    if (!change.placement.empty()) line << " with " << change.placement.size();
    lines.push_back(line.str());
  }
  return lines;
}

std::vector<std::string> round_of(const std::string& name, World& world,
                                  const Parameters& parameters = {}) {
  return round_of(*example(name, parameters), world);
}

TEST(PolicyExamples, FirstComeStartsInOrderAndBlocks) {
  World world("1x6 cpu");
  world.submit("2..4@4");
  world.submit("4");
  world.submit("1");
  EXPECT_THAT(round_of("first-come", world), ElementsAre("start 1 with 4"));
}

TEST(PolicyExamples, ShortestFirstPassesOverWhatDoesNotFit) {
  World world("1x4 cpu");
  world.submit("2");
  world.submit("2 expect=2h");
  world.submit("3 expect=1h");
  world.submit("1 expect=3h");
  EXPECT_THAT(round_of("shortest-first", world), ElementsAre("start 3 with 3", "start 4 with 1"));
}

TEST(PolicyExamples, LeastAttainedStopsAJobThatHadMuch) {
  World world("1x2 cpu");
  const JobId old = world.run("2 elastic=restart", 2);
  world.submit("2");
  EXPECT_THAT(round_of("least-attained", world), IsEmpty());
  world.advance(span("40m"));
  EXPECT_THAT(round_of("least-attained", world), ElementsAre("stop 1", "start 2 with 2"));
  EXPECT_EQ(world.job(old).current->stop->cause, Cause::preempted);
}

TEST(PolicyExamples, UsersInTurnServesThePoorestUser) {
  World world("1x4 cpu");
  world.submit("1 user=ann");
  world.submit("1 user=ann");
  world.submit("1 user=ann");
  world.submit("1 user=ann");
  world.submit("2 user=bob");
  EXPECT_THAT(round_of("users-in-turn", world),
              ElementsAre("start 1 with 1", "start 5 with 2", "start 2 with 1"));
}

TEST(PolicyExamples, DeadlineFirstTakesSlotsOfAJobWithoutOne) {
  World world("1x4 cpu");
  world.run("4 elastic=restart", 4);
  world.submit("2 deadline=10h");
  world.submit("2 deadline=5h");
  world.advance(span("1m"));
  const auto lines = round_of("deadline-first", world);
  EXPECT_EQ((std::set<std::string>(lines.begin(), lines.end())),
            (std::set<std::string>{"stop 1", "start 3 with 2", "start 2 with 2"}));
}

TEST(PolicyExamples, OnePerUserLetsEverybodyHaveOne) {
  World world("1x4 cpu");
  world.submit("1 user=ann");
  world.submit("1 user=ann");
  world.submit("1 user=bob");
  EXPECT_THAT(round_of("one-per-user", world), ElementsAre("start 1 with 1", "start 3 with 1"));
  EXPECT_THAT(round_of("one-per-user", world, {{"jobs", "2"}}), ElementsAre("start 2 with 1"));
}

TEST(PolicyExamples, AgingLetsPatienceBeatPriority) {
  World world("1x1 cpu");
  world.submit("1 priority=40");
  world.advance(span("2h"));
  world.submit("1 priority=50");
  EXPECT_THAT(round_of("aging", world), ElementsAre("start 1 with 1"));
  World eager("1x1 cpu");
  eager.submit("1 priority=40");
  eager.advance(span("30m"));
  eager.submit("1 priority=50");
  EXPECT_THAT(round_of("aging", eager), ElementsAre("start 2 with 1"));
}

// A world begins at 1000 s, in the night.
TEST(PolicyExamples, NightShiftKeepsLargeJobsForTheNight) {
  World day("1x8 cpu");
  day.advance(span("10h"));
  day.submit("6");
  day.submit("2");
  EXPECT_THAT(round_of("night-shift", day), ElementsAre("start 2 with 2"));
  day.advance(span("10h"));
  EXPECT_THAT(round_of("night-shift", day), ElementsAre("start 1 with 6"));
}

TEST(PolicyExamples, EvenShareSharesEvenly) {
  World world("1x8 cpu");
  world.submit("1..8");
  world.submit("1..2");
  world.submit("1..8");
  EXPECT_THAT(round_of("even-share", world),
              ElementsAre("start 1 with 3", "start 2 with 2", "start 3 with 3"));
}

TEST(PolicyExamples, EvenShareShrinksForNewcomers) {
  World world("1x4 cpu");
  world.run("1..4 elastic=restart", 4);
  world.submit("2..4");
  world.advance(span("1m"));
  EXPECT_THAT(round_of("even-share", world), ElementsAre("resize 1 with 2", "start 2 with 2"));
}

TEST(PolicyExamples, NearestTargetGrowsTheLastMile) {
  World world("1x8 cpu");
  const JobId far = world.run("1..4 elastic=restart target=accuracy>=0.9", 1);
  const JobId near = world.run("1..4 elastic=restart target=accuracy>=0.9", 1);
  world.submit("2..4");
  Progress report;
  report.metrics["accuracy"] = 0.5;
  world.report(far, report);
  report.metrics["accuracy"] = 0.8;
  world.report(near, report);
  world.advance(span("1m"));
  EXPECT_THAT(round_of("nearest-target", world), ElementsAre("start 3 with 2", "resize 2 with 4"));
}

TEST(PolicyExamples, AllHaveAPageAndAreInTheBook) {
  const auto book = read("docs/policies.md");
  int scripts = 0;
  for (const auto& file : std::filesystem::directory_iterator(kExamples)) {
    const auto name = file.path().stem().string();
    EXPECT_THAT(example(name)->page().text, HasSubstr("Objective:")) << name;
    EXPECT_THAT(book, HasSubstr(name + ".lua"));
    ++scripts;
  }
  EXPECT_GE(scripts, 10);
}

// ---- docs/policies.md ----

// The blocks ```lua of a page.
std::vector<std::string> snippets(const std::string& page) {
  std::vector<std::string> found;
  constexpr std::string_view kOpen = "```lua\n";
  for (auto at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at)) {
    at += kOpen.size();
    const auto end = page.find("```", at);
    found.push_back(page.substr(at, end - at));
  }
  return found;
}

TEST(PolicyBook, SnippetsDecide) {
  const auto all = snippets(read("docs/policies.md"));
  EXPECT_GE(all.size(), 4U);
  for (const auto& text : all) {
    World world("2x4 h100; 1x4 cpu");
    world.run("1..4 elastic=restart", 2);
    world.submit("1..4 user=ann expect=1h");
    world.submit("2 user=bob name=eval-7");
    world.advance(span("5m"));
    const auto made = LuaPolicy::make("mine", text, {}, {});
    ASSERT_TRUE(made) << made.error().message << "\n" << text;
    (void)world.plan([&](const Snapshot& s, Draft& d) {
      const auto ok = (*made)->try_decide(s, d);
      EXPECT_TRUE(ok) << ok.error().message << "\n" << text;
    });
  }
}

TEST(PolicyBook, TellsOfEveryFieldAndFunction) {
  const auto book = read("docs/policies.md");
  const auto probe = LuaPolicy::make("probe", R"(
    function decide(cluster)
      local all = ""
      for name in pairs(cluster.waiting[1]) do all = all .. name .. " " end
      error(all, 0)
    end)",
                                     {}, {});
  World world("1x4 cpu");
  world.submit("1 expect=1h deadline=2h target=loss<=1");
  std::string fields;
  (void)world.plan(
      [&](const Snapshot& s, Draft& d) { fields = (*probe)->try_decide(s, d).error().message; });
  std::istringstream words(fields.substr(fields.find(": ") + 2));
  int count = 0;
  for (std::string word; words >> word && word != ".";) {
    EXPECT_THAT(book, HasSubstr("`" + word + "`"));
    ++count;
  }
  EXPECT_GT(count, 20);
  for (const char* name : {"fit(", "by(", "by_harm(", "speed(", "remaining(", "recall(",
                           "remember(", "revisit(", "parameter(", "glob("})
    EXPECT_THAT(book, HasSubstr(name));
}

}  // namespace
}  // namespace paceline
