// Against the test vectors of RFC 4231.
#include "proof.hpp"

#include <gtest/gtest.h>

#include <string>

namespace paceline::runtime {
namespace {

std::string of(const std::string& key, const std::string& text) {
  return hex(proof(key, std::as_bytes(std::span(text))));
}

TEST(Proof, IsHmacSha256) {
  EXPECT_EQ(of(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Proof, TellsDigestsApart) {
  Digest a{}, b{};
  EXPECT_TRUE(equal(a, b));
  for (auto& each : b) {
    each = std::byte{1};
    EXPECT_FALSE(equal(a, b));
    each = std::byte{0};
  }
}

}  // namespace
}  // namespace paceline::runtime
