// Who is believed over TLS: servers by clients, nodes by servers.
#include <gmock/gmock.h>

#include "http/tls_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class TlsCertificateTest : public TlsHttpTest {
 protected:
  [[nodiscard]] Authority another() const {
    return authority_in(folder_.path() / "another", now() - 3 * kYear);
  }
  [[nodiscard]] Result<HttpResponse> ask_with(Credentials shown) const {
    auto with = options();
    with.shown = std::move(shown);
    return HttpClient({std::make_shared<TlsDialer>(with)}).send({.target = "/who"});
  }
};

TEST_F(TlsCertificateTest, AServerIsKnownByItsAuthoritysFingerprint) {
  start();
  auto by = options();
  by.authority = authority_.fingerprint();
  EXPECT_EQ(Client(dial(by)).get("/hello").status, 200);
}

TEST_F(TlsCertificateTest, AServerOfAnotherAuthorityIsRefused) {
  start();
  auto by = options();
  by.authority = another().certificate();
  EXPECT_EQ(refusal(by).code, ErrorCode::forbidden);
  EXPECT_THAT(refusal(by).message, HasSubstr("is not the server that is known here"));
  by.authority = another().fingerprint();
  EXPECT_EQ(refusal(by).code, ErrorCode::forbidden);
  EXPECT_THAT(refusal(by).message, HasSubstr("is not the server that the token was made by"));
  EXPECT_THAT(refusal(by).hint, HasSubstr("new token"));
  wait_for_connections(0);
}

// Its own leaf's fingerprint is not its authority's.
TEST_F(TlsCertificateTest, AServerIsNotItsOwnAuthority) {
  const auto issued = value_of(authority_.issue_server(now()));
  start_with(issued.credentials);
  auto by = options();
  by.authority = *fingerprint_of(issued.credentials.chain);
  EXPECT_EQ(refusal(by).code, ErrorCode::forbidden);
}

TEST_F(TlsCertificateTest, AnExpiredServerSaysBothClocks) {
  const auto issued = value_of(authority_.issue_server(now() - 2 * kYear));
  start_with(issued.credentials);
  const auto from = utc_text(now());
  const auto error = refusal(options());
  const auto clock = "This machine's clock says ";
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.hint, AnyOf(HasSubstr(clock + from.substr(0, 10)),
                                HasSubstr(clock + utc_text(now()).substr(0, 10))));
  EXPECT_THAT(error.message, HasSubstr("holds from " + utc_text(issued.validity.from)));
}

TEST_F(TlsCertificateTest, AServerThatIsNotYetValidSaysBothClocks) {
  const auto issued = value_of(authority_.issue_server(now() + kYear));
  start_with(issued.credentials);
  EXPECT_THAT(refusal(options()).message,
              HasSubstr("holds from " + utc_text(issued.validity.from)));
}

TEST_F(TlsCertificateTest, ANodesCertificateIsNoServers) {
  start_with(node_of(authority_, now()));
  EXPECT_EQ(refusal(options()).code, ErrorCode::forbidden);
  EXPECT_THAT(refusal(options()).message, HasSubstr("not a server's"));
}

TEST_F(TlsCertificateTest, ANodeIsKnownByItsCertificateAndPeopleByNone) {
  start();
  const auto node = ask_with(node_of(authority_, now()));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->body, "paceline:node:gpu-1:3 false paceline:node:gpu-1:3");
  EXPECT_EQ(ask_with({})->body, "127.0.0.1 false -");
}

TEST_F(TlsCertificateTest, ANodeThatIsNotGoodIsToldSo) {
  start();
  for (const auto& shown :
       {node_of(another(), now()), node_of(authority_, now() - 2 * kYear),
        node_of(authority_, now() + kYear), value_of(authority_.issue_server(now())).credentials}) {
    const auto answer = ask_with(shown);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::forbidden);
    EXPECT_THAT(answer.error().message, HasSubstr("does not accept this machine's certificate"));
  }
  EXPECT_EQ(connections(), 0U);
}

TEST_F(TlsCertificateTest, AreRenewedWhileAStreamRuns) {
  start();
  auto stream = EventStream::open(address(), "/events");
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_TRUE(stream->next(60s)->has_value());
  const auto others = value_of(another().issue_server(now())).credentials;
  loop_.on([&] { ASSERT_TRUE(certificates_->renew(others)); });
  EXPECT_EQ(refusal(options()).code, ErrorCode::forbidden);
  auto by = options();
  by.authority = another().certificate();
  EXPECT_EQ(Client(dial(by)).get("/hello").status, 200);
  loop_.on([&] { events_->send({"tick", "2", "two"}); });
  EXPECT_EQ(stream->next(60s)->value(), (ServerEvent{"tick", "two", "2"}));
}

TEST_F(TlsCertificateTest, ThatDontFitChangeNothing) {
  start();
  auto torn = value_of(authority_.issue_server(now())).credentials;
  torn.key = value_of(authority_.issue_server(now())).credentials.key;
  loop_.on([&] {
    EXPECT_EQ(certificates_->renew(torn).error().code, ErrorCode::invalid);
    EXPECT_EQ(certificates_->renew({"", ""}).error().code, ErrorCode::invalid);
  });
  EXPECT_EQ(client().get("/hello").status, 200);
  EXPECT_EQ(TlsCertificates::make(torn, authority_.certificate()).error().code, ErrorCode::invalid);
  const auto good = value_of(authority_.issue_server(now())).credentials;
  EXPECT_EQ(TlsCertificates::make(good, "nonsense").error().code, ErrorCode::invalid);
  auto by = options();
  by.authority = std::string("nonsense");
  EXPECT_EQ(refusal(by).code, ErrorCode::invalid);
}

TEST_F(TlsCertificateTest, AHostThatIsNoneIsSaid) {
  auto nowhere = options("no-such-host.invalid");
  EXPECT_THAT(refusal(nowhere).message, HasSubstr("'no-such-host.invalid' leads to no machine"));
}

TEST_F(TlsCertificateTest, ADialThatIsInterruptedEnds) {
  const auto silent = value_of(listen_tcp({"127.0.0.1", 0}));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  auto to = options();
  to.port = tcp_address_of(silent.get()).port;
  to.timeout = 20ms;
  EXPECT_THAT(refusal(to).message, HasSubstr("does not answer"));
  to.timeout = 1h;
  to.interrupted = [&] { return read_end.get(); };
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  EXPECT_EQ(refusal(to).code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace paceline
