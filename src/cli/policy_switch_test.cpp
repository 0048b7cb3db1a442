// Switches of policies that are played first, and rules.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/fake_server.hpp"
#include "cli/run_cli.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kStops =
    R"({"id":5,"user":"ann","name":"none2","what":"stops","workers":1,"workers_then":0,"by":6,
        "never_saved":true,"loses_seconds":45,"loses_slot_seconds":45,"stops_at":null})";
constexpr auto kAsks =
    R"({"id":5,"user":"ann","name":"none2","what":"asks","workers":1,"workers_then":1,"by":6,
        "never_saved":true,"loses_seconds":45,"loses_slot_seconds":45,"stops_at":700})";
constexpr auto kShrinks =
    R"({"id":7,"user":"bob","name":"wide","what":"shrinks","workers":4,"workers_then":2,"by":6,
        "never_saved":false,"loses_seconds":0,"loses_slot_seconds":0,"stops_at":null})";

// Plays and makes every switch with these effects.
FakeServer::Handler doing(std::string effects) {
  return [effects = std::move(effects)](const FakeRequest&) -> FakeAnswer {
    return {R"({"active":{"name":"fair"},"previous":{"name":"fifo"},"next_round":{"policy":"fair",
      "starts":1,"loses_work":true,"loses_slot_seconds":45,"jobs":[)" +
            effects + R"(],"other_jobs":0}})"};
  };
}

TEST(PolicySwitch, ThatHarmsNobodyIsMadeUnasked) {
  const FakeServer harmless(doing(""));
  EXPECT_EQ(run_words(harmless, {"policy", "set", "fair"}).out,
            "The policy is fair now; it was fifo. Its first round restarts nothing.\n");
  EXPECT_THAT(harmless.log(), ElementsAre("PUT /v1/policy?dry_run=1", "PUT /v1/policy"));
  const FakeServer shrinking(doing(kShrinks));
  EXPECT_EQ(run_words(shrinking, {"policy", "set", "fair"}).out,
            "The policy is fair now; it was fifo. The next round is to shrink job 7 of bob from 4 "
            "to 2 workers.\n");
}

TEST(PolicySwitch, ThatStopsAJobIsRefusedWhereNobodyCanBeAsked) {
  const FakeServer server(doing(kStops));
  const auto set = run_words(server, {"policy", "set", "fair", "--weights", "ann=2"});
  EXPECT_EQ(set.code, 76);
  EXPECT_EQ(set.out, "");
  EXPECT_THAT(set.err, HasSubstr("With fair the next round would stop job 5 of ann, which never "
                                 "saved and loses 45s.\n"));
  EXPECT_THAT(set.err, HasSubstr("policy set fair --weights ann=2 --yes'"));
  EXPECT_EQ(run_words(server, {"policy", "promote"}).code, 76);
  EXPECT_EQ(run_words(server, {"policy", "rollback"}).code, 76);
  EXPECT_THAT(server.log(),
              ElementsAre("PUT /v1/policy?dry_run=1", "POST /v1/shadow/promote?dry_run=1",
                          "POST /v1/policy/rollback?dry_run=1"));
}

TEST(PolicySwitch, ThatAsksAJobIsRefusedToo) {
  const FakeServer server(doing(kAsks));
  const auto set = run_words(server, {"policy", "set", "fair"});
  EXPECT_EQ(set.code, 76);
  EXPECT_THAT(set.err, HasSubstr("ask job 5 of ann to save and give way, which never saved and "
                                 "would lose 45s"));
}

TEST(PolicySwitch, IsMadeWithYesAndTellsWhatComesOfIt) {
  const FakeServer server(doing(kStops));
  const auto set = run_words(server, {"policy", "set", "fair", "--weights", "ann=2", "--yes"});
  EXPECT_EQ(set.code, 0);
  EXPECT_EQ(set.out,
            "The policy is fair now; it was fifo. The next round is to stop job 5 of ann, which "
            "never saved and loses 45s.\n");
  EXPECT_EQ(server.requests().back().body, R"({"name":"fair","parameters":{"weights":"ann=2"}})");
  EXPECT_EQ(run_words(server, {"policy", "promote", "--yes"}).code, 0);
  EXPECT_EQ(run_words(server, {"policy", "rollback", "-y"}).code, 0);
  EXPECT_THAT(server.log(),
              ElementsAre("PUT /v1/policy", "POST /v1/shadow/promote", "POST /v1/policy/rollback"));
}

TEST(PolicySwitch, NamesSomeOfManyJobs) {
  std::string effects = kStops;
  for (int i = 0; i < 4; ++i) effects += std::string(",") + kStops;
  const FakeServer server(doing(effects));
  EXPECT_THAT(run_words(server, {"policy", "set", "fair"}).err,
              HasSubstr("loses 45s; and change 2 jobs more."));
}

// What `paceline policy set fair` does at a terminal on which that was typed.
int set_at_terminal(const FakeServer& server, std::string_view typed) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);  // NOLINT: one thread
  EXPECT_EQ(::write(master, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  const int nowhere = ::open("/dev/null", O_WRONLY);
  Console console({.input_fd = terminal, .output_fd = nowhere, .error_fd = nowhere});
  const Hooks hooks;
  Context context(console, {{"PACELINE_DIR", server.directory()}}, hooks);
  const int code = run_cli(context, {"policy", "set", "fair"});
  for (const int fd : {master, terminal, nowhere}) ::close(fd);
  return code;
}

TEST(PolicySwitch, AsksAtATerminal) {
  const FakeServer server(doing(kStops));
  EXPECT_EQ(set_at_terminal(server, "n\n"), 76);
  EXPECT_EQ(set_at_terminal(server, "\n"), 76);
  EXPECT_THAT(server.log(), ElementsAre("PUT /v1/policy?dry_run=1", "PUT /v1/policy?dry_run=1"));
  EXPECT_EQ(set_at_terminal(server, "y\n"), 0);
  ASSERT_FALSE(server.log().empty());
  EXPECT_EQ(server.log().back(), "PUT /v1/policy");
}

TEST(Rules, AreShownAndSet) {
  const FakeServer server([](const FakeRequest& request) -> FakeAnswer {
    return {request.method == "PUT" ? request.body : R"({"reclaim_after_seconds":600})"};
  });
  EXPECT_EQ(run_words(server, {"rules"}).out,
            "RULE            VALUE  MEANS\n"
            "reclaim-after  10m00s  how long a job that never saved is asked before it is stopped "
            "for others\n");
  EXPECT_EQ(run_words(server, {"rules", "-o", "name"}).out, "reclaim-after\n");
  EXPECT_EQ(run_words(server, {"rules", "--reclaim-after", "5m"}).out,
            "A job that never saved may be stopped for others 5m00s after it was asked.\n");
  EXPECT_THAT(server.requests().back().body, HasSubstr("\"reclaim_after_seconds\":300"));
  EXPECT_EQ(run_words(server, {"rules", "--reclaim-after", "0s"}).out,
            "A job that never saved may be stopped for others at once.\n");
  EXPECT_THAT(server.log(),
              ElementsAre("GET /v1/rules", "GET /v1/rules", "PUT /v1/rules", "PUT /v1/rules"));
  for (const auto* wrong : {"5", "2y", "400d", "-1s"})
    EXPECT_EQ(run_words(server, {"rules", "--reclaim-after", wrong}).code, 64) << wrong;
}

TEST(Asked, StandsOnTheJobsPageAndInEvents) {
  const FakeServer server([](const FakeRequest& request) -> FakeAnswer {
    if (request.target.starts_with("/v1/jobs"))
      return {R"({"id":5,"name":"none2","state":"RUNNING","reason":"is asked for 1 slot by job 6",
                  "workers":1,"min":1,"max":1,"want":1,"slots_per_worker":1,
                  "asked":{"by":6,"since":100,"stops_at":700}})"};
    if (request.target.find("from=1&") == std::string::npos) return {R"({"events":[],"next":3})"};
    return {R"({"events":[{"seq":1,"at":0,"kind":"plan","policy":"fair","changes":[],
                           "asked":[{"job":5,"by":6,"stops_at":600}]},
                          {"seq":2,"at":0,"kind":"plan","policy":"fair","changes":[],
                           "asked":[{"job":5,"by":null}]}],"next":3})"};
  });
  const auto page = run_words(server, {"show", "5"}).out;
  EXPECT_THAT(page, HasSubstr("Asked       by job 6 since "));
  EXPECT_THAT(page, HasSubstr("unless it saves or ends before"));
  const auto lines = run_words(server, {"events", "--from", "1"}).out;
  EXPECT_THAT(lines, HasSubstr("fair: asks job 5 to save and give way to job 6 within 10m00s\n"));
  EXPECT_THAT(lines, HasSubstr("fair: asks job 5 no more\n"));
}

}  // namespace
}  // namespace paceline
