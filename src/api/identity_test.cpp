// Who may see and do what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kRoot = 0, kAnn = 1001, kBob = 1002;

// A server of root with a job of Ann's that runs.
class SharedServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ask_later(kAnn, "POST", "/v1/jobs", submission(R"({"name": "anns"})"));
    world_.log(1, 0, "secret\n");
    while (parse(kAnn, "/v1/jobs/1")["state"] != "RUNNING") {
    }
  }

  HttpResponse ask_now(std::uint32_t uid, std::string_view method, std::string_view target,
                       std::string body = {}) {
    return world_.ask_now(uid, method, target, std::move(body));
  }
  HttpResponse ask_later(std::uint32_t uid, std::string_view method, std::string_view target,
                         std::string body = {}) {
    return world_.ask_later(uid, method, target, std::move(body));
  }
  Json parse(std::uint32_t uid, std::string_view target) {
    return *parse_json(ask_now(uid, "GET", target).body);
  }

  World world_{kRoot};
};

TEST_F(SharedServerTest, TheSubmitterIsWhomTheSocketSays) {
  EXPECT_EQ(parse(kBob, "/v1/jobs/1")["uid"], kAnn);
}

TEST_F(SharedServerTest, EveryoneSeesTheQueueButNotWhatIsPrivate) {
  world_.loop.on([&] { world_.engine.progress(JobId{1}, 5, 0.5, world_.clock.now()); });
  while (parse(kAnn, "/v1/jobs/1")["progress"].is_null()) {
  }
  const auto own = parse(kAnn, "/v1/jobs")["jobs"][0];
  EXPECT_EQ(own["command"], "python3 'a b.py'");
  EXPECT_EQ(own["metrics"]["loss"], 0.5);
  const auto foreign = parse(kBob, "/v1/jobs")["jobs"][0];
  EXPECT_EQ(foreign["name"], "anns");
  EXPECT_EQ(foreign["state"], "RUNNING");
  for (const auto* key : {"command", "directory", "metrics", "checkpoint"}) {
    ASSERT_TRUE(foreign.contains(key));
    EXPECT_TRUE(foreign[key].is_null()) << key;
  }
  EXPECT_EQ(own.size(), foreign.size());
  EXPECT_EQ(parse(kRoot, "/v1/jobs/1")["directory"], "/data");
  EXPECT_EQ(ask_later(kBob, "GET", "/v1/jobs/1/why").status, 200);
}

TEST_F(SharedServerTest, LogsAndMetricsAreTheOwners) {
  for (const auto* what : {"/v1/jobs/1/logs", "/v1/jobs/1/metrics"}) {
    EXPECT_EQ(ask_later(kAnn, "GET", what).status, 200) << what;
    EXPECT_EQ(ask_later(kRoot, "GET", what).status, 200) << what;
    const auto refused = ask_later(kBob, "GET", what);
    EXPECT_EQ(refused.status, 403) << what;
    EXPECT_THAT(refused.body, Not(HasSubstr("secret")));
  }
  EXPECT_EQ(ask_now(kBob, "GET", "/v1/jobs/1/attach").status, 403);
}

TEST_F(SharedServerTest, WhoLooksIntoAnotherOnesJobIsTold) {
  std::ostringstream told;
  const auto before = spdlog::default_logger();
  world_.loop.on([&] {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "told", std::make_shared<spdlog::sinks::ostream_sink_mt>(told)));
  });
  for (const auto* what : {"logs", "metrics", "attach", "why"})
    for (const std::uint32_t uid : {kAnn, kBob, kRoot})
      (void)ask_later(uid, "GET", fmt::format("/v1/jobs/1/{}", what));
  world_.loop.on([&] { spdlog::set_default_logger(before); });
  const std::string owner = parse(kAnn, "/v1/jobs/1")["user"];
  EXPECT_THAT(told.str(), HasSubstr(fmt::format("root looks into job 1 of {}.", owner)));
  EXPECT_THAT(told.str(), HasSubstr(fmt::format("root attaches to job 1 of {}.", owner)));
  EXPECT_EQ(std::ranges::count(told.str(), '\n'), 2) << told.str();
}

TEST_F(SharedServerTest, ControlIsTheOwners) {
  for (const auto* what : {"cancel", "pause", "resume", "resize"}) {
    const auto target = fmt::format("/v1/jobs/1/{}", what);
    EXPECT_EQ(ask_now(kBob, "POST", target, R"({"workers": 1})").status, 403) << what;
  }
  EXPECT_EQ(parse(kAnn, "/v1/jobs/1")["state"], "RUNNING");
  EXPECT_EQ(ask_later(kAnn, "POST", "/v1/jobs/1/pause").status, 200);
  EXPECT_EQ(ask_later(kRoot, "POST", "/v1/jobs/1/resume").status, 200);
}

TEST_F(SharedServerTest, PolicyAndShutdownAreRoots) {
  EXPECT_EQ(ask_now(kAnn, "PUT", "/v1/policy", R"({"name": "fifo"})").status, 403);
  EXPECT_EQ(ask_now(kAnn, "POST", "/v1/shutdown").status, 403);
  EXPECT_EQ(ask_later(kRoot, "PUT", "/v1/policy", R"({"name": "fifo"})").status, 200);
}

TEST_F(SharedServerTest, ReportsInTheJournalAreTheOwners) {
  world_.loop.on([&] { world_.engine.progress(JobId{1}, 5, 0.5, world_.clock.now()); });
  while (parse(kAnn, "/v1/jobs/1")["progress"].is_null()) {
  }
  EXPECT_THAT(ask_now(kAnn, "GET", "/v1/events").body, HasSubstr("\"kind\":\"progress\""));
  const auto foreign = ask_now(kBob, "GET", "/v1/events").body;
  EXPECT_THAT(foreign, Not(HasSubstr("\"kind\":\"progress\"")));
  EXPECT_THAT(foreign, HasSubstr("\"kind\":\"worker_started\""));
}

TEST_F(SharedServerTest, NothingPrivateIsInTheJournal) {
  EXPECT_THAT(ask_now(kRoot, "GET", "/v1/events").body, Not(HasSubstr("a b.py\"")));
}

HttpRequest asked_by(std::uint32_t uid) { return {.peer = unix_peer({uid, uid, 1})}; }

TEST(PrivateServer, AdmitsItsUserAndRoot) {
  World world(kAnn);
  const auto admission = world.loop.on([&] { return world.api->admission(); });
  EXPECT_TRUE(admission(asked_by(kAnn)).has_value());
  EXPECT_TRUE(admission(asked_by(kRoot)).has_value());
  EXPECT_EQ(admission(asked_by(kBob)).error().code, ErrorCode::forbidden);
}

TEST(PrivateServer, RunsEverythingAsItsUser) {
  World world(kAnn);
  world.ask_later(kRoot, "POST", "/v1/jobs", submission());
  EXPECT_EQ(world.loop.on([&] { return world.controller->state().job(JobId{1}).spec->uid; }), kAnn);
}

TEST(SharedServer, AdmitsEveryone) {
  World world(kRoot);
  const auto admission = world.loop.on([&] { return world.api->admission(); });
  EXPECT_TRUE(admission(asked_by(kBob)).has_value());
}

}  // namespace
}  // namespace paceline
