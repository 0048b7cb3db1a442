#include "trust/identity.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "trust/testing.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr WallTime kThen = wall_from_us(1'800'000'000'000'000);

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() : authority_(authority_in(folder_.path() / "server", kThen - hours{24})) {}

  std::string issue(std::uint64_t serial = 1) const {
    return value_of(authority_.issue_node({value_of(here_.request()), "a", serial}, kThen));
  }
  Result<Identity> accept(const std::string& certificate, WallTime now = kThen) const {
    return here_.accept({certificate, authority_.certificate()}, authority_.fingerprint(), now);
  }
  std::string refusal(const Result<Identity>& accepted) const {
    EXPECT_FALSE(accepted.has_value());
    EXPECT_FALSE(value_of(here_.read()).has_value()) << "nothing was kept";
    return accepted ? "" : accepted.error().message;
  }

  TempFolder folder_;
  Authority authority_;
  IdentityDir here_{folder_.path() / "node"};
};

TEST_F(IdentityTest, IsKeptOnceItWasIssued) {
  EXPECT_FALSE(value_of(here_.read()).has_value());
  const auto identity = value_of(accept(issue()));
  EXPECT_EQ(identity.name, (CertificateName{Holder::node, "a", 1}));
  const auto kept = value_of(here_.read());
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->credentials.key, identity.credentials.key);
  EXPECT_EQ(kept->credentials.chain, identity.credentials.chain);
  EXPECT_EQ(kept->authority, authority_.certificate());
  EXPECT_EQ(kept->name, identity.name);
  EXPECT_EQ(kept->validity, identity.validity);
  struct stat info {};
  ASSERT_EQ(::stat((folder_.path() / "node" / "identity.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

// Whoever crashes between request and answer asks for the same key again.
TEST_F(IdentityTest, AsksForTheSameKeyUntilItHasACertificate) {
  const auto first = issue(1);
  const auto second = issue(2);
  EXPECT_TRUE(accept(second));
  const auto late = accept(first);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::conflict);
  EXPECT_EQ(value_of(here_.read())->name.serial, 2U);
}

TEST_F(IdentityTest, IsRenewedWithANewKey) {
  const auto before = value_of(accept(issue()));
  const auto after = value_of(accept(issue()));
  EXPECT_NE(before.credentials.key, after.credentials.key);
  EXPECT_EQ(value_of(here_.read())->credentials.key, after.credentials.key);
}

TEST_F(IdentityTest, AcceptsNothingOfAnotherAuthority) {
  const auto other = authority_in(folder_.path() / "other", kThen);
  const auto theirs = value_of(other.issue_node({value_of(here_.request()), "a", 1}, kThen));
  EXPECT_THAT(refusal(accept(theirs)), HasSubstr("another authority"));
  EXPECT_THAT(refusal(here_.accept({theirs, other.certificate()}, authority_.fingerprint(), kThen)),
              HasSubstr("another authority"));
  EXPECT_THAT(refusal(here_.accept({"", ""}, authority_.fingerprint(), kThen)),
              HasSubstr("another authority"));
}

TEST_F(IdentityTest, AcceptsNothingThatIsForSomebodyElse) {
  const IdentityDir elsewhere(folder_.path() / "elsewhere");
  const auto request = value_of(elsewhere.request());
  const auto theirs = value_of(authority_.issue_node({request, "b", 1}, kThen));
  issue();
  EXPECT_THAT(refusal(accept(theirs)), HasSubstr("another key"));
  const auto server = value_of(authority_.issue_server(kThen)).credentials.chain;
  EXPECT_THAT(refusal(accept(server)), HasSubstr("not a node's"));
}

TEST_F(IdentityTest, SaysBothClocksWhenTheyDisagree) {
  const auto certificate = issue();
  const auto message = refusal(accept(certificate, kThen - hours{2}));
  EXPECT_THAT(message, HasSubstr("clock says 2027-01-15 06:00:00 UTC"));
  EXPECT_THAT(message, HasSubstr("from 2027-01-15 07:00:00 UTC to 2028-01-15"));
  EXPECT_THAT(refusal(accept(certificate, kThen + 2 * kCertificateLifetime)), HasSubstr("clock"));
}

TEST_F(IdentityTest, IsNeverReadDamaged) {
  value_of(accept(issue()));
  const auto file = folder_.path() / "node" / "identity.pem";
  const auto whole = content_of(file);
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    overwrite(file, std::string_view(whole).substr(0, at));
    const auto read = here_.read();
    ASSERT_FALSE(read.has_value()) << at;
    EXPECT_EQ(read.error().code, ErrorCode::data);
  }
}

}  // namespace
}  // namespace paceline
