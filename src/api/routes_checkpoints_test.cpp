// Checkpoints that nodes send, over the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/world_testing.hpp"
#include "ship/manifest.hpp"
#include "ship/pieces.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kSaver = 40'001;
constexpr std::string_view kAsked = "?job=1&born=2&number=0&report=9";
constexpr std::string_view kNewer = "?job=1&born=2&number=1&report=3";
const ProcessKey kFirst{JobId{1}, Generation{2}, 0}, kSecond{JobId{1}, Generation{2}, 1};

class CheckpointRoutesTest : public ::testing::Test {
 protected:
  CheckpointRoutesTest() {
    EXPECT_EQ(world_.ask_later(kSaver, "POST", "/v1/jobs", submission()).status, 201);
    until([](const Job& job) { return job.state == JobState::running; });
    acknowledge(kFirst, 9);
  }
  void until(const std::function<bool(const Job&)>& is_so) {
    while (!world_.loop.on([&] { return is_so(world_.controller->state().job(JobId{1})); }))
      world_.advance(std::chrono::seconds{1});
  }
  Checkpoint checkpoint(const ProcessKey& by, std::uint64_t report) {
    return {
        "/data/a.pt", {}, {}, world_.clock.now(), CheckpointPlace{"box", {}, by, report, {}, {}}};
  }
  void acknowledge(const ProcessKey& by, std::uint64_t report) {
    wanted_.emplace(by, report);
    world_.loop.on([&] {
      const auto generation = world_.controller->state().job(JobId{1}).last_generation;
      world_.engine.tell(CheckpointAcknowledged{JobId{1}, generation, checkpoint(by, report)});
    });
    until([&](const Job& job) { return job.checkpoint && job.checkpoint->place->by == by; });
  }
  // That there is none, or a copy of that name.
  void tell(const ProcessKey& by, std::uint64_t report, Keeping keeping, std::string text = {}) {
    world_.loop.on([&] {
      Checkpoint told = checkpoint(by, report);
      (keeping == Keeping::kept ? told.place->ship : told.place->unkept) = std::move(text);
      world_.engine.tell(CheckpointKept{JobId{1}, told, keeping});
    });
  }
  static std::string manifest(const std::string& text) {
    Manifest made{{{"a.pt", 0644, text.size(), to_hex(sha256(text))}}, {}, {}};
    EXPECT_TRUE(tidy_manifest(made));
    return to_text(made);
  }
  static std::string pieces(const std::string& text) {
    return piece_line({to_hex(sha256(text)), 0, static_cast<std::uint32_t>(text.size())}) + text;
  }
  // As the agent of the server's own machine.
  HttpResponse post(const std::string& what, std::string body, std::string_view query = kAsked) {
    return world_.ask_later(0, "POST", "/v1/checkpoints" + what + std::string(query),
                            std::move(body));
  }
  static Limits limits() {
    Limits limits;
    limits.checkpoint_size = 1U << 20;
    return limits;
  }

  std::vector<KeptCheckpoint> told_;
  std::set<std::pair<ProcessKey, std::uint64_t>> wanted_;
  World world_{
      0,
      4,
      {},
      limits(),
      {},
      {},
      CheckpointAccess{"box",
                       [this](std::string_view node, const ProcessKey& by, std::uint64_t report) {
                         return node == "box" && wanted_.contains({by, report});
                       },
                       [this](std::string_view, const KeptCheckpoint& kept) {
                         told_.push_back(kept);
                         return Result<void>();
                       }}};
};

TEST_F(CheckpointRoutesTest, OneIsOfferedSentAndKept) {
  const auto offered = json_of(post("", manifest("one")));
  EXPECT_EQ(offered["kept"], false);
  ASSERT_EQ(offered["missing"].size(), 1U);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(post("/pieces", pieces("one")).status, 200);
  EXPECT_EQ(json_of(post("", manifest("one")))["kept"], true);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].keeping, Keeping::kept);
  EXPECT_EQ(told_[0].text, ship_name(manifest("one")));
}

TEST_F(CheckpointRoutesTest, OneThatIsTooLargeIsSaidToBe) {
  const auto answer = post("", manifest(std::string((1U << 20) + 1, 'x')));
  EXPECT_EQ(json_of(answer)["kept"], false);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].keeping, Keeping::unkept);
  EXPECT_THAT(told_[0].text, HasSubstr("checkpoint-size"));
}

// One that is on its way is not pushed out by what its user ships beside it.
TEST_F(CheckpointRoutesTest, OneThatComesKeepsItsRoomUntilItsNodeSaysThatThereIsNone) {
  const std::string copy(4'000, 'x'), code(4'000, 'y');
  world_.open_ships(6'000);
  EXPECT_EQ(json_of(post("", manifest(copy)))["missing"].size(), 1U);
  const auto ship = [&] { return world_.ask_later(kSaver, "POST", "/v1/ships", manifest(code)); };
  EXPECT_EQ(ship().status, 503);
  EXPECT_EQ(post("/pieces", pieces(copy)).status, 200);
  EXPECT_EQ(post("/unkept", R"({"why": "it isn't there any more"})").status, 200);
  EXPECT_EQ(ship().status, 200);
}

TEST_F(CheckpointRoutesTest, OneThatIsLostLeavesItsRoom) {
  const std::string copy(4'000, 'x'), code(4'000, 'y');
  world_.open_ships(6'000);
  EXPECT_EQ(json_of(post("", manifest(copy)))["missing"].size(), 1U);
  const auto ship = [&] { return world_.ask_later(kSaver, "POST", "/v1/ships", manifest(code)); };
  EXPECT_EQ(ship().status, 503);
  tell(kFirst, 9, Keeping::lost);
  until([](const Job& job) { return !job.checkpoint; });
  EXPECT_EQ(ship().status, 200);
}

// The job goes back to the copy of the one before it.
TEST_F(CheckpointRoutesTest, OneThatIsLostBehindAKeptOneLeavesItsRoom) {
  const std::string copy(4'000, 'x'), code(4'000, 'y');
  world_.open_ships(7'000);
  EXPECT_EQ(json_of(post("", manifest("one")))["missing"].size(), 1U);
  EXPECT_EQ(post("/pieces", pieces("one")).status, 200);
  EXPECT_EQ(json_of(post("", manifest("one")))["kept"], true);
  tell(kFirst, 9, Keeping::kept, ship_name(manifest("one")));
  until([](const Job& job) { return !job.checkpoint->place->ship.empty(); });
  acknowledge(kSecond, 3);
  EXPECT_EQ(json_of(post("", manifest(copy), kNewer))["missing"].size(), 1U);
  const auto ship = [&] { return world_.ask_later(kSaver, "POST", "/v1/ships", manifest(code)); };
  EXPECT_EQ(ship().status, 503);
  tell(kSecond, 3, Keeping::lost);
  until([](const Job& job) { return job.checkpoint->place->by == kFirst; });
  EXPECT_EQ(ship().status, 200);
  EXPECT_EQ(json_of(post("", manifest("one")))["kept"], true) << "and its copy stays";
}

TEST_F(CheckpointRoutesTest, OneThatComesIsNotHeldUpByANewerOneThatIsSavedMeanwhile) {
  EXPECT_EQ(json_of(post("", manifest("one")))["missing"].size(), 1U);
  acknowledge(kSecond, 3);
  EXPECT_EQ(post("/pieces", pieces("one")).status, 200);
  EXPECT_EQ(json_of(post("", manifest("one")))["kept"], true);
}

TEST_F(CheckpointRoutesTest, OneIsOfNoUseOnceItIsKnownThatANewerOneIsNotKept) {
  EXPECT_EQ(json_of(post("", manifest("one")))["missing"].size(), 1U);
  acknowledge(kSecond, 3);
  tell(kSecond, 3, Keeping::unkept, "it is too large");
  until([](const Job& job) { return !job.checkpoint->place->unkept.empty(); });
  EXPECT_EQ(post("/pieces", pieces("one")).status, 409);
}

TEST_F(CheckpointRoutesTest, ALateWordAboutOneDropsNoNewerOneThatComes) {
  EXPECT_EQ(json_of(post("", manifest("one")))["missing"].size(), 1U);
  acknowledge(kSecond, 3);
  EXPECT_EQ(json_of(post("", manifest("two"), kNewer))["missing"].size(), 1U);
  EXPECT_EQ(post("/unkept", R"({"why": "it isn't there any more"})").status, 200);
  EXPECT_EQ(post("", manifest("one")).status, 409) << "a newer one comes";
  EXPECT_EQ(post("/pieces", pieces("two"), kNewer).status, 200);
  EXPECT_EQ(json_of(post("", manifest("two"), kNewer))["kept"], true);
}

// It may stop coming, or be a job's by then: the node asks again.
TEST_F(CheckpointRoutesTest, BesideAShipThatIsOnItsWayOneWaits) {
  const std::string copy(4'000, 'x'), code(4'000, 'y');
  world_.open_ships(6'000);
  EXPECT_EQ(world_.ask_later(kSaver, "POST", "/v1/ships", manifest(code)).status, 200);
  EXPECT_EQ(post("", manifest(copy)).status, 503);
  EXPECT_TRUE(told_.empty());
}

TEST_F(CheckpointRoutesTest, ItsNodeMaySayThatThereIsNone) {
  EXPECT_EQ(post("/unkept", R"({"why": "it isn't there any more"})").status, 200);
  EXPECT_EQ(post("/unkept", R"({"shared": true})").status, 200);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[0].keeping, Keeping::unkept);
  EXPECT_EQ(told_[0].text, "it isn't there any more");
  EXPECT_EQ(told_[1].keeping, Keeping::shared);
}

TEST_F(CheckpointRoutesTest, WhatIsNotAskedForIsRefused) {
  for (const auto* query : {"?job=1&born=2&number=0&report=8", "?job=1&born=1&number=0&report=9",
                            "?job=2&born=2&number=0&report=9"})
    for (const auto* what : {"", "/pieces", "/unkept"})
      EXPECT_EQ(post(what, manifest("one"), query).status, 409) << what << query;
  EXPECT_EQ(post("", manifest("one"), "").status, 400);
  EXPECT_EQ(post("", "nonsense").status, 400);
  EXPECT_EQ(post("/pieces", "nonsense").status, 400);
  EXPECT_EQ(post("/unkept", "nonsense").status, 400);
  EXPECT_TRUE(told_.empty());
}

TEST_F(CheckpointRoutesTest, ItsOwnerSendsNone) {
  EXPECT_EQ(world_.ask_now(kSaver, "POST", "/v1/checkpoints" + std::string(kAsked), manifest("one"))
                .status,
            403);
}

}  // namespace
}  // namespace paceline
