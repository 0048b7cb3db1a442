// A server whose name service hangs: nobody but whom it doesn't know waits for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/token_book.hpp"
#include "api/world_testing.hpp"
#include "files/held_testing.hpp"
#include "trust/token.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRootHere = 0, kAnnHere = 1'007, kBobHere = 1'008;

class SilentNamesTest : public ::testing::Test {
 protected:
  SilentNamesTest() {
    by_number_.tell(kRootHere, Login{"root", kRootHere, "/root", "/bin/sh"});
    for (const auto& login : {ann_, bob_}) {
      by_number_.tell(login.uid, login);
      by_name_.tell(login.name, login);
    }
    world_.emplace(kRootHere, 4, World::Identify(), std::nullopt, std::nullopt,
                   RemoteAccess{&book_, sha256("an authority"), "box:7443"}, std::nullopt,
                   LoginService{by_number_.find(), by_name_.find()});
    for (const std::uint32_t uid : {kRootHere, kAnnHere})
      EXPECT_TRUE(comes_true([&] { return ask(uid, "GET", "/v1/whoami").status == 200; }));
  }

  HttpResponse ask(std::uint32_t uid, std::string_view method, std::string_view target) {
    return world_->ask_later(uid, method, target, method == "POST" ? submission() : "");
  }
  HttpResponse from_elsewhere(const std::string& token) {
    return world_->ask_from_elsewhere(token, "POST", "/v1/jobs", submission());
  }
  // With nobody known but root.
  void restart() {
    world_->loop.on([&] {
      auto options = ApiOptions{
          .directory = world_->folder.path(),
          .output = std::make_shared<LocalOutput>(world_->loop.io(), world_->folder.path()),
          .remote = RemoteAccess{&book_, sha256("an authority"), "box:7443"},
          .logins = {by_number_.find(), by_name_.find()}};
      world_->api.emplace(*world_->controller, std::move(options));
    });
  }
  std::string token_of(const std::string& user, const std::string& role) {
    HttpResponse made;
    EXPECT_TRUE(comes_true([&] {
      made = world_->ask_now(kRootHere, "POST", "/v1/tokens",
                             fmt::format(R"({{"user": "{}", "role": "{}"}})", user, role));
      return made.status == 201;
    })) << made.body;
    return json_of(made)["token"];
  }
  void expect_silence(const HttpResponse& answer) {
    EXPECT_EQ(answer.status, 503) << answer.body;
    const auto error = read_error(answer.body);
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_EQ(error.retry, Retry::may_help);
    EXPECT_THAT(error.message, ::testing::HasSubstr("name service"));
  }
  [[nodiscard]] std::size_t jobs() {
    return json_of(ask(kRootHere, "GET", "/v1/jobs"))["jobs"].size();
  }

  Login ann_{"ann", kAnnHere, "/home/ann", "/bin/sh"},
      bob_{"bob", kBobHere, "/home/bob", "/bin/sh"};
  HeldEntries<std::uint32_t, Login> by_number_;
  HeldEntries<std::string, Login> by_name_;
  TempFolder folder_;
  TokenBook book_ = *TokenBook::open(folder_.path() / "tokens");
  std::optional<World> world_;
};

TEST_F(SilentNamesTest, WhoIsUnknownLooksButIsWrittenDownNowhere) {
  by_number_.hold(kBobHere);
  EXPECT_EQ(ask(kBobHere, "GET", "/v1/jobs").status, 200);
  expect_silence(ask(kBobHere, "GET", "/v1/whoami"));
  expect_silence(ask(kBobHere, "POST", "/v1/jobs"));
  EXPECT_EQ(jobs(), 0U);
  by_number_.release();
  EXPECT_TRUE(comes_true([&] { return ask(kBobHere, "POST", "/v1/jobs").status == 201; }));
  EXPECT_EQ(json_of(ask(kRootHere, "GET", "/v1/jobs/1"))["user"], "bob");
}

TEST_F(SilentNamesTest, WhatWasKnownGoesOn) {
  for (const std::uint32_t uid : {kRootHere, kAnnHere, kBobHere}) by_number_.hold(uid);
  world_->advance(1h);
  for (const std::uint32_t uid : {kRootHere, kAnnHere})
    EXPECT_EQ(ask(uid, "POST", "/v1/jobs").status, 201);
  expect_silence(ask(kBobHere, "POST", "/v1/jobs"));
  EXPECT_EQ(json_of(ask(kRootHere, "GET", "/v1/jobs/2"))["user"], "ann");
}

TEST_F(SilentNamesTest, OnesOwnJobsAreOnesOwnWithoutAName) {
  EXPECT_TRUE(comes_true([&] { return ask(kBobHere, "POST", "/v1/jobs").status == 201; }));
  for (const std::uint32_t uid : {kAnnHere, kBobHere}) by_number_.hold(uid);
  restart();
  expect_silence(ask(kAnnHere, "POST", "/v1/jobs"));
  EXPECT_EQ(world_->ask_later(kAnnHere, "POST", "/v1/jobs/1/cancel").status, 403);
  EXPECT_EQ(world_->ask_later(kBobHere, "POST", "/v1/jobs/1/cancel").status, 200);
}

TEST_F(SilentNamesTest, AHoldersAccountIsNotTakenForNone) {
  const auto bobs = token_of("bob", "user"), guests = token_of("guest", "viewer");
  by_name_.hold("carol");
  by_name_.hold("guest");
  expect_silence(
      world_->ask_now(kRootHere, "POST", "/v1/tokens", R"({"user": "carol", "role": "user"})"));
  world_->advance(1h);
  EXPECT_EQ(from_elsewhere(bobs).status, 201);
  by_name_.hold("bob");
  restart();
  expect_silence(from_elsewhere(bobs));
  expect_silence(world_->ask_from_elsewhere(bobs, "GET", "/v1/jobs"));
  EXPECT_EQ(world_->ask_from_elsewhere(guests, "GET", "/v1/jobs").status, 200);
  EXPECT_EQ(jobs(), 1U);
  by_name_.release();
  EXPECT_TRUE(comes_true([&] { return from_elsewhere(bobs).status == 201; }));
}

}  // namespace
}  // namespace paceline
