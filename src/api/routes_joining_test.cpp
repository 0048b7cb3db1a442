// Machines that become nodes: invited, joined, known by their certificates, removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "api/node_book_file.hpp"
#include "api/token_book.hpp"
#include "api/world_testing.hpp"
#include "http/client.hpp"
#include "http/tcp_socket.hpp"
#include "http/tls_dialer.hpp"
#include "http/tls_listener.hpp"
#include "link/agent_door.hpp"
#include "trust/identity.hpp"
#include "trust/testing.hpp"
#include "trust/token.hpp"
#include "wire/error_json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint32_t kAdminHere = 0, kAnnsUid = 1001;
constexpr WallTime kJoinedAt = wall_from_us(1'763'636'100'000'000);

// Notes what it is handed.
class NotedAgents final : public AgentDoor {
 public:
  Result<std::shared_ptr<ServerStream>> words(const KnownNode& node,
                                              std::string_view version) override {
    return note("words", node, version);
  }
  Result<std::shared_ptr<ServerStream>> bytes(const KnownNode& node,
                                              std::string_view version) override {
    return note("bytes", node, version);
  }
  void cut(std::string_view node) override { said.push_back(fmt::format("cut {}", node)); }
  std::optional<NodeConnection> connection(std::string_view node) const override {
    const auto found = heard.find(node);
    return found == heard.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<std::string> said;
  std::map<std::string, NodeConnection, std::less<>> heard;

 private:
  Result<std::shared_ptr<ServerStream>> note(std::string_view what, const KnownNode& node,
                                             std::string_view version) {
    said.push_back(
        fmt::format("{} {} {} {} {}", what, node.id, node.serial, node.place.rack, version));
    if (version == "99")
      return fail(ErrorCode::conflict, "Another version.", "Install the server's.");
    return std::shared_ptr<ServerStream>();
  }
};

class JoiningTest : public ::testing::Test {
 protected:
  RemoteAccess access() {
    return {.tokens = &tokens_,
            .authority = authority_.fingerprint(),
            .address = "box:7443",
            .nodes = &nodes_,
            .issuer = &authority_,
            .own_nodes = {"box"},
            .agents = &agents_,
            .count_off = [this](std::string_view node, std::string_view by) {
              off_.push_back(fmt::format("{} by {}", node, by));
              return Result<void>();
            }};
  }

  HttpResponse as_root(std::string_view method, std::string_view target, std::string body = {}) {
    return world_.ask_now(kAdminHere, method, target, std::move(body));
  }
  Json invite(std::string_view body = "{}") {
    const auto made = as_root("POST", "/v1/invitations", std::string(body));
    EXPECT_EQ(made.status, 201) << made.body;
    return json_of(made);
  }
  std::string token() { return invite()["token"]; }

  // What the machine of this folder would send.
  std::string body_of(std::string_view node) {
    const IdentityDir dir(folder_.path() / node);
    JsonWriter json;
    json.begin_object().field("node", node).field("machine", fmt::format("machine of {}", node));
    json.field("request", *dir.request()).field("version", "0.1.0").end_object();
    return json.take();
  }
  HttpResponse ask_to_join(std::string_view token, std::string_view node) {
    return world_.ask_from_elsewhere(token, "POST", "/v1/join", body_of(node));
  }
  Identity accept(const HttpResponse& answer, std::string_view node) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto json = json_of(answer);
    const std::string certificate = json["certificate"], authority = json["authority"];
    return value_of(IdentityDir(folder_.path() / node)
                        .accept({certificate, authority}, authority_.fingerprint(), kJoinedAt));
  }
  Identity join(std::string_view node) { return accept(ask_to_join(token(), node), node); }

  static Peer peer_of(const CertificateName& name) {
    return {.origin = "10.0.0.9", .certificate = name};
  }
  std::shared_ptr<KeptExchange> ask_as(const Peer& peer, std::string_view method,
                                       std::string_view target, std::string body = {}) {
    return world_.loop.on(
        [&] { return ask(world_.api->router(), peer, method, target, std::move(body)); });
  }
  // Dials in.
  std::shared_ptr<KeptExchange> dial(const Peer& peer, std::string_view path,
                                     std::vector<std::pair<std::string, std::string>> headers) {
    return world_.loop.on([&] {
      const auto router = world_.api->router();
      auto exchange = std::make_shared<KeptExchange>(HttpRequest{
          .peer = peer, .method = "GET", .path = std::string(path), .headers = std::move(headers)});
      (*router.find("GET", path).handler)(exchange);
      return exchange;
    });
  }
  Result<void> admitted(const Peer& peer, std::string_view token = {}) {
    HttpRequest request{.peer = peer};
    if (!token.empty())
      request.headers.emplace_back("Authorization", fmt::format("Bearer {}", token));
    return world_.loop.on([&] { return world_.api->admission()(request); });
  }
  // Once the loop has got so far.
  template <class Happened>
  bool comes(Happened happened) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!world_.loop.on(happened)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  static Error error_of(const HttpResponse& answer) {
    EXPECT_GE(answer.status, 400) << answer.body;
    return read_error(answer.body);
  }

  TempFolder folder_;
  Authority authority_ = authority_in(folder_.path() / "trust", kJoinedAt);
  TokenBook tokens_ = *TokenBook::open(folder_.path() / "tokens");
  NodeBook nodes_ = *open_node_book(folder_.path() / "nodes");
  NotedAgents agents_;
  std::vector<std::string> off_;
  World world_{kAdminHere, 4, {}, {}, {}, access()};
};

const std::vector<std::pair<std::string, std::string>> kLinkHeaders = {
    {"Upgrade", "paceline-link"}, {"Paceline-Version", "0.1.0"}};

TEST_F(JoiningTest, AMachineJoinsByItsTokenAndGetsACertificate) {
  const auto answer = ask_to_join(token(), "gpu-3");
  const auto json = json_of(answer);
  EXPECT_EQ(json["node"], "gpu-3");
  EXPECT_EQ(json["serial"], 1);
  EXPECT_EQ(json["authority"], authority_.certificate());
  const auto identity = accept(answer, "gpu-3");
  EXPECT_EQ(identity.name, (CertificateName{Holder::node, "gpu-3", 1}));
  EXPECT_TRUE(nodes_.known("gpu-3", 1));
}

TEST_F(JoiningTest, TheNodeHasThePlaceOfItsInvitation) {
  const auto made = invite(R"({"rack": "r1", "switch": "s1", "labels": {"disk": "nvme"}, "uses": 2,
                               "expires_seconds": 60})");
  EXPECT_EQ(made["rack"], "r1");
  EXPECT_EQ(made["labels"], (Json{{"disk", "nvme"}}));
  EXPECT_EQ(made["uses_left"], 2);
  EXPECT_EQ(made["address"], "box:7443");
  EXPECT_EQ(made["expires_at"].get<double>() - made["made_at"].get<double>(), 60);
  ask_to_join(made["token"].get<std::string>(), "gpu-3");
  EXPECT_EQ(nodes_.known("gpu-3", 1)->place,
            (NodePlace{.rack = "r1", .network_switch = "s1", .labels = {{"disk", "nvme"}}}));
}

TEST_F(JoiningTest, ATokenIsGoodOnceAndForJoiningAlone) {
  const auto once = token();
  EXPECT_TRUE(admitted({.origin = "10.0.0.9"}, once));
  for (const char* target : {"/v1/jobs", "/v1/nodes", "/v1/whoami", "/v1/link", "/healthz"}) {
    const auto refused = world_.ask_from_elsewhere(once, "GET", target);
    EXPECT_EQ(refused.status, 403) << target;
    EXPECT_THAT(refused.body, HasSubstr("good for joining, and for nothing else")) << target;
  }
  EXPECT_EQ(ask_to_join(once, "gpu-4").status, 200);
  const auto refused = error_of(ask_to_join(once, "gpu-5"));
  EXPECT_EQ(refused.code, ErrorCode::forbidden);
  EXPECT_EQ(refused.message, "This join token was used up.");
}

TEST_F(JoiningTest, ALostAnswerIsGivenAgain) {
  const auto once = token();
  const auto first = ask_to_join(once, "gpu-3");
  const auto again = ask_to_join(once, "gpu-3");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(json_of(again)["serial"], 1);
  EXPECT_EQ(accept(again, "gpu-3").name.serial, 1U);
}

TEST_F(JoiningTest, WithoutAGoodTokenNobodyJoins) {
  const auto foreign = Token::make(TokenKind::join, sha256("another authority")).text();
  const auto cut = token().substr(0, 40);
  const auto revoked = invite();
  as_root("DELETE", fmt::format("/v1/invitations/{}", revoked["id"].get<int>()));
  for (const std::string& shown :
       {std::string(), foreign, cut, revoked["token"].get<std::string>()}) {
    const auto refused = ask_to_join(shown, "gpu-3");
    EXPECT_EQ(refused.status, 403) << shown;
    EXPECT_FALSE(admitted({.origin = "10.0.0.9"}, shown)) << shown;
  }
  const auto expired = token();
  world_.advance(std::chrono::hours{1});
  EXPECT_THAT(error_of(ask_to_join(expired, "gpu-3")).message, HasSubstr("expired at 2025-11-20"));
  EXPECT_THAT(admitted({.origin = "10.0.0.9"}, expired).error().message, HasSubstr("expired"));
  EXPECT_TRUE(nodes_.nodes().empty());
}

TEST_F(JoiningTest, PeopleJoinNothingAndDialNowhere) {
  const auto body = body_of("gpu-3");
  for (const auto uid : {kAdminHere, kAnnsUid}) {
    const auto refused = world_.ask_now(uid, "POST", "/v1/join", body);
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("paceline node invite"));
    for (const char* target : {"/v1/link", "/v1/bytes"})
      EXPECT_EQ(world_.ask_now(uid, "GET", target).status, 403) << target;
  }
  for (const auto& [method, target] : {std::pair{"POST", "/v1/invitations"},
                                       {"GET", "/v1/invitations"},
                                       {"DELETE", "/v1/invitations/1"},
                                       {"DELETE", "/v1/nodes/gpu-3"}})
    EXPECT_EQ(world_.ask_now(kAnnsUid, method, target, "{}").status, 403) << target;
}

TEST_F(JoiningTest, ANameThatIsTakenIsRefused) {
  join("gpu-3");
  const auto taken = error_of(ask_to_join(token(), "gpu-3"));
  EXPECT_EQ(taken.code, ErrorCode::conflict);
  EXPECT_EQ(taken.message, "A node 'gpu-3' joined already.");
  const auto own = error_of(ask_to_join(token(), "box"));
  EXPECT_EQ(own.code, ErrorCode::conflict);
  EXPECT_THAT(own.message, HasSubstr("server's own machine"));
  EXPECT_THAT(own.hint, HasSubstr("--node NAME"));
}

TEST_F(JoiningTest, BadWishesUseNothingUp) {
  const auto shown = token();
  const auto request = *IdentityDir(folder_.path() / "x").request();
  const auto with = [&](std::string_view node, std::string_view wish) {
    JsonWriter json;
    json.begin_object().field("node", node).field("machine", "m").field("request", wish);
    json.field("version", "0.1.0").end_object();
    return json.take();
  };
  const std::string bad[] = {"",
                             "[]",
                             "{}",
                             with("", request),
                             with("gpu 3", request),
                             with("../x", request),
                             with(std::string(64, 'x'), request),
                             with("gpu-3", ""),
                             with("gpu-3", "no request"),
                             with("gpu-3", request.substr(0, request.size() / 2)),
                             with("gpu-3", std::string(5000, 'x'))};
  for (const auto& body : bad) {
    const auto answer = world_.ask_from_elsewhere(shown, "POST", "/v1/join", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_FALSE(read_error(answer.body).message.empty());
  }
  EXPECT_TRUE(nodes_.nodes().empty());
  EXPECT_EQ(ask_to_join(shown, "gpu-3").status, 200);
}

TEST_F(JoiningTest, BadInvitationsAreRefused) {
  for (const char* body :
       {"", "[]", R"({"uses": 0})", R"({"uses": 10001})", R"({"expires_seconds": 0})",
        R"({"expires_seconds": 4e7})", R"({"rack": "\u0007"})", R"({"switch": "\u0007"})",
        R"({"labels": {"a b": "c"}})", R"({"labels": {"a": ""}})", R"({"rak": "r1"})"}) {
    EXPECT_EQ(as_root("POST", "/v1/invitations", body).status, 400) << body;
  }
  EXPECT_TRUE(nodes_.invitations().empty());
}

TEST_F(JoiningTest, TheListShowsNoSecret) {
  const std::string secret = token();
  const auto list = as_root("GET", "/v1/invitations").body;
  EXPECT_THAT(list, Not(HasSubstr(secret)));
  EXPECT_THAT(list, Not(HasSubstr("digest")));
  EXPECT_EQ(json_of(as_root("GET", "/v1/invitations"))["invitations"][0]["made_by"], "root");
  for (const char* id : {"x", "0", "-1"})
    EXPECT_EQ(as_root("DELETE", fmt::format("/v1/invitations/{}", id)).status, 400) << id;
  EXPECT_EQ(as_root("DELETE", "/v1/invitations/7").status, 404);
}

TEST_F(JoiningTest, ANodeDialsInByItsCertificate) {
  const auto peer = peer_of(join("gpu-3").name);
  EXPECT_TRUE(admitted(peer));
  const auto words = dial(peer, "/v1/link", kLinkHeaders);
  EXPECT_EQ(words->tunnelled().protocol, "paceline-link");
  const auto bytes =
      dial(peer, "/v1/bytes", {{"Upgrade", "paceline-bytes"}, {"Paceline-Version", "0.1.0"}});
  EXPECT_EQ(bytes->tunnelled().protocol, "paceline-bytes");
  EXPECT_THAT(agents_.said, ElementsAre("words gpu-3 1  0.1.0", "bytes gpu-3 1  0.1.0"));
}

TEST_F(JoiningTest, DiallingInSaysWhatAndWhichVersion) {
  const auto peer = peer_of(join("gpu-3").name);
  const auto status = [&](std::vector<std::pair<std::string, std::string>> headers) {
    return dial(peer, "/v1/link", std::move(headers))->response().value().status;
  };
  EXPECT_EQ(status({}), 400);
  EXPECT_EQ(status({{"Upgrade", "paceline-link"}}), 400);
  EXPECT_EQ(status({{"Upgrade", "paceline-bytes"}, {"Paceline-Version", "0.1.0"}}), 400);
  EXPECT_EQ(status({{"Upgrade", "paceline-link"}, {"Paceline-Version", std::string(65, '1')}}),
            400);
  EXPECT_TRUE(agents_.said.empty());
  EXPECT_EQ(status({{"Upgrade", "paceline-link"}, {"Paceline-Version", "99"}}), 409);
}

TEST_F(JoiningTest, ANodeUsesNothingElse) {
  const auto peer = peer_of(join("gpu-3").name);
  const auto rows = world_.loop.on([&] { return world_.api->rows(); });
  for (const auto& row : rows) {
    if (row.action == Action::be_a_node || row.action == Action::send_checkpoints) continue;
    auto target = row.pattern;
    if (const auto id = target.find('{'); id != std::string::npos)
      target.replace(id, std::string::npos, "1");
    if (!world_.loop.on([&] { return world_.api->router().find(row.method, target).handler; }))
      continue;
    EXPECT_EQ(ask_as(peer, row.method, target)->response().value().status, 403) << target;
  }
}

TEST_F(JoiningTest, ACertificateIsRenewedUnderItsNumber) {
  const auto before = join("gpu-3");
  const auto request = *IdentityDir(folder_.path() / "gpu-3").request();
  JsonWriter body;
  body.begin_object().field("request", request).end_object();
  const auto answer =
      ask_as(peer_of(before.name), "POST", "/v1/identity", body.take())->response().value();
  const auto after = accept(answer, "gpu-3");
  EXPECT_EQ(after.name, before.name);
  EXPECT_NE(after.credentials.key, before.credentials.key);
  for (const char* bad : {"", "{}", R"({"request": "x"})", R"({"request": "x", "node": "gpu-4"})"})
    EXPECT_EQ(ask_as(peer_of(before.name), "POST", "/v1/identity", bad)->response()->status, 400)
        << bad;
}

TEST_F(JoiningTest, TheWordThatAMachineIsOffIsKept) {
  (void)join("gpu-3");
  const auto says = [&](bool up) {
    world_.loop.on([&] {
      NodeSpec node;
      node.name = "gpu-3";
      node.address = "10.0.0.9";
      node.slots.resize(4);
      world_.engine.tell(up ? Event{NodeUp{NodeId{1}, node}} : Event{NodeDown{NodeId{1}}});
    });
    return comes([&] {
      const Node* node = world_.controller->state().find_node("gpu-3");
      return node != nullptr && node->up == up;
    });
  };
  ASSERT_TRUE(says(true));
  EXPECT_EQ(as_root("DELETE", "/v1/nodes/gpu-3?is_off=1").status, 409);
  EXPECT_THAT(off_, IsEmpty());
  ASSERT_TRUE(says(false));
  EXPECT_EQ(as_root("DELETE", "/v1/nodes/gpu-3?is_off=1").status, 200);
  EXPECT_THAT(off_, ElementsAre("gpu-3 by root"));
  EXPECT_EQ(nodes_.nodes().at("gpu-3").off_by, "root");
}

TEST_F(JoiningTest, ARemovedNodeIsCutAndShutOut) {
  const auto peer = peer_of(join("gpu-3").name);
  const auto gone = json_of(as_root("DELETE", "/v1/nodes/gpu-3"));
  EXPECT_EQ(gone["name"], "gpu-3");
  EXPECT_FALSE(gone["removed_at"].is_null());
  EXPECT_THAT(agents_.said, ElementsAre("cut gpu-3"));
  EXPECT_THAT(admitted(peer).error().message, HasSubstr("Node 'gpu-3' was removed"));
  EXPECT_EQ(dial(peer, "/v1/link", kLinkHeaders)->response().value().status, 403);
  EXPECT_EQ(as_root("DELETE", "/v1/nodes/gpu-3").status, 404);
  EXPECT_EQ(as_root("DELETE", "/v1/nodes/gpu-9").status, 404);
  EXPECT_EQ(as_root("DELETE", "/v1/nodes/box").status, 409);
}

TEST_F(JoiningTest, OnlyTheNewestIdentityOfANameIsTaken) {
  const auto old = peer_of(join("gpu-3").name);
  as_root("DELETE", "/v1/nodes/gpu-3");
  const auto fresh = peer_of(join("gpu-3").name);
  EXPECT_EQ(fresh.certificate->serial, 2U);
  EXPECT_TRUE(admitted(fresh));
  EXPECT_THAT(admitted(old).error().message, HasSubstr("Another machine has joined as 'gpu-3'"));
  EXPECT_FALSE(admitted(peer_of({Holder::node, "gpu-9", 1})));
  EXPECT_FALSE(admitted(peer_of({Holder::server, "", 0})));
}

TEST_F(JoiningTest, NodesTellWhetherTheyJoined) {
  join("gpu-3");
  auto all = json_of(as_root("GET", "/v1/nodes"));
  EXPECT_EQ(all["nodes"][0]["name"], "box");
  EXPECT_EQ(all["nodes"][0]["joined"], false);
  EXPECT_EQ(all["nodes"][0]["removed"], false);
  EXPECT_TRUE(all["nodes"][0]["joined_at"].is_null());
  ASSERT_EQ(all["awaited"].size(), 1U);
  EXPECT_EQ(all["awaited"][0]["name"], "gpu-3");
  world_.loop.on([&] {
    NodeSpec spec;
    spec.name = "gpu-3";
    spec.slots.resize(2);
    world_.engine.tell(NodeUp{NodeId{1}, spec});
  });
  do {
    all = json_of(as_root("GET", "/v1/nodes"));
  } while (all["nodes"].size() < 2);
  EXPECT_TRUE(all["awaited"].empty());
  EXPECT_EQ(all["nodes"][1]["joined"], true);
  EXPECT_EQ(all["nodes"][1]["serial"], 1);
  EXPECT_TRUE(all["nodes"][1]["silent_seconds"].is_null() && all["nodes"][1]["version"].is_null());
  world_.loop.on([&] {
    const Time heard = world_.clock.now() - std::chrono::seconds{7};
    agents_.heard.emplace("gpu-3", NodeConnection{true, heard, "0.1.0"});
  });
  all = json_of(as_root("GET", "/v1/nodes"));
  EXPECT_GE(all["nodes"][1]["silent_seconds"], 7.0);
  EXPECT_EQ(all["nodes"][1]["version"], "0.1.0");
  as_root("DELETE", "/v1/nodes/gpu-3");
  EXPECT_EQ(json_of(as_root("GET", "/v1/nodes"))["nodes"][1]["removed"], true);
}

// The same through the door that other machines come by: TLS, and the admission of each request.
class JoiningOverTlsTest : public JoiningTest {
 protected:
  void SetUp() override {
    world_.advance(now() - kJoinedAt);
    auto socket = value_of(listen_tcp({"127.0.0.1", 0}));
    port_ = tcp_address_of(socket.get()).port;
    const auto issued = value_of(authority_.issue_server(now()));
    const auto certificates =
        value_of(TlsCertificates::make(issued.credentials, authority_.certificate()));
    world_.loop.on([&] {
      server_.emplace(world_.loop.io(),
                      listen_tls(world_.loop.io(), std::move(socket), certificates),
                      world_.api->router(), ServerOptions{.admit = world_.api->admission()});
      ASSERT_TRUE(server_->start().has_value());
    });
  }
  void TearDown() override {
    world_.loop.on([&] { server_.reset(); });
  }

  static WallTime now() {
    return WallTime{
        std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
  }
  [[nodiscard]] HttpResponse send(const Credentials& shown, const std::string& token,
                                  const ClientRequest& request) const {
    TlsDialerOptions options{
        .host = "127.0.0.1", .port = port_, .authority = authority_.fingerprint(), .shown = shown};
    HttpClient http({.dialer = std::make_shared<TlsDialer>(std::move(options)), .token = token});
    return value_of(http.send(request));
  }

  std::uint16_t port_ = 0;
  std::optional<HttpServer> server_;
};

TEST_F(JoiningOverTlsTest, AMachineJoinsIsKnownByItsCertificateAndIsShutOut) {
  const ClientRequest wish{.method = "POST", .target = "/v1/join", .body = body_of("gpu-3")};
  EXPECT_EQ(send({}, {}, wish).status, 403);
  const auto joined = json_of(send({}, token(), wish));
  const std::string certificate = joined["certificate"], authority = joined["authority"];
  const IdentityDir dir(folder_.path() / "gpu-3");
  const auto identity =
      value_of(dir.accept({certificate, authority}, authority_.fingerprint(), now()));

  JsonWriter body;
  body.begin_object().field("request", *dir.request()).end_object();
  const ClientRequest renewal{.method = "POST", .target = "/v1/identity", .body = body.take()};
  EXPECT_EQ(send(identity.credentials, {}, renewal).status, 200);
  EXPECT_EQ(send({}, {}, renewal).status, 403) << "without the certificate";
  EXPECT_EQ(send(identity.credentials, {}, {.target = "/v1/jobs"}).status, 403);
  EXPECT_EQ(send(identity.credentials, {}, {.target = "/v1/link"}).status, 400) << "no upgrade";

  as_root("DELETE", "/v1/nodes/gpu-3");
  const auto refused = send(identity.credentials, {}, renewal);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("Node 'gpu-3' was removed at"));
}

TEST(JoiningWithoutAgents, IsUnavailableForNow) {
  const TempFolder folder;
  const auto authority = authority_in(folder.path() / "trust", kJoinedAt);
  TokenBook tokens = *TokenBook::open(folder.path() / "tokens");
  NodeBook nodes = *open_node_book(folder.path() / "nodes");
  ASSERT_TRUE(nodes.invite(
      {.digest = "x", .expires_at = kJoinedAt + std::chrono::hours{1}, .uses_left = 1}));
  ASSERT_TRUE(nodes.join("x", {.id = "gpu-3"}, kJoinedAt));
  const RemoteAccess access{
      .tokens = &tokens, .address = "box:7443", .nodes = &nodes, .issuer = &authority};
  World world{kAdminHere, 4, {}, {}, {}, access};
  const auto exchange = world.loop.on([&] {
    const auto router = world.api->router();
    auto made = std::make_shared<KeptExchange>(
        HttpRequest{.peer = {.certificate = CertificateName{Holder::node, "gpu-3", 1}},
                    .headers = kLinkHeaders});
    (*router.find("GET", "/v1/link").handler)(made);
    return made;
  });
  EXPECT_EQ(exchange->response().value().status, 503);
}

TEST(JoiningAServerWithoutADoor, IsOfNoUse) {
  World world{kAdminHere};
  for (const auto& [method, target] : {std::pair{"GET", "/v1/invitations"},
                                       {"POST", "/v1/invitations"},
                                       {"DELETE", "/v1/invitations/1"},
                                       {"DELETE", "/v1/nodes/gpu-3"}}) {
    const auto answer = world.ask_now(kAdminHere, method, target, "{}");
    EXPECT_EQ(answer.status, 409) << target;
    EXPECT_THAT(answer.body, HasSubstr("--listen"));
  }
  EXPECT_TRUE(json_of(world.ask_now(kAdminHere, "GET", "/v1/nodes"))["awaited"].empty());
}

}  // namespace
}  // namespace paceline
