// TLS as OpenSSL's own programs speak it: what is not of our making gets in by TLS 1.3 and a good
// certificate alone.
#include <gmock/gmock.h>
#include <stdio.h>

#include <array>
#include <fstream>

#include "http/tls_testing.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TlsOpenSslTest : public TlsHttpTest {
 protected:
  void SetUp() override {
    if (said_by("openssl version").find("OpenSSL 3") == std::string::npos)
      GTEST_SKIP() << "there is no openssl 3; script/bootstrap installs it";
  }

  static std::string said_by(const std::string& command) {
    FILE* const out = ::popen((command + " 2>&1").c_str(), "r");
    EXPECT_NE(out, nullptr);
    std::string all;
    std::array<char, 4096> bytes{};
    while (const auto count = ::fread(bytes.data(), 1, bytes.size(), out))
      all.append(bytes.data(), count);
    ::pclose(out);
    return all;
  }
  std::string file(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  // What it prints when it asks for /who; what it said of the connection goes before.
  std::string ask(const std::string& more) const {
    return said_by(
        fmt::format("printf 'GET /who HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' | "
                    "openssl s_client -connect 127.0.0.1:{} -ign_eof -CAfile {} -alpn http/1.1 {}",
                    port_, file("authority.pem", authority_.certificate()), more));
  }
  std::string ask_with(const Credentials& shown) const {
    return ask(fmt::format("-tls1_3 -cert {} -key {}", file("shown.pem", shown.chain),
                           file("shown.key", shown.key)));
  }
};

TEST_F(TlsOpenSslTest, GetsInByTls13) {
  start();
  const auto said = ask("-tls1_3");
  EXPECT_THAT(said, HasSubstr("New, TLSv1.3"));
  EXPECT_THAT(said, HasSubstr("Verify return code: 0 (ok)"));
  EXPECT_THAT(said, HasSubstr("ALPN protocol: http/1.1"));
  EXPECT_THAT(said, HasSubstr("Compression: NONE"));
  EXPECT_THAT(said, Not(HasSubstr("Post-Handshake New Session Ticket")));
  EXPECT_THAT(said, HasSubstr("127.0.0.1 false -"));
}

TEST_F(TlsOpenSslTest, GetsInByNothingOlder) {
  start();
  for (const auto* version : {"-tls1_2", "-tls1_1", "-tls1"}) {
    const auto said = ask(std::string(version) + " -cipher ALL:@SECLEVEL=0");
    EXPECT_THAT(said, HasSubstr("alert protocol version")) << version;
    EXPECT_THAT(said, Not(HasSubstr("127.0.0.1 false"))) << version;
  }
}

TEST_F(TlsOpenSslTest, SpeaksHttp11AndNoOther) {
  start();
  const auto said = ask("-tls1_3 -alpn h2");
  EXPECT_THAT(said, HasSubstr("no application protocol"));
  EXPECT_THAT(said, Not(HasSubstr("127.0.0.1 false")));
}

TEST_F(TlsOpenSslTest, IsKnownByAGoodCertificateAlone) {
  start();
  EXPECT_THAT(ask_with(node_of(authority_, now())), HasSubstr("paceline:node:gpu-1:3"));
  const auto foreign = authority_in(folder_.path() / "foreign", now());
  for (const auto& [shown, alert] :
       {std::pair{node_of(foreign, now()), "alert unknown ca"},
        std::pair{node_of(authority_, now() - 2 * kYear), "alert certificate expired"},
        std::pair{node_of(authority_, now() + kYear), "alert bad certificate"},
        std::pair{value_of(authority_.issue_server(now())).credentials,
                  "alert unsupported certificate"}}) {
    const auto said = ask_with(shown);
    EXPECT_THAT(said, HasSubstr(alert));
    EXPECT_THAT(said, Not(HasSubstr("127.0.0.1 false"))) << alert;
  }
}

// One of its own making, with our names in it.
TEST_F(TlsOpenSslTest, IsNotKnownByWhatItMadeItself) {
  start();
  const auto key = (folder_.path() / "own.key").string(),
             own = (folder_.path() / "own.pem").string();
  said_by(
      fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
                  "{} -out {} -days 2 -subj '/CN=Paceline authority' -addext "
                  "subjectAltName=URI:paceline:node:gpu-1:3 -addext extendedKeyUsage=clientAuth",
                  key, own));
  const auto said = ask_with({content_of(key), content_of(own)});
  EXPECT_THAT(said, HasSubstr("alert unknown ca"));
  EXPECT_THAT(said, Not(HasSubstr("127.0.0.1 false")));
}

TEST_F(TlsOpenSslTest, CannotBeAServerOfOldTlsToUs) {
  const auto issued = value_of(authority_.issue_server(now())).credentials;
  FILE* const server = ::popen(
      fmt::format("exec openssl s_server -www -tls1_2 -accept 127.0.0.1:0 -naccept 1 -cert {} "
                  "-key {} 2>/dev/null",
                  file("server.pem", issued.chain), file("server.key", issued.key))
          .c_str(),
      "r");
  ASSERT_NE(server, nullptr);
  std::array<char, 256> line{};
  while (port_ == 0 && ::fgets(line.data(), line.size(), server) != nullptr) {
    const std::string_view said(line.data());
    const auto colon = said.rfind(':');
    if (!said.starts_with("ACCEPT") || colon == std::string_view::npos) continue;
    std::from_chars(said.data() + colon + 1, said.data() + said.size(), port_);
  }
  ASSERT_NE(port_, 0);
  EXPECT_THAT(refusal(options()).message, HasSubstr("speaks no TLS 1.3"));
  ::pclose(server);
}

TEST_F(TlsOpenSslTest, ReadsWhatTheAuthorityIssues) {
  const auto text = said_by("openssl x509 -noout -text -in " +
                            file("node.pem", node_of(authority_, now()).chain));
  EXPECT_THAT(text, HasSubstr("Issuer: CN = Paceline authority"));
  EXPECT_THAT(text, HasSubstr("URI:paceline:node:gpu-1:3"));
  EXPECT_THAT(text, HasSubstr("TLS Web Client Authentication"));
  EXPECT_THAT(text, HasSubstr("CA:FALSE"));
  const auto strict = said_by(fmt::format(
      "openssl verify -x509_strict -purpose sslclient -CAfile {} {}",
      file("authority.pem", authority_.certificate()), (folder_.path() / "node.pem").string()));
  EXPECT_THAT(strict, HasSubstr("node.pem: OK"));
}

}  // namespace
}  // namespace paceline
