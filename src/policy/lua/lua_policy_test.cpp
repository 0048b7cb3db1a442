#include "policy/lua/lua_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

std::unique_ptr<LuaPolicy> policy(std::string_view text, const Parameters& parameters = {}) {
  auto made = LuaPolicy::make("mine", text, parameters, {});
  if (!made) throw std::invalid_argument(made.error().message);
  return std::move(*made);
}

// The sentence with which a script's decision fails in a world; empty if it doesn't.
std::string failure(std::string_view text, World& world, const SandboxLimits& limits = {}) {
  auto made = LuaPolicy::make("mine", text, {}, limits);
  if (!made) return made.error().message;
  std::string sentence;
  (void)world.plan([&](const Snapshot& snapshot, Draft& draft) {
    const auto ok = (*made)->try_decide(snapshot, draft);
    if (!ok) sentence = ok.error().message;
  });
  return sentence;
}

std::string failure(std::string_view text) {
  World world("1x4 cpu");
  world.run("1..2", 2);
  world.submit("2..4");
  return failure(text, world);
}

std::string failing(std::string_view body) {
  return failure("function decide(cluster)\n" + std::string(body) + "\nend");
}

// What a script says of a world with a job that runs, 1..2 with 2 workers, and one that waits,
// 2..4.
std::string says(std::string_view expression) {
  const std::string text = failing("error(tostring(" + std::string(expression) + "), 0)");
  const std::string head = "The policy mine fails: ";
  if (!text.starts_with(head)) return "? " + text;
  return text.substr(head.size(), text.size() - head.size() - 1);
}

Plan decided(World& world, std::string_view text, Protects protects = Protects::no) {
  const auto made = policy(text);
  const auto decide = [&](const Snapshot& s, Draft& d) {
    if (auto ok = made->try_decide(s, d); !ok) throw std::logic_error(ok.error().message);
  };
  return world.round(decide, protects);
}

TEST(LuaPolicy, StartsWhatTheScriptNames) {
  World world("1x4 cpu");
  world.submit("1..2");
  world.submit("2..4");
  const Plan plan = decided(world, R"(
    function decide(cluster)
      return {{job = cluster.waiting[2], workers = 3, reason = "it is my favourite"}}
    end)");
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].job, JobId{2});
  EXPECT_EQ(plan.changes[0].placement.size(), 3U);
  EXPECT_THAT(sentence(plan.changes[0].reason), HasSubstr("it is my favourite"));
}

TEST(LuaPolicy, ShowsJobsAsTheyAre) {
  EXPECT_EQ(says("cluster.slots"), "4");
  EXPECT_EQ(says("cluster.free"), "2");
  EXPECT_EQ(says("#cluster.jobs"), "2");
  EXPECT_EQ(says("cluster.running[1].workers"), "2");
  EXPECT_EQ(says("cluster.waiting[1].min .. '..' .. cluster.waiting[1].max"), "2..4");
  EXPECT_EQ(says("cluster.waiting[1].state"), "PENDING");
  EXPECT_EQ(says("cluster.waiting[1].remaining"), "nil");
  EXPECT_EQ(says("cluster.jobs[2] == cluster.waiting[1]"), "true");
  EXPECT_EQ(says("cluster.nodes[1].name .. cluster.nodes[1].free"), "cpu-02");
  EXPECT_EQ(says("fit(cluster.waiting[1], 2)"), "true");
  EXPECT_EQ(says("fit(cluster.waiting[1], 3)"), "false");
  EXPECT_EQ(says("fit(cluster.running[1], 4)"), "true");
  EXPECT_EQ(says("by('-workers')[1].id"), "1");
  EXPECT_EQ(says("speed(cluster.waiting[1], 2)"), "1.0");
  EXPECT_EQ(says("speed(cluster.waiting[1], 1)"), "0.5");
  EXPECT_EQ(says("remaining(cluster.waiting[1], 2)"), "nil");
}

TEST(LuaPolicy, NamesTheFieldThatWasMeant) {
  EXPECT_THAT(failing("return {cluster.jobs[1].worker}"), HasSubstr("did you mean 'workers'?"));
  EXPECT_THAT(failing("return cluster.job"), HasSubstr("the cluster has no field 'job'"));
}

TEST(LuaPolicy, NamesTheLine) {
  EXPECT_THAT(failing("local x = 1\nreturn x.y.z"), HasSubstr("in line 3: attempt to index"));
  EXPECT_THAT(failure("function decide(cluster)\n  local = 5\nend"),
              HasSubstr("in line 2: <name> expected near"));
  EXPECT_THAT(failure("x = 1"), HasSubstr("it has no function decide(cluster)"));
}

struct Nonsense {
  const char* answer;
  const char* sentence;
};

class NonsenseAnswers : public ::testing::TestWithParam<Nonsense> {};

TEST_P(NonsenseAnswers, AreRefusedWithASentence) {
  EXPECT_THAT(failing(GetParam().answer), HasSubstr(GetParam().sentence));
}

INSTANTIATE_TEST_SUITE_P(
    Each, NonsenseAnswers,
    ::testing::Values(
        Nonsense{"return {{job = 2, workers = -1}}",
                 "entry 1 of its answer asks for -1 workers of job 2: it takes 0 or 2 to 4"},
        Nonsense{"return {{job = 2, workers = 2.5}}", "has 2.5 for 'workers' of job 2"},
        Nonsense{"return {{job = 2, workers = 0/0}}", "nan for 'workers'"},
        Nonsense{"return {{job = 2, workers = 1e300}}", "1e+300 for 'workers'"},
        Nonsense{"return {{job = 2, workers = math.maxinteger}}", "asks for 9223372036854775807"},
        Nonsense{"return {{job = 2, workers = '2'}}", "has a text for 'workers'"},
        Nonsense{"return {{job = 2}}", "has nothing for 'workers'"},
        Nonsense{"return {{job = 2, workers = 1}}", "it takes 0 or 2 to 4"},
        Nonsense{"return {{job = 2, workers = 5}}", "it takes 0 or 2 to 4"},
        Nonsense{"return {{job = 7, workers = 1}}", "has 7 for 'job'"},
        Nonsense{"return {{job = 'two', workers = 2}}", "has a text for 'job'"},
        Nonsense{"return {{workers = 2}}", "has nothing for 'job'"},
        Nonsense{"return {{job = 2, workers = 2}, {job = 2, workers = 3}}", "names job 2 again"},
        Nonsense{"return {{job = 2, workers = 4}}", "needs 6 slots"},
        Nonsense{"return {{job = 2, workers = 2, share = 0.5}}", "has 'share'"},
        Nonsense{"return {{job = 2, workers = 2, reason = {}}}", "has a table for 'reason'"},
        Nonsense{"return {{job = 2, workers = 2, owed = 1, reason = 'a'}}", "has 1 for 'owed'"},
        Nonsense{"return {{job = 2, workers = 2, owed = true}}",
                 "entry 1 of its answer owes slots to job 2 without a reason"},
        Nonsense{"return {job = 2, workers = 2}", "its table has other keys"},
        Nonsense{"return {7}", "entry 1 of its answer is 7"},
        Nonsense{"return 'all of them'", "it returned a text"},
        Nonsense{"return", "it returned nothing"},
        Nonsense{"error({})", "it raised an error that is a table, no text"},
        Nonsense{"error()", "it raised an error that is a nil, no text"},
        Nonsense{"error(setmetatable({}, {__tostring = function() error('no') end}))",
                 "an error that is a table"}));

TEST(LuaPolicy, SeesWhichJobsAreHurtLeast) {
  World world("1x4 cpu");
  world.tell(RulesSet{{testing::span("10m")}});
  world.run("1", 1);
  world.run("1", 1);
  const JobId saved = world.run("1", 1);
  world.submit("1");
  world.advance(testing::span("30s"));
  world.checkpoint(saved);
  world.advance(testing::span("5s"));
  const auto order = [&](const std::string& jobs) {
    return failure("function decide(c) local t = '' for _, j in ipairs(by_harm(" + jobs +
                       ")) do t = t .. j.id .. ' ' end error(t, 0) end",
                   world);
  };
  EXPECT_THAT(order(""), HasSubstr(": 3 1 2 "));
  EXPECT_THAT(order("{c.jobs[4], c.jobs[2], c.jobs[3]}"), HasSubstr(": 3 2 "))
      << "a waiting job has nothing to give";
  EXPECT_THAT(failing("by_harm({7})"), HasSubstr("a job of cluster.jobs is wanted here"));
}

// ---- what a script says is owed ----

// Job 1 runs and never saved: its stop would cost all it ran. The first in line wants its slots.
constexpr const char* kOwes = R"(
  function decide(cluster)
    local plan = {{job = 1, workers = 0}}
    for _, job in ipairs(cluster.waiting) do
      local owed = job.user == "ann"
      plan[#plan + 1] = {job = job, workers = job.want, owed = owed, reason = "it is her turn"}
    end
    return plan
  end)";

TEST(LuaPolicy, TakesSlotsThatAreOwedFromAJobThatWouldLoseWork) {
  for (const char* user : {"bob", "ann"}) {
    World world("1x2 cpu");
    const JobId runs = world.run("2", 2);
    world.advance(testing::span("1m"));
    world.submit(std::string("2 user=") + user);
    const Plan plan = decided(world, kOwes, Protects::yes);
    if (user == std::string_view("bob")) {
      EXPECT_THAT(plan.changes, ::testing::IsEmpty()) << "nothing is owed";
      continue;
    }
    ASSERT_EQ(plan.changes.size(), 2U);
    EXPECT_EQ(plan.changes[0].kind, ChangeKind::stop);
    EXPECT_EQ(plan.changes[0].job, runs);
    EXPECT_EQ(sentence(plan.changes[0].reason),
              "stops so that job 2, which is owed slots (it is her turn), can start");
  }
}

TEST(LuaPolicy, AsksForSlotsThatAreOwedBeforeItTakesThem) {
  World world("1x2 cpu");
  world.tell(RulesSet{{testing::span("10m")}});
  const JobId runs = world.run("2", 2);
  world.advance(testing::span("1m"));
  world.submit("2 user=ann");
  const Plan asks = decided(world, kOwes, Protects::yes);
  EXPECT_THAT(asks.changes, ::testing::IsEmpty());
  ASSERT_EQ(asks.asked.size(), 1U);
  EXPECT_EQ(asks.asked[0].job, runs);
  world.advance(testing::span("10m"));
  EXPECT_EQ(decided(world, kOwes, Protects::yes).changes.size(), 2U);
}

TEST(LuaPolicy, LeavesAJobAloneAtFirstWhateverIsOwed) {
  World world("1x2 cpu");
  world.run("2", 2);
  world.submit("2 user=ann");
  world.advance(testing::span("9s"));
  EXPECT_THAT(decided(world, kOwes, Protects::yes).changes, ::testing::IsEmpty());
  world.advance(testing::span("1s"));
  EXPECT_EQ(decided(world, kOwes, Protects::yes).changes.size(), 2U);
}

TEST(LuaPolicy, OwesSlotsToTheJobsThatItNamesAlone) {
  World world("1x2 cpu");
  world.run("1", 1);
  world.run("1", 1);
  world.advance(testing::span("1m"));
  world.submit("1 user=bob");
  const JobId owed = world.submit("1 user=ann");
  const Plan plan = decided(world, R"(
    function decide(cluster)
      local plan = {{job = 1, workers = 0}, {job = 2, workers = 0}}
      for _, job in ipairs(cluster.waiting) do
        plan[#plan + 1] = {job = job, workers = 1, owed = job.user == "ann", reason = "a turn"}
      end
      return plan
    end)",
                            Protects::yes);
  ASSERT_EQ(plan.changes.size(), 2U) << "bob is listed before ann, and owed nothing";
  EXPECT_EQ(plan.changes[1].job, owed);
}

// The slots of a job that shrinks are still being emptied; they may be asked for.
TEST(LuaPolicy, CountsSlotsThatAreBeingEmptied) {
  World world("1x4 cpu");
  const JobId job = world.run("2..4 elastic=restart", 4);
  world.change_size(job, 2);
  world.submit("2");
  EXPECT_EQ(failure("function decide(c) return {{job = 2, workers = 2}} end", world), "");
}

TEST(LuaPolicy, KeepsStepsOfAMesh) {
  World world("2x8 h100");
  world.submit("4..12 mesh=2x2");
  EXPECT_THAT(failure("function decide(c) return {{job = 1, workers = 6}} end", world),
              HasSubstr("it takes 0 or 4 to 12 in steps of 4"));
}

// Digits take longer than instructions do.
TEST(LuaPolicy, CountsTheTextsOfNumbers) {
  const auto used = [](const std::string& body) {
    World world("1x4 cpu");
    const auto policy = LuaPolicy::make(
        "mine", "function decide(c) for i = 1, 1000 do " + body + " end return {} end", {}, {});
    std::int64_t instructions = 0;
    (void)world.plan([&](const Snapshot& snapshot, Draft& draft) {
      instructions = (*policy)->cost(snapshot, draft).value();
    });
    return instructions / 1000;
  };
  EXPECT_GT(used("string.format('%.99f', 1e308)"), 850);
  EXPECT_GT(used("string.format('%d %d', i, i)"), 160);
  EXPECT_LT(used("string.format('%d %d', i, i)"), 240);
  EXPECT_LT(used("string.format('%.1f', i / 7)"), 140);
  EXPECT_GT(used("tostring(i)"), 80);
}

TEST(LuaPolicy, EndsWhenItsTimeIsUp) {
  World world("1x4 cpu");
  SandboxLimits limits;
  Duration used{};
  limits.time_used = [&] { return used += std::chrono::milliseconds{300}; };
  EXPECT_THAT(
      failure("function decide(c) while true do pcall(tostring, 1.5) end end", world, limits),
      HasSubstr("computes for more than 1 seconds"));
  limits.time = std::chrono::seconds{3};
  EXPECT_THAT(
      failure("function decide(c) while true do pcall(tostring, 1.5) end end", world, limits),
      HasSubstr("computes for more than 3 seconds"));
  EXPECT_EQ(failure("function decide(c) for i = 1, 100 do end return {} end", world, limits), "");
}

TEST(LuaPolicy, CountsTheTimeOfCompiling) {
  World world("1x4 cpu");
  SandboxLimits limits;
  Duration used{};
  limits.time_used = [&] { return std::exchange(used, used + std::chrono::seconds{2}); };
  EXPECT_THAT(failure("function decide(c) return {} end", world, limits),
              HasSubstr("computes for more than 1 seconds"));
  limits.time = std::chrono::seconds{5};
  EXPECT_EQ(failure("function decide(c) return {} end", world, limits), "");
}

class Misbehaviour : public ::testing::TestWithParam<const char*> {};

TEST_P(Misbehaviour, EndsWithinTheLimits) {
  const std::string sentence = failing(GetParam());
  EXPECT_THAT(sentence, ::testing::AnyOf(HasSubstr("does not come to an end"),
                                         HasSubstr("MiB of memory"), HasSubstr("bytes"),
                                         HasSubstr("stack overflow"), HasSubstr("overflow")))
      << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Each, Misbehaviour,
    ::testing::Values(
        "while true do end", "while true do pcall(function() while true do end end) end",
        "local function f() pcall(f) f() end f()",
        "pcall(pcall, pcall, function() while true do end end) while true do end",
        "setmetatable(_G, {__index = function() while true do end end}) return nothing_there",
        "local t = setmetatable({}, {__lt = function() while true do end end}) return t < t",
        "local t = setmetatable({}, {__close = function() while true do end end})\n"
        "do local x <close> = t end",
        "local t = setmetatable({}, {__close = function() while true do end end})\n"
        "pcall(function() local x <close> = t while true do end end) while true do end",
        "string.rep('x', 1 << 40)", "string.rep('', 1 << 62) while true do end",
        "string.rep('x', 1 << 20, 'y')",
        "local t = {} for i = 1, 1000 do t[i] = i end\n"
        "table.sort(t, function(a, b) while true do end end)",
        "local t = {} for i = 1, 300000 do t[i] = i end while true do table.sort(t) end",
        "local t = {} for i = 1, 300000 do t[i] = i end while true do table.insert(t, 1, 0) end",
        "local t = {} for i = 1, 300000 do t[i] = i end while true do table.concat({}, '') end",
        "local t = {} for i = 1, 300000 do t[i] = i end while true do next(t) end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} while true do pcall(function() t[#t + 1] = {1, 2, 3} end) end",
        "local s = 'x' while true do s = s .. s end",
        "local s = 'x' while true do pcall(function() s = s .. s end) end",
        "local function f() return 1 + f() end return f()",
        "local t = {} for i = 1, 1e9 do t = {t} end",
        "local t = setmetatable({}, {}) getmetatable(t).__index = t for i = 1, 1e9 do t = "
        "setmetatable({}, {__index = t}) end return t.x",
        "while true do by('id') end", "while true do fit(cluster.jobs[1], 100000) end",
        "local t = {} for i = 62, 0, -1 do t[1 << i] = 0 end table.insert(t, 1, 0)",
        "local t = {} for i = 62, 0, -1 do t[1 << i] = 0 end table.remove(t, 1)",
        "local t = {} for i = 60, 0, -1 do t[1 << i] = 0 end pcall(table.insert, t, 0, 0)\n"
        "while true do end",
        "local t = {} for i = 62, 0, -1 do t[1 << i] = 0 end by('id', t)",
        "local t = {} for i = 62, 0, -1 do t[1 << i] = 0 end by_harm(t)"));

TEST(LuaPolicy, HasNoWayOut) {
  for (const char* name : {"io",
                           "os",
                           "debug",
                           "require",
                           "package",
                           "load",
                           "loadstring",
                           "loadfile",
                           "dofile",
                           "collectgarbage",
                           "coroutine",
                           "xpcall",
                           "print",
                           "warn",
                           "utf8",
                           "string.dump",
                           "string.gsub",
                           "string.match",
                           "string.gmatch",
                           "string.pack",
                           "table.move",
                           "math.randomseed",
                           "('x').gsub"}) {
    EXPECT_EQ(says(name), "nil") << name;
  }
  EXPECT_THAT(failure("\x1bLua"), HasSubstr("attempt to load a binary chunk"));
  EXPECT_THAT(failure("\xff"), HasSubstr("not a text in UTF-8"));
  EXPECT_THAT(failing("remember('a', '\\xff')"), HasSubstr("a value is UTF-8"));
  EXPECT_THAT(failing("error('\\xff', 0)"), HasSubstr("\xEF\xBF\xBD"));
  EXPECT_THAT(failing("setmetatable({}, {__gc = function() end})"), HasSubstr("has no __gc"));
  EXPECT_THAT(failing("string.format('%p', {})"), HasSubstr("has no '%p'"));
  EXPECT_THAT(failing("getmetatable(cluster).__index = 7"),
              HasSubstr("attempt to index a boolean"));
  EXPECT_THAT(failing("setmetatable(cluster.jobs[1], {})"), HasSubstr("keeps its metatable"));
}

TEST(LuaPolicy, ShowsNoAddress) {
  EXPECT_EQ(says("tostring({})"), "table");
  EXPECT_EQ(says("tostring(function() end)"), "function");
  EXPECT_THAT(says("string.format('%s', {})"), HasSubstr("not a table"));
}

TEST(LuaPolicy, GoesThroughTablesInTheOrderOfTheirKeys) {
  EXPECT_EQ(says("(function() local s = '' for k in pairs({b = 1, a = 1, [3] = 1, [1] = 1, z = 1, "
                 "[2.5] = 1, [true] = 1}) do s = s .. tostring(k) .. ' ' end return s end)()"),
            "1 2.5 3 a b z true ");
  EXPECT_EQ(says("next({b = 1, a = 1})"), "a");
  EXPECT_EQ(says("next({b = 1, a = 1}, 'a')"), "b");
  EXPECT_EQ(says("next({})"), "nil");
  EXPECT_THAT(says("pairs({[{}] = 1})"), HasSubstr("use its id"));
  EXPECT_EQ(says("(function() local n = 0 for k, v in pairs(cluster.jobs[1]) do n = n + 1 end "
                 "return n > 20 end)()"),
            "true");
}

TEST(LuaPolicy, MatchesNames) {
  EXPECT_EQ(says("glob('eval-resnet-7', 'eval-*-?')"), "true");
  EXPECT_EQ(says("glob('train', 'eval-*')"), "false");
  EXPECT_EQ(says("('abc'):find('c')"), "3");
  EXPECT_EQ(says("('abc'):find('.')"), "nil");
}

TEST(LuaPolicy, SeesNoNodeThatRetired) {
  constexpr const char* kText =
      "function decide(cluster) remember('nodes', #cluster.nodes) return {} end";
  World world("2x4 cpu");
  EXPECT_THAT(decided(world, kText).memo, ElementsAre(std::pair("mine.nodes", "2")));
  world.node_down("cpu-0");
  world.node_retired("cpu-0");
  EXPECT_THAT(decided(world, kText).memo, ElementsAre(std::pair("mine.nodes", "1")));
}

TEST(LuaPolicy, RemembersThroughTheJournalAlone) {
  constexpr const char* kText = R"(
    local rounds = 0
    function decide(cluster)
      rounds = rounds + 1
      assert(rounds == 1, "a global outlived its round")
      remember("turn", (recall("turn") or 0) + 1)
      revisit(30)
      return {}
    end)";
  World world("1x4 cpu");
  EXPECT_THAT(decided(world, kText).memo, ElementsAre(std::pair("mine.turn", "1")));
  EXPECT_THAT(decided(world, kText).memo, ElementsAre(std::pair("mine.turn", "2")));
}

TEST(LuaPolicy, LeavesTheDraftAloneWhenItFails) {
  World world("1x4 cpu");
  world.submit("1");
  const auto made = policy(R"(function decide(c) remember("a", 1) revisit(9) error("no") end)");
  (void)world.plan([&](const Snapshot& snapshot, Draft& draft) {
    EXPECT_FALSE(made->try_decide(snapshot, draft));
    EXPECT_TRUE(draft.plan().changes.empty());
    EXPECT_TRUE(draft.plan().memo.empty());
    EXPECT_FALSE(draft.awaited().revisit_at);
  });
}

TEST(LuaPolicy, TakesParameters) {
  constexpr const char* kText =
      "-- mine: something\n--\n-- More.\nlocal n = parameter('n', 3)\n"
      "local eager = parameter('eager', true)\n"
      "function decide(c) error(n + 1 .. tostring(eager), 0) end";
  World world("1x4 cpu");
  EXPECT_EQ(policy(kText)->page().summary, "mine: something");
  EXPECT_EQ(policy(kText)->page().text, "mine: something\n\nMore.\n");
  EXPECT_EQ(policy(kText)->page().defaults, (Parameters{{"eager", "true"}, {"n", "3"}}));
  const auto given = policy(kText, {{"n", "7"}, {"eager", "false"}});
  (void)world.plan([&](const Snapshot& s, Draft& d) {
    EXPECT_THAT(given->try_decide(s, d).error().message, HasSubstr("8false"));
  });
  EXPECT_THAT(LuaPolicy::make("mine", kText, {{"m", "7"}}, {}).error().message,
              HasSubstr("has no parameter 'm'"));
  EXPECT_THAT(LuaPolicy::make("mine", kText, {{"n", "many"}}, {}).error().message,
              HasSubstr("the parameter n is a number, not 'many'"));
}

TEST(LuaPolicy, AnswersTheSameToTheSame) {
  World world("4x8 h100");
  for (int i = 0; i < 20; ++i) world.submit("1..8");
  constexpr const char* kText = R"(
    function decide(cluster)
      local names, list = {}, {}
      for _, job in ipairs(cluster.jobs) do names[job.name .. job.id] = job end
      for _, job in pairs(names) do
        if math.random() < 0.5 then list[#list + 1] = {job = job, workers = job.min} end
      end
      return list
    end)";
  const auto one = policy(kText);
  const auto plan = [&] {
    return world.plan([&](const Snapshot& s, Draft& d) { one->decide(s, d); });
  };
  const Plan first = plan();
  EXPECT_FALSE(first.changes.empty());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(plan().changes, first.changes);
}

TEST(PolicyRegistry, LoadsTextsUnderNamesOfTheirOwn) {
  const LuaEngine engine;
  const PolicyRegistry registry(&engine);
  constexpr const char* kText = "function decide(cluster) return {} end";
  EXPECT_TRUE(registry.load("mine", kText, {}));
  EXPECT_EQ(registry.load("fifo", kText, {}).error().code, ErrorCode::conflict);
  EXPECT_EQ(registry.load("Mine", kText, {}).error().code, ErrorCode::invalid);
  EXPECT_EQ(registry.load("", kText, {}).error().code, ErrorCode::invalid);
  EXPECT_EQ(registry.load("mine", std::string(kScriptBytesMax + 1, ' '), {}).error().code,
            ErrorCode::too_large);
  EXPECT_EQ(PolicyRegistry().load("mine", kText, {}).error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace paceline
