#include "trust/certificate.hpp"

#include <gtest/gtest.h>

#include "trust/identity.hpp"
#include "trust/testing.hpp"

namespace paceline {
namespace {

using std::chrono::hours;

constexpr WallTime kToday = wall_from_us(1'800'000'000'000'000);

TEST(CertificateName, IsReadAsItWasWritten) {
  for (const auto& name : {CertificateName{}, CertificateName{Holder::node, "gpu-3.lab", 1},
                           CertificateName{Holder::node, "7", ~0ULL}})
    EXPECT_EQ(parse_certificate_name(to_uri(name)), name) << to_uri(name);
  EXPECT_EQ(to_uri({Holder::node, "a", 12}), "paceline:node:a:12");
}

TEST(CertificateName, IsNothingElse) {
  for (const auto* text :
       {"", "paceline", "paceline:", "paceline:server:", "paceline:servers", "paceline:node",
        "paceline:node:a", "paceline:node::1", "paceline:node:a:", "paceline:node:a:0",
        "paceline:node:a:01", "paceline:node:a:-1", "paceline:node:a:18446744073709551616",
        "paceline:node:a b:1", "paceline:node:a,b:1", "paceline:node:a:b:1", "Paceline:server",
        "paceline:node:0123456789012345678901234567890123456789012345678901234567890123:1"})
    EXPECT_EQ(parse_certificate_name(text), std::nullopt) << text;
}

class Judged : public ::testing::Test {
 protected:
  Judged() : authority_(authority_in(folder_.path() / "a", kToday - hours{24 * 1000})) {}

  std::string server() { return value_of(authority_.issue_server(kToday)).credentials.chain; }
  std::string node() {
    const IdentityDir here(folder_.path() / "node");
    const auto request = value_of(here.request());
    return value_of(authority_.issue_node({request, "a", 1}, kToday));
  }
  Flaw flaw(const std::string& certificate, Holder expected, WallTime at = kToday) {
    return judge(certificate, authority_.certificate(), expected, at).flaw;
  }

  TempFolder folder_;
  Authority authority_;
};

TEST_F(Judged, NamesWhoHoldsIt) {
  EXPECT_EQ(flaw(server(), Holder::server), Flaw::none);
  const auto verdict = judge(node(), authority_.certificate(), Holder::node, kToday);
  EXPECT_EQ(verdict.flaw, Flaw::none);
  EXPECT_EQ(verdict.name, (CertificateName{Holder::node, "a", 1}));
}

TEST_F(Judged, ANodeIsNoServerAndAServerNoNode) {
  EXPECT_EQ(flaw(node(), Holder::server), Flaw::other_holder);
  EXPECT_EQ(flaw(server(), Holder::node), Flaw::other_holder);
  EXPECT_NE(flaw(authority_.certificate(), Holder::server), Flaw::none);
  EXPECT_NE(flaw(authority_.certificate(), Holder::node), Flaw::none);
}

TEST_F(Judged, HoldsInItsTimeAlone) {
  const auto text = server();
  const auto from = kToday - hours{1}, until = kToday + kCertificateLifetime;
  EXPECT_EQ(flaw(text, Holder::server, from - hours{1}), Flaw::early);
  EXPECT_EQ(flaw(text, Holder::server, from), Flaw::none);
  EXPECT_EQ(flaw(text, Holder::server, until - hours{1}), Flaw::none);
  const auto late = judge(text, authority_.certificate(), Holder::server, until + hours{1});
  EXPECT_EQ(late.flaw, Flaw::expired);
  EXPECT_EQ(late.validity, (Validity{from, until}));
  EXPECT_EQ(late.validity.renew_at(), from + (until - from) / 3 * 2);
  EXPECT_FALSE(late.validity.wants_renewal(from));
  EXPECT_TRUE(late.validity.wants_renewal(from - hours{1}))
      << "the clock was ahead when it was issued";
  EXPECT_FALSE(late.validity.wants_renewal(late.validity.renew_at() - hours{1}));
  EXPECT_TRUE(late.validity.wants_renewal(late.validity.renew_at()));
}

TEST_F(Judged, IsForeignToEveryOtherAuthority) {
  const auto other = authority_in(folder_.path() / "b", kToday);
  EXPECT_EQ(judge(server(), other.certificate(), Holder::server, kToday).flaw, Flaw::foreign);
  EXPECT_EQ(judge("", authority_.certificate(), Holder::server, kToday).flaw, Flaw::foreign);
}

TEST(UtcText, NamesAnInstant) {
  EXPECT_EQ(utc_text(wall_from_us(1'795'490'880'000'000)), "2026-11-24 03:28:00 UTC");
}

}  // namespace
}  // namespace paceline
