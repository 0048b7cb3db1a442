#include "ship/ignore_rules.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

bool ignored(std::string_view patterns, std::string_view path) {
  IgnoreRules rules;
  rules.enter({}, patterns);
  const bool directory = path.ends_with('/');
  return rules.ignores(path_parts(path), directory ? EntryKind::directory : EntryKind::file);
}

TEST(IgnoreRules, ANameFitsAtAnyDepth) {
  EXPECT_TRUE(ignored("*.ckpt", "a.ckpt"));
  EXPECT_TRUE(ignored("*.ckpt", "runs/7/a.ckpt"));
  EXPECT_FALSE(ignored("*.ckpt", "a.ckpt.txt"));
  EXPECT_TRUE(ignored("__pycache__/", "src/__pycache__/"));
  EXPECT_FALSE(ignored("__pycache__/", "src/__pycache__"));
  EXPECT_TRUE(ignored("[ab]?.py", "x/a1.py"));
  EXPECT_FALSE(ignored("[!ab]?.py", "x/a1.py"));
}

TEST(IgnoreRules, ASlashBeginsAtTheFilesFolder) {
  EXPECT_TRUE(ignored("/data", "data"));
  EXPECT_FALSE(ignored("/data", "src/data"));
  EXPECT_TRUE(ignored("src/data", "src/data"));
  EXPECT_FALSE(ignored("src/data", "x/src/data"));
  EXPECT_FALSE(ignored("src/*.py", "src/x/a.py"));
}

TEST(IgnoreRules, TwoStarsStandForAnyFolders) {
  for (const auto* path : {"logs", "a/logs", "a/b/logs"})
    EXPECT_TRUE(ignored("**/logs", path)) << path;
  for (const auto* path : {"a/b", "a/x/b", "a/x/y/b"}) EXPECT_TRUE(ignored("a/**/b", path)) << path;
  EXPECT_TRUE(ignored("abc/**", "abc/x/y"));
  EXPECT_FALSE(ignored("abc/**", "abc/"));
}

TEST(IgnoreRules, TheLastPatternThatFitsDecides) {
  EXPECT_FALSE(ignored("*.log\n!keep.log\n", "keep.log"));
  EXPECT_TRUE(ignored("!keep.log\n*.log\n", "keep.log"));
  EXPECT_TRUE(ignored("*\n!*/\n", "a"));
  EXPECT_FALSE(ignored("*\n!*/\n", "a/"));
}

TEST(IgnoreRules, WhatIsNoPattern) {
  EXPECT_FALSE(ignored("# a comment\n\n   \n/\n!\n", "# a comment"));
  EXPECT_TRUE(ignored("\\#a\n\\!b", "#a"));
  EXPECT_TRUE(ignored("\\#a\n\\!b", "!b"));
  EXPECT_TRUE(ignored("a  ", "a"));
  EXPECT_TRUE(ignored("a\\ ", "a "));
}

TEST(IgnoreRules, ADeeperFileGoesBefore) {
  IgnoreRules rules;
  rules.enter({}, "*.txt\n");
  rules.enter({"a"}, "!/b.txt\n");
  EXPECT_FALSE(rules.ignores({"a", "b.txt"}, EntryKind::file));
  EXPECT_TRUE(rules.ignores({"a", "x", "b.txt"}, EntryKind::file));
  EXPECT_TRUE(rules.ignores({"b.txt"}, EntryKind::file));
  rules.leave(1);
  EXPECT_TRUE(rules.ignores({"a", "b.txt"}, EntryKind::file));
}

}  // namespace
}  // namespace paceline
