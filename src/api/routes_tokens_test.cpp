// People on other machines: known by their tokens, and by nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/login.hpp"
#include "api/token_book.hpp"
#include "api/world_testing.hpp"
#include "trust/sha256.hpp"
#include "trust/token.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kRootUser = 0;

// An account of this machine that isn't root's.
std::optional<Login> somebody() {
  for (const char* name : {"nobody", "daemon", "games"}) {
    if (auto login = find_login(name); login && login->uid != 0) return login;
  }
  return std::nullopt;
}

class TokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto login = somebody();
    if (!login) GTEST_SKIP() << "no account but root's";
    user_ = *login;
  }

  Json make(std::string_view body) {
    const auto made = world_.ask_now(kRootUser, "POST", "/v1/tokens", std::string(body));
    EXPECT_EQ(made.status, 201) << made.body;
    return json_of(made);
  }
  std::string token_of(std::string_view role) {
    return make(fmt::format(R"({{"user": "{}", "role": "{}"}})", user_.name, role))["token"];
  }
  Error refused(std::string_view body) {
    const auto answer = world_.ask_now(kRootUser, "POST", "/v1/tokens", std::string(body));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return read_error(answer.body);
  }

  Login user_;
  TempFolder folder_;
  TokenBook book_ = *TokenBook::open(folder_.path() / "tokens");
  World world_{kRootUser, 4, {}, {}, {}, RemoteAccess{&book_, sha256("an authority"), "box:7443"}};
};

TEST_F(TokensTest, WhoHasOneIsItsUser) {
  const auto token = token_of("user");
  const auto who = json_of(world_.ask_from_elsewhere(token, "GET", "/v1/whoami"));
  EXPECT_EQ(who["user"], user_.name);
  EXPECT_EQ(who["uid"], user_.uid);
  EXPECT_EQ(who["roles"], Json::array({"user"}));
  EXPECT_EQ(who["known_by"], "token");
}

TEST_F(TokensTest, WithoutAGoodOneNobodyIsLetIn) {
  const auto token = token_of("admin");
  auto other = token;
  other.back() = other.back() == 'a' ? 'b' : 'a';
  const auto foreign = Token::make(TokenKind::user, sha256("another authority")).text();
  const std::vector<std::string> bad = {"",          "plu_x",    other, foreign, token.substr(1),
                                        token + "a", " " + token};
  for (const auto& shown : bad) {
    const auto answer = world_.ask_from_elsewhere(shown, "GET", "/v1/jobs");
    EXPECT_EQ(answer.status, 403) << shown;
    EXPECT_THAT(answer.body, HasSubstr("paceline login"));
    if (!shown.empty()) {
      EXPECT_THAT(answer.body, Not(HasSubstr(shown)));
    }
  }
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/jobs").status, 200);
}

TEST_F(TokensTest, ItsJobsRunAsItsUserWhateverTheBodySays) {
  const auto token = token_of("user");
  const auto made = world_.ask_from_elsewhere(
      token, "POST", "/v1/jobs",
      R"({"spec": {}, "launch": {"command": ["true"], "directory": "~/data",
          "environment": {"A": "1", "SHELL": "/bin/mine"}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  world_.loop.on([&] {
    const auto& job = world_.controller->state().job(JobId{1});
    EXPECT_EQ(job.spec->uid, user_.uid);
    EXPECT_EQ(job.spec->user, user_.name);
    const auto launch = world_.store.launch(JobId{1});
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->directory, user_.home + "/data");
    EXPECT_EQ(launch->environment, (std::map<std::string, std::string>{
                                       {"A", "1"}, {"HOME", user_.home}, {"SHELL", "/bin/mine"}}));
    EXPECT_TRUE(launch->groups.empty()) << "those of the account";
  });
  const auto seen = json_of(world_.ask_from_elsewhere(token, "GET", "/v1/jobs/1"));
  EXPECT_EQ(seen["command"], "true");
}

TEST_F(TokensTest, ARoleIsAllThatItGives) {
  const auto viewer = token_of("viewer"), user = token_of("user");
  ASSERT_EQ(world_.ask_later(user_.uid + 1, "POST", "/v1/jobs", submission()).status, 201);
  EXPECT_EQ(world_.ask_from_elsewhere(viewer, "GET", "/v1/jobs").status, 200);
  EXPECT_EQ(world_.ask_from_elsewhere(viewer, "POST", "/v1/jobs", submission()).status, 403);
  EXPECT_EQ(world_.ask_from_elsewhere(user, "POST", "/v1/jobs/1/cancel").status, 403);
  EXPECT_EQ(world_.ask_from_elsewhere(user, "GET", "/v1/tokens").status, 403);
  EXPECT_EQ(world_.ask_from_elsewhere(token_of("operator"), "POST", "/v1/jobs/1/cancel").status,
            200);
}

TEST_F(TokensTest, ARevokedOneIsWorthlessAtOnce) {
  const auto made = make(fmt::format(R"({{"user": "{}", "role": "user"}})", user_.name));
  const std::string token = made["token"];
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/whoami").status, 200);
  const auto target = fmt::format("/v1/tokens/{}", made["id"].get<int>());
  EXPECT_EQ(world_.ask_now(kRootUser, "DELETE", target).status, 200);
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/whoami").status, 403);
  EXPECT_EQ(world_.ask_now(kRootUser, "DELETE", target).status, 404);
}

TEST_F(TokensTest, AnExpiredOneIsWorthless) {
  const std::string token = make(fmt::format(
      R"({{"user": "{}", "role": "user", "expires_seconds": 60}})", user_.name))["token"];
  world_.advance(std::chrono::seconds{59});
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/whoami").status, 200);
  world_.advance(std::chrono::seconds{1});
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/whoami").status, 403);
  const auto listed = json_of(world_.ask_now(kRootUser, "GET", "/v1/tokens"))["tokens"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["expired"], true);
}

TEST_F(TokensTest, TheListShowsNoSecretAndNoDigest) {
  const auto made = make(fmt::format(R"({{"user": "{}", "role": "viewer"}})", user_.name));
  const std::string token = made["token"];
  const auto list = world_.ask_now(kRootUser, "GET", "/v1/tokens").body;
  EXPECT_THAT(list, Not(HasSubstr(token)));
  EXPECT_THAT(list, Not(HasSubstr("digest")));
  EXPECT_EQ(made["address"], "box:7443");
}

TEST_F(TokensTest, BadWishesAreRefusedWithWhatToDo) {
  EXPECT_THAT(refused(R"({"user": "no-such-account", "role": "user"})").message,
              HasSubstr("no account 'no-such-account'"));
  EXPECT_THAT(refused(R"({"user": "root", "role": "admin"})").message, HasSubstr("root"));
  const auto own = fmt::format(R"("user": "{}")", user_.name);
  EXPECT_THAT(refused("{" + own + R"(, "role": "king"})").hint, HasSubstr("viewer"));
  EXPECT_THAT(refused("{" + own + "}").message, HasSubstr("role"));
  for (const char* span : {"0", "-1", "1e12"})
    refused("{" + own + R"(, "role": "user", "expires_seconds": )" + span + "}");
  EXPECT_EQ(book_.all().size(), 0U);
}

TEST_F(TokensTest, AnAccountThatIsNotThereNeedsNoneToLook) {
  const std::string token = make(R"({"user": "guest-of-the-lab", "role": "viewer"})")["token"];
  const auto who = json_of(world_.ask_from_elsewhere(token, "GET", "/v1/whoami"));
  EXPECT_TRUE(who["uid"].is_null());
  EXPECT_EQ(world_.ask_from_elsewhere(token, "GET", "/v1/jobs").status, 200);
}

TEST_F(TokensTest, NobodyIsRootFromAnotherMachine) {
  const std::string token = make(R"({"user": "root", "role": "viewer"})")["token"];
  const auto who = json_of(world_.ask_from_elsewhere(token, "GET", "/v1/whoami"));
  EXPECT_EQ(who["user"], "root");
  EXPECT_TRUE(who["uid"].is_null());
}

TEST(TokensOfAPrivateServer, AreItsUsersOrViewers) {
  const TempFolder folder;
  TokenBook book = *TokenBook::open(folder.path() / "tokens");
  const auto own = find_login(4'000'000'000U) ? 4'000'000'001U : 4'000'000'000U;
  World world{own, 4, {}, {}, {}, RemoteAccess{&book, sha256("an authority"), "box:7443"}};
  const auto other = world.ask_now(own, "POST", "/v1/tokens", R"({"user": "bob", "role": "user"})");
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.body, HasSubstr("--role viewer"));
  EXPECT_EQ(world.ask_now(own, "POST", "/v1/tokens", R"({"user": "bob", "role": "viewer"})").status,
            201);
}

TEST(TokensOfAServerWithoutADoor, AreOfNoUse) {
  World world{kRootUser};
  for (const auto& [method, target] :
       {std::pair{"GET", "/v1/tokens"}, {"POST", "/v1/tokens"}, {"DELETE", "/v1/tokens/1"}}) {
    const auto answer =
        world.ask_now(kRootUser, method, target, R"({"user": "bob", "role": "viewer"})");
    EXPECT_EQ(answer.status, 409) << target;
    EXPECT_THAT(answer.body, HasSubstr("--listen"));
  }
  const auto token = Token::make(TokenKind::user, sha256("an authority")).text();
  EXPECT_EQ(world.ask_from_elsewhere(token, "GET", "/v1/jobs").status, 403);
}

}  // namespace
}  // namespace paceline
