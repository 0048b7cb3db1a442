#include "base/utf8.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace paceline {
namespace {

TEST(Utf8, AcceptsEveryLength) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA4"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x9A\xB4"), 4U);
}

TEST(Utf8, RefusesOverlongSurrogatesAndTooLarge) {
  for (const auto* bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xC3", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Utf8, ReplacesOnlyWhatIsMalformed) {
  EXPECT_EQ(to_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
}

TEST(Utf8, TellsWhatShowsAsItIs) {
  for (const auto* good :
       {"", "train.py", "caf\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x9A\xB4", "\xD7\xA9\xD7\x9C"}) {
    EXPECT_TRUE(is_visible(good)) << good;
  }
  for (const auto* bad : {"a\tb", "\x1b[31m", "\x7f", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x81\xA6",
                          "\xE2\x80\xA8", "\xD8\x9C", "\xEF\xBB\xBF", "\xFF"}) {
    EXPECT_FALSE(is_visible(bad)) << bad;
  }
}

TEST(Utf8, KnowsAnUnfinishedEnd) {
  EXPECT_EQ(utf8_unfinished("abc"), 0U);
  EXPECT_EQ(utf8_unfinished("a\xC3"), 1U);
  EXPECT_EQ(utf8_unfinished("a\xE2\x82"), 2U);
  EXPECT_EQ(utf8_unfinished("a\xF0\x9F\x9A"), 3U);
  EXPECT_EQ(utf8_unfinished("a\xE2\x82\xAC"), 0U);
  EXPECT_EQ(utf8_unfinished("a\xE0\x80"), 0U) << "an overlong form never gets complete";
}

RC_GTEST_PROP(Utf8, MakesAnyBytesValidOnce, (const std::string& bytes)) {
  const auto text = to_utf8(bytes);
  RC_ASSERT(is_utf8(text));
  RC_ASSERT(to_utf8(text) == text);
}

}  // namespace
}  // namespace paceline
