#include "app/joined_server.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "files/private_file.hpp"
#include "http/tls_testing.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class JoinedServerTest : public TlsHttpTest {
 protected:
  Router routes() override {
    Router router;
    router.add("POST", "/v1/join", [this](const auto& exchange) {
      asked_ = exchange->request();
      if (refusal_) return exchange->refuse(*refusal_);
      const auto body = nlohmann::json::parse(asked_.body);
      exchange->reply({.body = issue(body["request"], body["node"])});
    });
    router.add("POST", "/v1/identity", [this](const auto& exchange) {
      asked_ = exchange->request();
      const auto body = nlohmann::json::parse(asked_.body);
      exchange->reply({.body = issue(body["request"], asked_.peer.certificate->node)});
    });
    return router;
  }
  std::string issue(const std::string& request, const std::string& node) {
    if (!answer_.empty()) return answer_;
    const auto certificate =
        value_of(authority_.issue_node({request, node, ++serial_}, issued_at_));
    JsonWriter json;
    json.begin_object().field("node", node).field("serial", serial_);
    json.field("certificate", certificate).field("authority", authority_.certificate());
    json.end_object();
    return json.take();
  }

  [[nodiscard]] JoinedServer::Options wish() const {
    return {.directory = dir_,
            .join = TcpAddress{"127.0.0.1", port_},
            .token = Token::make(TokenKind::join, authority_.fingerprint()),
            .node = "gpu-3",
            .machine = "m1",
            .version = "0.1.0"};
  }
  [[nodiscard]] JoinedServer::Options later() const {
    return {.directory = dir_, .node = "gpu-3", .machine = "m1", .version = "0.1.0"};
  }
  static Error refusal(JoinedServer::Options options) {
    const auto taken = JoinedServer::take(std::move(options), now());
    EXPECT_FALSE(taken.has_value());
    return taken ? Error{} : taken.error();
  }
  [[nodiscard]] std::string address() const {
    return value_of(read_private(dir_ / "server", 100)).value_or("");
  }
  bool has_joined() { return value_of(JoinedServer::kept(dir_)).has_value(); }

  std::filesystem::path dir_ = own_folder("agent");
  HttpRequest asked_;
  std::optional<Error> refusal_;
  std::string answer_;
  std::uint64_t serial_ = 0;
  WallTime issued_at_ = now();

 private:
  std::filesystem::path own_folder(const char* name) const {
    const auto dir = folder_.path() / name;
    std::filesystem::create_directory(dir);
    return dir;
  }
};

TEST_F(JoinedServerTest, JoinsOnceAndKnowsItsServerFromThenOn) {
  start();
  const auto options = wish();
  const auto joined = value_of(JoinedServer::take(options, now()));
  EXPECT_EQ(joined.node(), "gpu-3");
  EXPECT_EQ(asked_.header("Authorization"), "Bearer " + options.token->text());
  const auto body = nlohmann::json::parse(asked_.body);
  EXPECT_EQ(body["node"], "gpu-3");
  EXPECT_EQ(body["machine"], "m1");
  EXPECT_EQ(body["version"], "0.1.0");
  EXPECT_EQ(address(), fmt::format("127.0.0.1:{}\n", port_));

  loop_.on([this] { server_.reset(); });
  const auto again = value_of(JoinedServer::take(later(), now()));
  EXPECT_EQ(again.node(), "gpu-3");
  EXPECT_EQ(again.at(), (TcpAddress{"127.0.0.1", port_}));
  EXPECT_FALSE(again.flaw(now()).has_value());
}

TEST_F(JoinedServerTest, ShowsItsIdentityAndItsVersionToTheServer) {
  start();
  const auto joined = value_of(JoinedServer::take(wish(), now()));
  HttpClient http(joined.server([] { return -1; }));
  ASSERT_TRUE(http.send({.method = "POST", .target = "/v1/join", .body = asked_.body}));
  EXPECT_EQ(to_uri(*asked_.peer.certificate), "paceline:node:gpu-3:1");
  EXPECT_EQ(asked_.header("Paceline-Version"), "0.1.0");
}

TEST_F(JoinedServerTest, WithoutATokenThereIsNothingToJoinBy) {
  start();
  EXPECT_EQ(refusal(later()).message, "This machine has not joined a server.");
  auto options = wish();
  options.token.reset();
  EXPECT_THAT(refusal(options).hint, HasSubstr("'paceline node invite'"));
  EXPECT_EQ(address(), "");
}

TEST_F(JoinedServerTest, WhatTheServerRefusesChangesNothing) {
  start();
  refusal_ = Error{ErrorCode::forbidden, "The token was used up.", "Ask for another.", {}};
  EXPECT_EQ(refusal(wish()).message, "The token was used up.");
  EXPECT_FALSE(has_joined());
  EXPECT_EQ(address(), "");
}

TEST_F(JoinedServerTest, AnAnswerThatIsNoneChangesNothing) {
  start();
  for (const char* answer : {"", "{}", "[1]", R"({"node":"gpu-3","serial":1,"certificate":"x"})",
                             R"({"node":"gpu-3","serial":1,"certificate":"x","authority":"y"})"}) {
    answer_ = answer;
    if (answer_.empty()) answer_ = " ";
    EXPECT_NE(refusal(wish()).message, "") << answer;
    EXPECT_FALSE(has_joined()) << answer;
  }
}

TEST_F(JoinedServerTest, AnotherServerThanTheTokensIsSentNothing) {
  start();
  const auto other = authority_in(folder_.path() / "other", now());
  auto options = wish();
  options.token = Token::make(TokenKind::join, other.fingerprint());
  EXPECT_THAT(refusal(options).message, HasSubstr("is not the server that the token was made by"));
  EXPECT_EQ(asked_.method, "");
}

TEST_F(JoinedServerTest, ALinePastedOnceMoreDoesNoHarm) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  refusal_ = Error{ErrorCode::forbidden, "The token was used up.", "Ask for another.", {}};
  EXPECT_EQ(value_of(JoinedServer::take(wish(), now())).node(), "gpu-3");
  auto renamed = wish();
  renamed.node = "gpu-4";
  EXPECT_EQ(refusal(renamed).message, "The token was used up.");
}

TEST_F(JoinedServerTest, ANewInvitationMakesANewIdentity) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  auto renamed = wish();
  renamed.node = "gpu-4";
  EXPECT_EQ(value_of(JoinedServer::take(renamed, now())).node(), "gpu-4");
  EXPECT_EQ(serial_, 2U);
}

TEST_F(JoinedServerTest, AnotherServerIsRefusedOnceItHasJoinedOne) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  const auto other = authority_in(folder_.path() / "other", now());
  auto options = wish();
  options.token = Token::make(TokenKind::join, other.fingerprint());
  const auto why = refusal(options);
  EXPECT_EQ(why.code, ErrorCode::conflict);
  EXPECT_THAT(why.message, HasSubstr("This machine joined another server than the one at"));
  EXPECT_THAT(why.hint, HasSubstr(dir_.string()));
}

TEST_F(JoinedServerTest, ItsServerMayMoveAndIsKnownAgain) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  auto moved = later();
  moved.join = TcpAddress{"localhost", port_};
  EXPECT_EQ(value_of(JoinedServer::take(moved, now())).at().host, "localhost");
  EXPECT_EQ(address(), fmt::format("localhost:{}\n", port_));

  const auto other = authority_in(folder_.path() / "other", now());
  const auto certificates =
      value_of(TlsCertificates::make(other.issue_server(now())->credentials, other.certificate()));
  loop_.on([&] {
    server_.reset();
    auto socket = value_of(listen_tcp({"127.0.0.1", 0}));
    port_ = tcp_address_of(socket.get()).port;
    server_.emplace(loop_.io(), listen_tls(loop_.io(), std::move(socket), certificates), Router(),
                    ServerOptions{});
    ASSERT_TRUE(server_->start().has_value());
  });
  moved.join = TcpAddress{"127.0.0.1", port_};
  EXPECT_EQ(refusal(moved).code, ErrorCode::conflict);
  EXPECT_THAT(address(), HasSubstr("localhost:"));
}

TEST_F(JoinedServerTest, AnotherNameWithoutATokenIsRefused) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  auto renamed = later();
  renamed.node = "gpu-4";
  EXPECT_EQ(refusal(renamed).message, "This machine joined as 'gpu-3', not as 'gpu-4'.");
}

TEST_F(JoinedServerTest, AnIdentityThatRanOutIsSaidToHave) {
  start();
  const auto joined = value_of(JoinedServer::take(wish(), now()));
  EXPECT_FALSE(joined.flaw(now()).has_value());
  const auto flaw = joined.flaw(now() + kYear);
  ASSERT_TRUE(flaw.has_value());
  EXPECT_THAT(flaw->message, HasSubstr("The identity of node 'gpu-3' ran out on "));
  EXPECT_THAT(flaw->hint, HasSubstr("'paceline node remove gpu-3'"));
}

TEST_F(JoinedServerTest, RenewsWhatItShows) {
  start();
  issued_at_ = now() - kYear / 2;
  auto joined = value_of(JoinedServer::take(wish(), now()));
  const auto first = joined.renew_at();
  issued_at_ = now();
  joined.take_over(value_of(joined.renew([] { return -1; }, now())));
  EXPECT_GT(joined.renew_at(), first);
  EXPECT_EQ(to_uri(*asked_.peer.certificate), "paceline:node:gpu-3:1");
  EXPECT_EQ(value_of(JoinedServer::kept(dir_))->name.serial, 2U);
}

TEST_F(JoinedServerTest, ALostAddressIsAskedForOnce) {
  start();
  value_of(JoinedServer::take(wish(), now()));
  std::filesystem::remove(dir_ / "server");
  EXPECT_THAT(refusal(later()).hint, HasSubstr("--join"));
  auto options = later();
  options.join = TcpAddress{"127.0.0.1", port_};
  EXPECT_TRUE(JoinedServer::take(options, now()).has_value());
  EXPECT_TRUE(JoinedServer::take(later(), now()).has_value());
}

}  // namespace
}  // namespace paceline
