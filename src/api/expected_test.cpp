// When jobs will start and end, over HTTP.
#include <gtest/gtest.h>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

constexpr std::string_view kWhole = R"({"workers": "4", "expect_seconds": 100})";

class ExpectedTest : public ::testing::Test {
 protected:
  Json get(std::string_view target) {
    auto json = parse_json(world.ask_later(::getuid(), "GET", target).body);
    EXPECT_TRUE(json.has_value());
    return json ? *json : Json::object();
  }
  void submit(std::string_view spec) {
    EXPECT_EQ(world.ask_later(::getuid(), "POST", "/v1/jobs", submission(spec)).status, 201);
  }

  World world;
};

TEST_F(ExpectedTest, IsToldOfAllJobsInPages) {
  for (int i = 0; i < 3; ++i) submit(kWhole);
  const auto all = get("/v1/expected");
  ASSERT_EQ(all["jobs"].size(), 3U);
  EXPECT_TRUE(all["next"].is_null());
  const auto& first = all["jobs"][0];
  const auto& second = all["jobs"][1];
  EXPECT_TRUE(first["expected_start"].is_null()) << "it runs";
  EXPECT_DOUBLE_EQ(second["expected_start"]["at"].get<double>(),
                   first["expected_end"]["at"].get<double>());
  EXPECT_EQ(second["expected_start"]["known"], "declared");
  EXPECT_EQ(second["starts_after"], 1);
  const auto page = get("/v1/expected?limit=2");
  EXPECT_EQ(page["jobs"].size(), 2U);
  EXPECT_EQ(page["next"], 2);
  EXPECT_EQ(get("/v1/expected?after=2")["jobs"][0]["id"], 3);
  EXPECT_EQ(world.ask_now(::getuid(), "GET", "/v1/expected?limit=10001").status, 400);
}

TEST_F(ExpectedTest, IsPartOfWhy) {
  for (int i = 0; i < 3; ++i) submit(kWhole);
  const auto waiting = get("/v1/jobs/3/why");
  EXPECT_EQ(waiting["position"], 2);
  EXPECT_EQ(waiting["starts_after"], 2);
  const double left =
      waiting["expected_end"]["at"].get<double>() - waiting["expected_start"]["at"].get<double>();
  EXPECT_NEAR(left, 100, 0.001);
  EXPECT_TRUE(get("/v1/jobs/1/why")["position"].is_null());
  world.end_worker(1, 0);
  world.advance(std::chrono::seconds{1});
}

TEST_F(ExpectedTest, WhyNamesWhatWouldStartItSooner) {
  submit(R"({"workers": "3", "expect_seconds": 100})");
  submit(kWhole);
  const auto changes = get("/v1/jobs/2/why")["changes"];
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0]["change"], "slots");
  EXPECT_EQ(changes[0]["slots"], 1);
}

TEST_F(ExpectedTest, IsToldOfWhatIsNotSubmitted) {
  submit(kWhole);
  const auto seq = world.loop.on([&] { return world.controller->state().seq(); });
  const auto plan = [&](std::string_view spec) {
    return world.ask_later(::getuid(), "POST", "/v1/plan", submission(spec));
  };
  const auto ahead = *parse_json(plan(kWhole).body);
  EXPECT_EQ(ahead["starts_after"], 1);
  EXPECT_EQ(ahead["reason"], "needs 4 slots, 0 free now");
  EXPECT_EQ(ahead["delayed"].size(), 0U);
  EXPECT_EQ(ahead["position"], 1);
  EXPECT_EQ(ahead["changes"].size(), 0U);
  EXPECT_EQ(plan(R"({"workers": "100"})").status, 400) << "refused as a submission is";
  EXPECT_EQ(world.loop.on([&] { return world.controller->state().seq(); }), seq);
  EXPECT_EQ(get("/v1/jobs")["jobs"].size(), 1U);
}

TEST_F(ExpectedTest, OfWhatIsNotSubmittedTheLineAndTheChangesAreTold) {
  submit(R"({"workers": "3", "expect_seconds": 100})");
  submit(R"({"workers": "4", "expect_seconds": 100, "name": "wide", "priority": 90})");
  const auto reply = world.ask_later(::getuid(), "POST", "/v1/plan", submission(kWhole));
  const auto ahead = *parse_json(reply.body);
  EXPECT_EQ(ahead["position"], 2);
  ASSERT_EQ(ahead["jobs_ahead"].size(), 1U);
  const auto& wide = ahead["jobs_ahead"][0];
  EXPECT_EQ(wide["id"], 2);
  EXPECT_EQ(wide["name"], "wide");
  EXPECT_EQ(wide["priority"], 90);
  EXPECT_EQ(wide["reason"], "needs 4 slots, 1 free now");
  ASSERT_EQ(ahead["changes"].size(), 1U);
  EXPECT_EQ(ahead["changes"][0]["change"], "slots");
  EXPECT_EQ(ahead["changes"][0]["slots"], 1);
}

TEST_F(ExpectedTest, IsNothingForAJobThatIsOver) {
  submit(R"({"workers": "1"})");
  world.ask_later(::getuid(), "POST", "/v1/jobs/1/cancel");
  world.loop.on([&] { world.engine.end({JobId{1}, Generation{1}, 0}, 0, world.clock.now()); });
  world.advance(std::chrono::seconds{1});
  const auto why = get("/v1/jobs/1/why");
  EXPECT_TRUE(why["expected_end"].is_null());
}

}  // namespace
}  // namespace paceline
