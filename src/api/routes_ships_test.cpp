// Directories that travel with jobs, over the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/world_testing.hpp"
#include "ship/manifest.hpp"
#include "ship/pieces.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kShipper = 40'001, kNeighbour = 40'002;

class ShipRoutesTest : public ::testing::Test {
 protected:
  static std::string manifest(const std::string& text) {
    Manifest made{{{"a.py", 0644, text.size(), to_hex(sha256(text))}}, {}, {}};
    EXPECT_TRUE(tidy_manifest(made));
    return to_text(made);
  }
  static std::string pieces(const std::string& text) {
    return piece_line({to_hex(sha256(text)), 0, static_cast<std::uint32_t>(text.size())}) + text;
  }
  static std::string job(const std::string& ship) {
    return fmt::format(
        R"({{"launch": {{"command": ["true"], "directory": "/", "shipped": {{"ship": "{}"}}}}}})",
        ship);
  }
  HttpResponse post(std::uint32_t uid, std::string_view target, std::string body) {
    return world_.ask_later(uid, "POST", target, std::move(body));
  }

  World world_{0};
};

TEST_F(ShipRoutesTest, AShipIsOfferedSentAndNamed) {
  const auto offered = json_of(post(kShipper, "/v1/ships", manifest("one")));
  EXPECT_EQ(offered["ship"], ship_name(manifest("one")));
  EXPECT_EQ(offered["missing"].size(), 1U);
  const std::string ship = offered["ship"];
  EXPECT_EQ(post(kShipper, "/v1/jobs", job(ship)).status, 409) << "it isn't whole";
  EXPECT_EQ(post(kShipper, "/v1/ships/pieces", pieces("one")).status, 200);
  EXPECT_EQ(json_of(post(kShipper, "/v1/ships", manifest("one")))["missing"].size(), 0U);
  ASSERT_EQ(world_.ask_later(kShipper, "POST", "/v1/jobs", job(ship)).status, 201);
  const auto shown = json_of(world_.ask_now(kShipper, "GET", "/v1/jobs/1"))["shipped"];
  EXPECT_EQ(shown["ship"], ship);
  EXPECT_EQ(shown["files"], 1);
  EXPECT_EQ(shown["bytes"], 3);
  EXPECT_TRUE(json_of(world_.ask_now(kNeighbour, "GET", "/v1/jobs/1"))["shipped"].is_null());
}

TEST_F(ShipRoutesTest, AnotherOnesShipIsNobodys) {
  const std::string ship = json_of(post(kShipper, "/v1/ships", manifest("one")))["ship"];
  EXPECT_EQ(post(kShipper, "/v1/ships/pieces", pieces("one")).status, 200);
  EXPECT_EQ(post(kNeighbour, "/v1/jobs", job(ship)).status, 409);
  EXPECT_EQ(post(kNeighbour, "/v1/ships/pieces", pieces("one")).status, 409)
      << "nobody asked Bob for it";
  EXPECT_EQ(json_of(post(kNeighbour, "/v1/ships", manifest("one")))["missing"].size(), 1U);
}

TEST_F(ShipRoutesTest, WhatIsWrongIsOneSentence) {
  for (
      const auto* body :
      {"", "[]",
       R"({"files": [{"path": "../x", "mode": 1, "bytes": 1, "sha256": "x"}], "links": [], "directories": []})"})
    EXPECT_EQ(post(kShipper, "/v1/ships", body).status, 400) << body;
  EXPECT_EQ(post(kShipper, "/v1/ships/pieces", "nonsense").status, 400);
  EXPECT_EQ(post(kShipper, "/v1/jobs", job("short")).status, 400);
  EXPECT_EQ(post(kShipper, "/v1/jobs", job(std::string(64, 'a'))).status, 409);
  EXPECT_EQ(post(kShipper, "/v1/ships", manifest("one")).status, 200);
  const auto lie = piece_line({to_hex(sha256("one")), 0, 3}) + "two";
  const auto refused = post(kShipper, "/v1/ships/pieces", lie);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("changed while it was shipped"));
}

// The ship is looked at while the server begins to leave.
TEST_F(ShipRoutesTest, AJobWhoseShipIsLookedAtDuringTheShutdownIsRefused) {
  const std::string ship = json_of(post(kShipper, "/v1/ships", manifest("one")))["ship"];
  EXPECT_EQ(post(kShipper, "/v1/ships/pieces", pieces("one")).status, 200);
  EXPECT_EQ(post(kNeighbour, "/v1/jobs", submission()).status, 201);
  world_.advance(std::chrono::seconds{1});
  const auto late = world_.loop.on([&] {
    const Router router = world_.api->router();
    auto exchange = ask(router, kShipper, "POST", "/v1/jobs", job(ship));
    ask(router, 0, "POST", "/v1/shutdown", R"({"jobs": true})");
    return exchange;
  });
  while (!world_.loop.on([&] { return late->response().has_value(); })) {
  }
  EXPECT_EQ(late->response()->status, 503);
  EXPECT_EQ(world_.left.get_future().wait_for(std::chrono::seconds{30}), std::future_status::ready);
}

// Whoever didn't get the answer asks again, and the ship may be gone by then.
TEST_F(ShipRoutesTest, ARepeatedSubmissionIsKnownByItsKeyWithoutItsShip) {
  Client client(world_.socket());
  const std::string ship = parsed(client.call("POST", "/v1/ships", manifest("one")))["ship"];
  EXPECT_EQ(client.call("POST", "/v1/ships/pieces", pieces("one")).status, 200);
  constexpr std::string_view kKey = "Idempotency-Key: 5f3a\r\n";
  const auto first = client.call("POST", "/v1/jobs", job(ship), kKey);
  EXPECT_EQ(first.status, 201) << first.body;
  std::filesystem::remove_all(world_.folder.path() / "ships");
  const auto again = client.call("POST", "/v1/jobs", job(ship), kKey);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(client.call("POST", "/v1/jobs", job(std::string(64, 'a')), kKey).status, 409);
  EXPECT_EQ(client.call("POST", "/v1/jobs", job(ship), "Idempotency-Key: other\r\n").status, 409);
}

// Of jobs from before it the desk reads what they name.
TEST_F(ShipRoutesTest, WhatAJobNamesStaysUntilItIsOver) {
  const std::string ship = json_of(post(kShipper, "/v1/ships", manifest("one")))["ship"];
  EXPECT_EQ(post(kShipper, "/v1/ships/pieces", pieces("one")).status, 200);
  ASSERT_EQ(post(kShipper, "/v1/jobs", job(ship)).status, 201);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(world_.folder.path() / "ships" /
                                                                std::to_string(kShipper) / "ships"))
      all.push_back(each.path().filename());
    return all;
  };
  for (const bool restarted : {false, true}) {
    if (restarted) world_.open_ships(1 + manifest("two").size() + 3);
    const auto full = post(kShipper, "/v1/ships", manifest("two"));
    EXPECT_EQ(full.status, restarted ? 503 : 200) << full.body;
    EXPECT_THAT(names(), Contains(ship));
  }
  world_.advance(std::chrono::seconds{1});
  world_.end_worker(1, 0);
  world_.advance(std::chrono::seconds{1});
  EXPECT_EQ(post(kShipper, "/v1/ships", manifest("two")).status, 200);
  EXPECT_THAT(names(), Not(Contains(ship)));
}

}  // namespace
}  // namespace paceline
