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

  World world_{::getuid(), 4, {}, remembering(1)};
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

}  // namespace
}  // namespace paceline
