#include "trust/authority.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trust/identity.hpp"
#include "trust/issue.hpp"
#include "trust/pem.hpp"
#include "trust/testing.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr WallTime kNow = wall_from_us(1'800'000'000'000'000);

class AuthorityTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path dir() const { return folder_.path() / "trust"; }
  [[nodiscard]] fs::path file() const { return dir() / "authority.pem"; }
  Authority open() const { return authority_in(dir(), kNow); }
  Error refusal() const {
    const auto opened = Authority::open(dir(), kNow);
    EXPECT_FALSE(opened.has_value());
    return opened ? Error{} : opened.error();
  }

  TempFolder folder_;
};

TEST_F(AuthorityTest, IsMadeOnceAndReadAgain) {
  const auto made = open();
  const auto read = authority_in(dir(), kNow + hours{1});
  EXPECT_EQ(read.certificate(), made.certificate());
  EXPECT_EQ(read.fingerprint(), made.fingerprint());
  EXPECT_EQ(made.validity(), (Validity{kNow - hours{1}, kNow + kAuthorityLifetime}));
  EXPECT_EQ(fingerprint_of(made.certificate()), made.fingerprint());
}

TEST_F(AuthorityTest, KeepsItsKeyToItself) {
  const auto made = open();
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_EQ(::stat(dir().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
  EXPECT_EQ(made.certificate().find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir()), {}), 1) << "nothing is left beside it";
}

TEST_F(AuthorityTest, RefusesAFileThatOthersMayRead) {
  open();
  for (const mode_t mode : {0640U, 0604U, 0660U}) {
    ASSERT_EQ(::chmod(file().c_str(), mode), 0);
    EXPECT_EQ(refusal().code, ErrorCode::forbidden);
    EXPECT_THAT(refusal().hint, HasSubstr("chmod"));
  }
}

TEST_F(AuthorityTest, RefusesAFileOfSomebodyElse) {
  open();
  if (::chown(file().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(refusal().code, ErrorCode::forbidden);
  EXPECT_THAT(refusal().message, HasSubstr("belongs to"));
}

TEST_F(AuthorityTest, RefusesALinkInItsPlace) {
  open();
  fs::rename(file(), dir() / "elsewhere");
  fs::create_symlink(dir() / "elsewhere", file());
  EXPECT_EQ(refusal().code, ErrorCode::forbidden);
}

// Cut anywhere, or with any byte changed, it is read as what it was or not at all.
TEST_F(AuthorityTest, IsNeverReadDamaged) {
  const auto fingerprint = open().fingerprint();
  const auto whole = content_of(file());
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    overwrite(file(), std::string_view(whole).substr(0, at));
    const auto cut = Authority::open(dir(), kNow);
    if (at + 1 < whole.size()) {
      EXPECT_THAT(cut ? "" : cut.error().message, HasSubstr("damaged")) << at;
    }
    auto changed = whole;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    overwrite(file(), changed);
    const auto opened = Authority::open(dir(), kNow);
    if (!opened) continue;
    EXPECT_EQ(opened->fingerprint(), fingerprint) << at;
  }
}

TEST_F(AuthorityTest, RefusesTheKeyOfAnother) {
  open();
  const auto mine = content_of(file());
  authority_in(folder_.path() / "other", kNow);
  const auto other = content_of(folder_.path() / "other" / "authority.pem");
  overwrite(file(), mine.substr(0, mine.find("-----BEGIN CERT")) +
                        other.substr(other.find("-----BEGIN CERT")));
  EXPECT_THAT(refusal().message, HasSubstr("don't belong together"));
  EXPECT_THAT(refusal().hint, HasSubstr("copy"));
}

TEST_F(AuthorityTest, LeavesNothingBehindWhereNothingCanBeWritten) {
  fs::create_directories(dir());
  ASSERT_EQ(::chmod(dir().c_str(), 0700), 0);
  // A directory stands where the file would be written first.
  fs::create_directories(dir() / fmt::format("authority.pem.{}.part", ::getpid()) / "full");
  EXPECT_EQ(refusal().code, ErrorCode::storage);
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(AuthorityTest, GivesTheServerANewKeyEveryTime) {
  const auto authority = open();
  const auto one = value_of(authority.issue_server(kNow));
  const auto other = value_of(authority.issue_server(kNow));
  EXPECT_NE(one.credentials.key, other.credentials.key);
  const auto chain = read_certificates(one.credentials.chain);
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(fingerprint_of(*chain[1]), authority.fingerprint());
  EXPECT_EQ(one.validity.renew_at(),
            one.validity.from + (one.validity.until - one.validity.from) / 3 * 2);
  const auto serial = [](const X509& of) {
    return std::string(reinterpret_cast<const char*>(X509_get0_serialNumber(&of)->data),
                       static_cast<std::size_t>(X509_get0_serialNumber(&of)->length));
  };
  EXPECT_EQ(serial(*chain[0]).size(), 16U);
  EXPECT_NE(serial(*chain[0]), serial(*read_certificate(other.credentials.chain)));
}

TEST_F(AuthorityTest, IssuesNothingThatOutlivesIt) {
  const auto authority = open();
  const auto end = authority.validity().until;
  const auto last = value_of(authority.issue_server(end - hours{1}));
  EXPECT_EQ(last.validity.until, end);
  const auto over = authority.issue_server(end);
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().code, ErrorCode::conflict);
}

class Requests : public AuthorityTest {
 protected:
  std::string issue(std::string_view request, std::string_view node = "a",
                    std::uint64_t serial = 1) {
    const auto issued = open().issue_node({request, node, serial}, kNow);
    return issued ? *issued : issued.error().message;
  }
  // Signed by `signer` for the key of `key`.
  static std::string request_of(EVP_PKEY& key, EVP_PKEY& signer) {
    auto request = make_request(key);
    EXPECT_GT(X509_REQ_sign(request.get(), &signer, EVP_sha256()), 0);
    return to_pem(*request);
  }
};

TEST_F(Requests, AreOfTheirKeyAlone) {
  const auto key = make_key();
  auto request = make_request(*key);
  auto* const name = X509_REQ_get_subject_name(request.get());
  ASSERT_EQ(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                       reinterpret_cast<const unsigned char*>("Paceline server"),
                                       -1, -1, 0),
            1);
  STACK_OF(X509_EXTENSION)* wishes = sk_X509_EXTENSION_new_null();
  for (const auto& [kind, value] :
       {std::pair{NID_subject_alt_name, "URI:paceline:server"},
        std::pair{NID_ext_key_usage, "serverAuth"}, std::pair{NID_basic_constraints, "CA:TRUE"}})
    sk_X509_EXTENSION_push(wishes, X509V3_EXT_conf_nid(nullptr, nullptr, kind, value));
  ASSERT_EQ(X509_REQ_add_extensions(request.get(), wishes), 1);
  sk_X509_EXTENSION_pop_free(wishes, X509_EXTENSION_free.function());
  ASSERT_GT(X509_REQ_sign(request.get(), key.get(), EVP_sha256()), 0);

  const auto issued = issue(to_pem(*request), "gpu-1", 3);
  const auto authority = open().certificate();
  const auto verdict = judge(issued, authority, Holder::node, kNow);
  EXPECT_EQ(verdict.flaw, Flaw::none);
  EXPECT_EQ(verdict.name, (CertificateName{Holder::node, "gpu-1", 3}));
  EXPECT_EQ(judge(issued, authority, Holder::server, kNow).flaw, Flaw::other_holder);
  EXPECT_EQ(X509_check_ca(read_certificate(issued).get()), 0);
  EXPECT_EQ(X509_check_private_key(read_certificate(issued).get(), key.get()), 1);
}

TEST_F(Requests, AreKnownByTheirKey) {
  const auto key = make_key(), other = make_key();
  const auto once = request_of(*key, *key), again = request_of(*key, *key);
  EXPECT_NE(once, again) << "chance is in each signature";
  EXPECT_EQ(fingerprint_of_request(once), fingerprint_of_request(again));
  EXPECT_NE(fingerprint_of_request(once), fingerprint_of_request(request_of(*other, *other)));
  EXPECT_EQ(fingerprint_of_request(request_of(*key, *other)).error().code, ErrorCode::invalid);
  EXPECT_EQ(fingerprint_of_request("").error().code, ErrorCode::invalid);
}

TEST_F(Requests, ThatAreNoneAreRefused) {
  const auto key = make_key(), other = make_key();
  const auto good = request_of(*key, *key);
  EXPECT_THAT(issue(""), HasSubstr("none in the form PKCS#10"));
  EXPECT_THAT(issue("good morning"), HasSubstr("none in the form PKCS#10"));
  EXPECT_THAT(issue(good + std::string(8 << 10, '\n')), HasSubstr("over 4 KiB"));
  EXPECT_THAT(issue(request_of(*key, *other)), HasSubstr("not signed by its own key"));
  const OwnedKey wide(EVP_EC_gen("P-384"));
  EXPECT_THAT(issue(request_of(*wide, *wide)), HasSubstr("P-256"));
  const OwnedKey rsa(EVP_RSA_gen(2048));
  EXPECT_THAT(issue(request_of(*rsa, *rsa)), HasSubstr("P-256"));
  for (const auto* id : {"", "a b", "a:1", "a,URI:paceline:server", "\n"})
    EXPECT_THAT(issue(good, id), HasSubstr("can't be the id of a node")) << id;
  EXPECT_THAT(issue(good, "a", 0), HasSubstr("can't be the id of a node"));
  EXPECT_THAT(issue(good), HasSubstr("BEGIN CERTIFICATE"));
}

}  // namespace
}  // namespace paceline
