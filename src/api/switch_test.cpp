// Rules, and switches of policies that are played before they are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.hpp"
#include "api/world_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kOperator = 0, kCarol = 41001, kDave = 41002;

// A server of root with two slots, which two jobs of Ann's have held for 45 s; one of Bob's waits.
class SwitchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    submit(kCarol);
    submit(kCarol);
    for (const auto* job : {"/v1/jobs/1", "/v1/jobs/2"})
      while (get(job)["state"] != "RUNNING" && !HasFailure()) {
      }
    world_.advance(45s);
    submit(kDave);
  }

  void submit(std::uint32_t uid) {
    EXPECT_EQ(send(uid, "POST", "/v1/jobs", submission(R"({"workers": "1"})")).status, 201);
  }
  // Commands are answered by a later step.
  HttpResponse send(std::uint32_t uid, std::string_view method, std::string_view target,
                    const std::string& body = {}) {
    const auto exchange =
        world_.loop.on([&] { return ask(world_.api->router(), uid, method, target, body); });
    for (;;) {
      const auto response = world_.loop.on([&] { return exchange->response(); });
      if (response) return *response;
    }
  }
  Json get(std::string_view target) { return *parse_json(send(kOperator, "GET", target).body); }
  Json put(std::string_view target, const std::string& body) {
    return *parse_json(send(kOperator, "PUT", target, body).body);
  }
  void set_reclaim_after(int seconds) {
    put("/v1/rules", fmt::format(R"({{"reclaim_after_seconds": {}}})", seconds));
  }
  void save(std::uint32_t job) {
    world_.loop.on([&] {
      const auto generation = world_.controller->state().job(JobId{job}).last_generation;
      world_.engine.tell(
          CheckpointAcknowledged{JobId{job}, generation, {"/ckpt", {}, {}, world_.clock.now()}});
    });
    while (get(fmt::format("/v1/jobs/{}", job))["checkpoint"].is_null() && !HasFailure()) {
    }
  }

  World world_{kOperator, 2};
  const std::string fair_ = R"({"name": "fair"})";
};

TEST_F(SwitchTest, ShowsAndSetsRules) {
  EXPECT_EQ(get("/v1/rules")["reclaim_after_seconds"], 0.0);
  const std::string ten_minutes = R"({"reclaim_after_seconds": 600})";
  EXPECT_EQ(put("/v1/rules", ten_minutes)["reclaim_after_seconds"], 600.0);
  EXPECT_EQ(get("/v1/rules")["reclaim_after_seconds"], 600.0);
  EXPECT_EQ(get("/v1/events")["events"].back()["kind"], "rules_set");
  EXPECT_EQ(send(kCarol, "PUT", "/v1/rules", ten_minutes).status, 403);
  for (const auto* wrong : {"{}", R"({"reclaim_after_seconds": -1})", R"({"reclaim": 5})",
                            R"({"reclaim_after_seconds": 1e9})"}) {
    EXPECT_EQ(send(kOperator, "PUT", "/v1/rules", wrong).status, 400) << wrong;
  }
  EXPECT_EQ(get("/v1/rules")["reclaim_after_seconds"], 600.0);
}

// Whoever began it asks what it came to, and it is over by then.
TEST_F(SwitchTest, ATrialMayEndInTheTurnInWhichItBegan) {
  put("/v1/shadow", fair_);
  const auto both = world_.loop.on([&] {
    return std::pair{ask(world_.api->router(), kOperator, "PUT", "/v1/shadow", fair_),
                     ask(world_.api->router(), kOperator, "DELETE", "/v1/shadow")};
  });
  const auto answered = [&] {
    return world_.loop.on([&] { return both.first->response() && both.second->response(); });
  };
  while (!answered()) {
  }
  EXPECT_EQ(both.second->response()->status, 200);
  EXPECT_EQ(both.first->response()->status, 404);
  EXPECT_EQ(send(kOperator, "GET", "/v1/shadow").status, 404);
}

TEST_F(SwitchTest, IsPlayedAndChangesNothing) {
  const auto seq = get("/v1/server")["seq"];
  const auto round = put("/v1/policy?dry_run=1", fair_)["next_round"];
  EXPECT_EQ(round["policy"], "fair");
  EXPECT_EQ(round["starts"], 1);
  EXPECT_EQ(round["loses_work"], true);
  EXPECT_EQ(round["loses_slot_seconds"], 45.0);
  ASSERT_EQ(round["jobs"].size(), 1U);
  const auto& effect = round["jobs"][0];
  EXPECT_EQ(effect["id"], 2);
  EXPECT_EQ(effect["user"], get("/v1/jobs/2")["user"]);
  EXPECT_EQ(effect["what"], "stops");
  EXPECT_EQ(effect["by"], 3);
  EXPECT_EQ(effect["never_saved"], true);
  EXPECT_EQ(effect["loses_seconds"], 45.0);
  EXPECT_EQ(effect["stops_at"], nullptr);
  EXPECT_EQ(get("/v1/server")["seq"], seq);
  EXPECT_EQ(get("/v1/policy")["active"]["name"], "elastic-fifo");
  EXPECT_EQ(send(kCarol, "PUT", "/v1/policy?dry_run=1", fair_).status, 403);
  EXPECT_EQ(send(kOperator, "PUT", "/v1/policy?dry_run=2", fair_).status, 400);
  EXPECT_EQ(send(kOperator, "PUT", "/v1/policy?dry_run=1", R"({"name": "lottery"})").status, 404);
}

TEST_F(SwitchTest, NamesTheJobThatLosesLeast) {
  save(1);
  world_.advance(4s);
  const auto round = put("/v1/policy?dry_run=1", fair_)["next_round"];
  ASSERT_EQ(round["jobs"].size(), 1U);
  EXPECT_EQ(round["jobs"][0]["id"], 1);
  EXPECT_EQ(round["jobs"][0]["never_saved"], false);
  EXPECT_EQ(round["jobs"][0]["loses_seconds"], 4.0);
}

TEST_F(SwitchTest, NamesTheJobThatShrinks) {
  for (const std::uint32_t job : {1U, 2U, 3U}) {
    const auto running = fmt::format("/v1/jobs/{}", job);
    while (get(running)["state"] != "RUNNING" && !HasFailure()) {
    }
    world_.end_worker(job, 0);
  }
  const auto wide = R"({"workers": "1..2", "elastic": "restart"})";
  EXPECT_EQ(send(kCarol, "POST", "/v1/jobs", submission(wide)).status, 201);
  while (get("/v1/jobs/4")["workers"] != 2 && !HasFailure()) {
  }
  put("/v1/policy", R"({"name": "fifo"})");
  world_.advance(5min);
  submit(kDave);
  const auto round = put("/v1/policy?dry_run=1", R"({"name": "elastic-fifo"})")["next_round"];
  EXPECT_EQ(round["starts"], 1);
  ASSERT_EQ(round["jobs"].size(), 1U);
  const auto& effect = round["jobs"][0];
  EXPECT_EQ(effect["id"], 4);
  EXPECT_EQ(effect["what"], "shrinks");
  EXPECT_EQ(effect["workers"], 2);
  EXPECT_EQ(effect["workers_then"], 1);
  EXPECT_EQ(effect["by"], 5);
}

TEST_F(SwitchTest, AsksAJobThatNeverSavedAndTellsItsOwnerAtOnce) {
  set_reclaim_after(600);
  const auto round = put("/v1/policy?dry_run=1", fair_)["next_round"];
  ASSERT_EQ(round["jobs"].size(), 1U);
  EXPECT_EQ(round["jobs"][0]["what"], "asks");
  EXPECT_FALSE(round["jobs"][0]["stops_at"].is_null());
  const auto set = put("/v1/policy", fair_);
  EXPECT_EQ(set["active"]["name"], "fair");
  EXPECT_EQ(set["next_round"], round);
  auto job = get("/v1/jobs/2");
  while (job["asked"].is_null() && !HasFailure()) job = get("/v1/jobs/2");
  EXPECT_EQ(job["state"], "RUNNING");
  EXPECT_EQ(job["asked"]["by"], 3);
  EXPECT_EQ(job["asked"]["stops_at"], round["jobs"][0]["stops_at"]);
  EXPECT_THAT(job["reason"].get<std::string>(), HasSubstr("is asked for 1 slot by job 3"));
  world_.advance(599s);
  EXPECT_EQ(get("/v1/jobs/2")["state"], "RUNNING");
  world_.advance(1s);
  while (get("/v1/jobs/3")["state"] != "RUNNING" && !HasFailure()) {
  }
  EXPECT_EQ(get("/v1/jobs/2")["preemptions"], 1);
  EXPECT_EQ(get("/v1/jobs/1")["state"], "RUNNING");
}

TEST_F(SwitchTest, PlaysPromotionsAndTheWayBackToo) {
  EXPECT_EQ(send(kOperator, "POST", "/v1/shadow/promote?dry_run=1").status, 409);
  EXPECT_EQ(send(kOperator, "POST", "/v1/policy/rollback?dry_run=1").status, 409);
  put("/v1/shadow", fair_);
  const auto played = *parse_json(send(kOperator, "POST", "/v1/shadow/promote?dry_run=1").body);
  EXPECT_EQ(played["next_round"]["jobs"][0]["id"], 2);
  EXPECT_EQ(get("/v1/policy")["active"]["name"], "elastic-fifo");
  EXPECT_EQ(get("/v1/shadow")["name"], "fair");
  EXPECT_EQ(send(kOperator, "POST", "/v1/shadow/promote").status, 200);
  while (get("/v1/jobs/3")["state"] != "RUNNING" && !HasFailure()) {
  }
  const auto back = *parse_json(send(kOperator, "POST", "/v1/policy/rollback?dry_run=1").body);
  EXPECT_EQ(back["next_round"]["policy"], "elastic-fifo");
  EXPECT_THAT(back["next_round"]["jobs"], IsEmpty());
  EXPECT_EQ(get("/v1/policy")["active"]["name"], "fair");
}

}  // namespace
}  // namespace paceline
