#include "ship/manifest.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trust/sha256.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

const std::string kDigest = to_hex(sha256("x"));

Manifest small() {
  return {{{"train.py", 0644, 1, kDigest}, {"a/run.sh", 0755, 1, kDigest}},
          {{"a/latest", "../train.py"}},
          {"out"}};
}

TEST(Manifest, ReadsBackAsItWasWritten) {
  auto manifest = small();
  ASSERT_TRUE(tidy_manifest(manifest));
  EXPECT_EQ(manifest.files.front().path, "a/run.sh");
  const auto text = to_text(manifest);
  const auto read = read_manifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(to_text(*read), text);
  EXPECT_EQ(manifest.bytes(), 2U);
  EXPECT_TRUE(is_ship_name(ship_name(text)));
}

TEST(Manifest, IsNamedAlikeWhateverOrderItCameIn) {
  auto one = small(), other = small();
  std::swap(other.files[0], other.files[1]);
  ASSERT_TRUE(tidy_manifest(one) && tidy_manifest(other));
  EXPECT_EQ(ship_name(to_text(one)), ship_name(to_text(other)));
}

std::string refusal_of(Manifest manifest) {
  const auto tidied = tidy_manifest(manifest);
  return tidied ? "" : tidied.error().message;
}

TEST(Manifest, NoPathLeadsOut) {
  for (const std::string path : {"/etc/passwd", "../x", "a/../../x", "a//b", "./a", "", "a/", "."})
    EXPECT_NE(refusal_of({{{path, 0644, 1, kDigest}}, {}, {}}), "") << path;
  EXPECT_NE(refusal_of({{{std::string("a\0b", 3), 0644, 1, kDigest}}, {}, {}}), "");
  EXPECT_THAT(refusal_of({{{"a\xff", 0644, 1, kDigest}}, {}, {}}), HasSubstr("UTF-8"));
}

TEST(Manifest, NothingStandsTwiceOrBelowWhatIsNoDirectory) {
  EXPECT_THAT(refusal_of({{{"a", 0644, 1, kDigest}}, {{"a", "b"}}, {}}), HasSubstr("twice"));
  EXPECT_THAT(refusal_of({{{"a/b", 0644, 1, kDigest}}, {{"a", "c"}}, {}}), HasSubstr("above it"));
  EXPECT_THAT(refusal_of({{{"a/b", 0644, 1, kDigest}, {"a", 0644, 1, kDigest}}, {}, {}}),
              HasSubstr("above it"));
}

TEST(Manifest, LinksStayInside) {
  EXPECT_TRUE(leads_inside("a/b", "../c"));
  EXPECT_TRUE(leads_inside("a", "b/../c"));
  EXPECT_FALSE(leads_inside("a", "../c"));
  EXPECT_FALSE(leads_inside("a/b", "../../c"));
  EXPECT_FALSE(leads_inside("a", "/etc/passwd"));
  EXPECT_FALSE(leads_inside("a", ""));
  EXPECT_THAT(refusal_of({{}, {{"data", "/mnt"}}, {}}), HasSubstr("leads out of the directory"));
}

TEST(Manifest, IsBounded) {
  EXPECT_THAT(
      refusal_of(
          {{{"a", 0644, kManifestSumMax, kDigest}, {"b", 0644, 1, to_hex(sha256("y"))}}, {}, {}}),
      HasSubstr("1 TiB"));
  Manifest many;
  for (std::size_t i = 0; i <= kShipEntriesMax; ++i)
    many.directories.push_back(fmt::format("d{}", i));
  EXPECT_THAT(refusal_of(many), HasSubstr("at most 20000"));
}

TEST(Manifest, WhatIsNoneIsOneSentence) {
  for (
      const auto* text :
      {"", "[]", "{}", R"({"files":1,"links":[],"directories":[]})",
       R"({"files":[{}],"links":[],"directories":[]})",
       R"({"files":[],"links":[3],"directories":[]})",
       R"({"files":[],"links":[],"directories":[],"more":1})",
       R"({"files":[{"path":"a","mode":4095,"bytes":1,"sha256":"x"}],"links":[],"directories":[]})"}) {
    const auto read = read_manifest(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid) << text;
  }
}

}  // namespace
}  // namespace paceline
