#include "agent/linux/checkpoint_search.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/linux/files.hpp"
#include "agent/linux/looker.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

using ::testing::UnorderedElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;

class FindCheckpoints : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text = "x") {
    const UniqueFd fd(::open((directory_ / name).c_str(), O_WRONLY | O_CREAT, 0644));
    ASSERT_TRUE(write_all(fd.get(), text));
  }
  void make(const std::string& name) { ASSERT_EQ(::mkdir((directory_ / name).c_str(), 0755), 0); }
  // A directory that leads to itself in as many ways.
  void make_maze(const std::string& name, int links) {
    make(name);
    for (int i = 0; i < links; ++i)
      ASSERT_EQ(::symlink(".", (directory_ / (name + "/l" + std::to_string(i))).c_str()), 0);
  }
  // What is found, relative to the directory.
  std::vector<std::string> found(const std::string& pattern) {
    std::vector<std::string> names;
    for (const CheckpointMatch& match : find_checkpoints(pattern, directory_.path(), 0).matches)
      names.push_back(match.path.substr(directory_.path().size() + 1));
    return names;
  }

  TempDirectory directory_;
};

TEST_F(FindCheckpoints, LeavesOutWhatIsBeingWritten) {
  for (const char* name : {"a.pt", "b.pt", "c.pt.tmp", "d.partial", ".e.pt", "f.pt~"}) write(name);
  EXPECT_THAT(found("*"), UnorderedElementsAre("a.pt", "b.pt"));
}

TEST_F(FindCheckpoints, ReadsPatternsAsAShellDoes) {
  make("run1");
  make("run2");
  make(".hidden");
  for (const char* name :
       {"run1/a.pt", "run1/b.pt", "run2/a.pt", ".hidden/a.pt", "a[1].pt", "a1.pt"})
    write(name);
  EXPECT_THAT(found("run*/a.pt"), UnorderedElementsAre("run1/a.pt", "run2/a.pt"));
  EXPECT_THAT(found("run1/?.pt"), UnorderedElementsAre("run1/a.pt", "run1/b.pt"));
  EXPECT_THAT(found("run[!1]//*.pt"), UnorderedElementsAre("run2/a.pt"));
  EXPECT_THAT(found("./run1/b.pt"), UnorderedElementsAre("./run1/b.pt"));
  EXPECT_THAT(found("*/a.pt"), UnorderedElementsAre("run1/a.pt", "run2/a.pt"));
  EXPECT_THAT(found("a\\[1].pt"), UnorderedElementsAre("a[1].pt"));
  EXPECT_THAT(found("a[1].pt"), UnorderedElementsAre("a1.pt"));
  EXPECT_THAT(found("*1/"), UnorderedElementsAre("run1"));
  EXPECT_THAT(found(".h*/*"), UnorderedElementsAre(".hidden/a.pt"));
  EXPECT_THAT(found("nothing/*"), UnorderedElementsAre());
  EXPECT_EQ(find_checkpoints(directory_ / "run?/b.pt", "/", 0).matches.size(), 1U);
}

TEST_F(FindCheckpoints, ADirectoryIsAsBigAndAsNewAsWhatIsInIt) {
  make("checkpoint-5");
  write("checkpoint-5/model", "12345");
  write("checkpoint-5/state", "123");
  const auto matches = find_checkpoints("checkpoint-*", directory_.path(), 0).matches;
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].size, 8U);
  struct stat info {};
  ::stat((directory_ / "checkpoint-5/state").c_str(), &info);
  EXPECT_GE(matches[0].modified_ns, info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec);
}

TEST_F(FindCheckpoints, LeavesOutWhatIsOld) {
  write("a.pt");
  const auto all = find_checkpoints("*", directory_.path(), 0).matches;
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(find_checkpoints("*", directory_.path(), all[0].modified_ns).matches.empty());
}

TEST_F(FindCheckpoints, ADirectoryThatLeadsToItselfEndsAtALimit) {
  make_maze("g", 40);
  SearchLimits limits;
  limits.time = std::chrono::hours{1};
  for (const std::string pattern : {"g/*/*/*/*/*/x", "g/*/*/*/*/*"})
    EXPECT_TRUE(find_checkpoints(pattern, directory_.path(), 0, limits).cut) << pattern;
  limits.path_bytes = 100;
  limits.entries = std::numeric_limits<std::size_t>::max();
  EXPECT_TRUE(find_checkpoints("g/*/*/*/*/*", directory_.path(), 0, limits).cut);
  EXPECT_TRUE(find_checkpoints("g" + std::string(400, '/') + "*", directory_.path(), 0).cut);
}

TEST_F(FindCheckpoints, EachLimitCutsByItself) {
  for (const char* name : {"a", "b", "c", "d"}) write(name);
  SearchLimits few;
  EXPECT_FALSE(find_checkpoints("*", directory_.path(), 0, few).cut);
  few.entries = 3;
  EXPECT_TRUE(find_checkpoints("*", directory_.path(), 0, few).cut);
  few = {};
  few.path_bytes = 3;
  EXPECT_TRUE(find_checkpoints("*", directory_.path(), 0, few).cut);
  few = {};
  few.depth = 1;
  EXPECT_TRUE(find_checkpoints("./*", directory_.path(), 0, few).cut);
  for (int i = 0; i < 200; ++i) write(std::to_string(i));
  few = {};
  few.time = Duration{0};
  EXPECT_TRUE(find_checkpoints("*", directory_.path(), 0, few).cut);
}

TEST_F(FindCheckpoints, MoreEntriesHaveMoreTime) {
  EXPECT_EQ(search_limits(1'000).entries, 1'000U);
  EXPECT_EQ(search_limits(1'000).time, SearchLimits{}.time);
  EXPECT_EQ(search_limits(800'000).time, Duration{std::chrono::seconds{4}});
}

// ---- as it is told by a looker ----

TEST(LookMessages, ReadAsTheyWereWritten) {
  const LookRequest request{7, "*.pt", "/home/ann", -5, 9};
  const auto read = parse_look_request(to_text(request));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->uid, 7U);
  EXPECT_EQ(read->pattern, "*.pt");
  EXPECT_EQ(read->directory, "/home/ann");
  EXPECT_EQ(read->newer_than_ns, -5);
  EXPECT_EQ(read->entries, 9U);
  const auto found =
      parse_checkpoint_search(to_text(CheckpointSearch{{{"/a", 5, 6, true}}, {}, false}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->matches, (std::vector<CheckpointMatch>{{"/a", 5, 6, true}}));
  EXPECT_FALSE(found->cut);
  EXPECT_FALSE(parse_checkpoint_search("match"));
  EXPECT_FALSE(parse_look_request(""));
}

TEST(LookMessages, OfTooManyMatchesTheNewestAreTold) {
  CheckpointSearch many;
  for (int i = 0; i < 5'000; ++i)
    many.matches.push_back({"/" + std::string(50, 'x') + std::to_string(i), 1, i});
  const std::string text = to_text(many);
  EXPECT_LE(text.size(), kLookMessageMax);
  const auto told = parse_checkpoint_search(text);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->cut);
  ASSERT_FALSE(told->matches.empty());
  EXPECT_EQ(told->matches[0].modified_ns, 4'999);
}

}  // namespace
}  // namespace paceline::agent
