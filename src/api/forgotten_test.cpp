// Jobs that the state forgot, by every route that tells of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Limits remembering(std::uint64_t jobs) {
  Limits limits;
  limits.ended_jobs = jobs;
  return limits;
}

class ForgottenTest : public ::testing::Test {
 protected:
  int submit(std::string_view spec = "{}") {
    const auto reply = client_.call("POST", "/v1/jobs", submission(spec));
    EXPECT_EQ(reply.status, 201) << reply.body;
    return parsed(reply)["id"];
  }
  Json get(const std::string& target) { return parsed(client_.get(target)); }
  // A job that ran and ended so; the one before last is forgotten by then.
  int ran(int exit_code) {
    const int id = submit();
    while (get(fmt::format("/v1/jobs/{}", id))["state"] != "RUNNING" && !HasFailure()) {
    }
    world_.end_worker(static_cast<std::uint32_t>(id), exit_code);
    while (get(fmt::format("/v1/jobs/{}", id))["exit_code"] == nullptr && !HasFailure()) {
    }
    return id;
  }
  bool is_forgotten(int id) {
    return world_.loop.on([&] {
      return world_.controller->state().is_forgotten(JobId{static_cast<std::uint32_t>(id)});
    });
  }
  std::vector<int> ids_in(const std::string& target) {
    std::vector<int> ids;
    const auto page = get(target);
    for (const auto& each : page["jobs"]) ids.push_back(each["id"]);
    return ids;
  }

  // Until nothing is due.
  void advance(Duration span) {
    for (int i = 0; i < 20; ++i) world_.advance(i == 0 ? span : std::chrono::seconds{1});
    world_.loop.on([] {});
  }

  static constexpr Duration kKeep = std::chrono::hours{24 * 90};
  World world_{::getuid(), 4, {}, remembering(1), kKeep};
  Client client_{world_.socket()};
};

TEST_F(ForgottenTest, IsToldAsBefore) {
  const int first = ran(0);
  const auto before = get("/v1/jobs/1");
  ran(3);
  ASSERT_TRUE(is_forgotten(first));
  EXPECT_EQ(get("/v1/jobs/1"), before);
  EXPECT_EQ(before["command"], get("/v1/jobs/2")["command"]);
  EXPECT_EQ(get("/v1/jobs/1/wait")["state"], "COMPLETED");
  EXPECT_THAT(get("/v1/jobs/1/why")["lines"].front().get<std::string>(),
              HasSubstr("Job 1 (COMPLETED) exited with code 0."));
  const auto cancelled = client_.call("POST", "/v1/jobs/1/cancel", "");
  EXPECT_EQ(cancelled.status, 409) << cancelled.body;
  EXPECT_EQ(client_.get("/v1/jobs/9").status, 404);
}

TEST_F(ForgottenTest, StandsInEveryList) {
  for (const int code : {0, 1, 0, 0}) ran(code);
  const int waits = submit();
  EXPECT_THAT(ids_in("/v1/jobs?all=1"), ElementsAre(1, 2, 3, 4, waits));
  EXPECT_THAT(ids_in("/v1/jobs?all=1&limit=2"), ElementsAre(1, 2));
  EXPECT_THAT(ids_in("/v1/jobs?all=1&after=2"), ElementsAre(3, 4, waits));
  EXPECT_THAT(ids_in("/v1/jobs?state=FAILED"), ElementsAre(2));
  EXPECT_THAT(ids_in("/v1/jobs"), ElementsAre(waits));
  EXPECT_EQ(get("/v1/jobs?all=1&limit=2")["next"], 2);
  EXPECT_EQ(get("/v1/jobs?all=1")["next"], nullptr);
}

TEST_F(ForgottenTest, CountsInEverySum) {
  for (const int code : {0, 1, 0}) ran(code);
  EXPECT_EQ(get("/v1/users")["users"][0]["jobs"], 3);
  EXPECT_EQ(get("/v1/server")["jobs"]["COMPLETED"], 2);
  EXPECT_EQ(get("/v1/server")["jobs"]["FAILED"], 1);
}

TEST_F(ForgottenTest, KeepsItsEventsForItsOwner) {
  ran(0);
  ran(0);
  ASSERT_TRUE(is_forgotten(1));
  bool told = false;
  const auto page = get("/v1/events");
  for (const auto& event : page["events"])
    told = told || (event["kind"] == "jobs_forgotten" && event["jobs"] == Json::array({1}));
  EXPECT_TRUE(told);
}

TEST_F(ForgottenTest, ItsLogIsThere) {
  ran(0);
  world_.log(1, 0, "hello\n");
  ran(0);
  ASSERT_TRUE(is_forgotten(1));
  EXPECT_EQ(get("/v1/jobs/1/logs")["chunks"][0]["text"], "hello\n");
}

TEST_F(ForgottenTest, SaysThatItWasDropped) {
  ran(0);
  ran(3);
  ran(0);
  ASSERT_TRUE(is_forgotten(1));
  EXPECT_EQ(get("/v1/jobs/1/metrics")["thinned_from"], nullptr);
  advance(kKeep);
  EXPECT_EQ(get("/v1/jobs/1")["state"], "COMPLETED");
  EXPECT_EQ(get("/v1/jobs/1/metrics")["thinned_from"], 0);
  advance(kKeep);
  for (const auto* what : {"", "/logs", "/metrics", "/why", "/wait"}) {
    const auto answer = client_.get(fmt::format("/v1/jobs/2{}", what));
    EXPECT_EQ(answer.status, 404) << what;
    EXPECT_THAT(answer.body, HasSubstr("Job 2 (FAILED) ended on 2025-11-20; it was dropped on "
                                       "2026-05-19 with its log and its 0 metric points."));
  }
  EXPECT_EQ(client_.get("/v1/jobs/9").status, 404);
  EXPECT_THAT(client_.get("/v1/jobs/9").body, HasSubstr("There is no job 9."));
}

TEST_F(ForgottenTest, EndsEveryListThoughTheLastWereDropped) {
  for (const int code : {0, 0, 0}) ran(code);
  advance(std::chrono::hours{24 * 8});  // the last one is old, too
  advance(3 * kKeep);
  EXPECT_THAT(ids_in("/v1/jobs?all=1"), ElementsAre());
  EXPECT_EQ(get("/v1/jobs?all=1")["next"], nullptr);
  EXPECT_EQ(get("/v1/server")["jobs"]["COMPLETED"], 3);
}

TEST_F(ForgottenTest, EventsTellFromWhereOnTheyAre) {
  ran(0);
  EXPECT_EQ(get("/v1/events")["first"], 1);
  const auto pruned = client_.call("POST", "/v1/journal/prune", R"({"before": 3})");
  EXPECT_EQ(parsed(pruned)["segments"], 0);  // all of it is in the database
  EXPECT_EQ(parsed(pruned)["first"], 1);
  EXPECT_EQ(client_.call("POST", "/v1/journal/prune", "{}").status, 400);
}

}  // namespace
}  // namespace paceline
