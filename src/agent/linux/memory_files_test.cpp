#include "agent/linux/memory_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

using namespace std::chrono_literals;

class MemoryFilesTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    EXPECT_TRUE(replace_file(AT_FDCWD, (directory_ / name).c_str(), text));
    return directory_ / name;
  }
  // One that keeps its reader waiting.
  std::string silent(const std::string& name) {
    EXPECT_EQ(::mkfifo((directory_ / name).c_str(), 0600), 0);
    return directory_ / name;
  }
  static std::vector<MemoryFile> read(const std::vector<std::string>& paths,
                                      MemoryPatience patience = {30s}) {
    std::vector<MemoryFile> files(paths.size());
    std::size_t next = 0;
    EXPECT_TRUE(read_memory_files(
        paths,
        [&](std::size_t i, const MemoryFile& one) {
          EXPECT_EQ(i, next++);
          files[i] = one;
        },
        patience));
    EXPECT_EQ(next, paths.size());
    return files;
  }

  TempDirectory directory_;
};

TEST_F(MemoryFilesTest, AreReadOneAfterTheOther) {
  const std::string two("A=1\0B=2\0", 8), long_one(100'000, 'x');
  const auto files = read({file("a", two), directory_ / "none", file("b", ""), file("c", long_one),
                           file("d", std::string(kMemoryFileMax + 1, 'y'))});
  EXPECT_EQ(files[0].text, two);
  EXPECT_EQ(files[1].error, ENOENT);
  EXPECT_EQ(files[2].text, "");
  EXPECT_EQ(files[2].error, 0);
  EXPECT_EQ(files[3].text, long_one);
  EXPECT_EQ(files[4].text, std::string(kMemoryFileMax, 'y'));
  EXPECT_TRUE(read({}).empty());
}

TEST_F(MemoryFilesTest, OneThatDoesNotAnswerIsPassedOver) {
  const auto files = read({file("a", "one"), silent("b"), file("c", "three")}, {1s});
  EXPECT_EQ(files[0].text, "one");
  EXPECT_EQ(files[1].error, ETIMEDOUT);
  EXPECT_EQ(files[1].text, "");
  EXPECT_EQ(files[2].text, "three");
}

TEST_F(MemoryFilesTest, ManyThatDoNotAnswerHoldNobodyUpForLong) {
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) paths.push_back(silent(std::to_string(i)));
  const auto began = std::chrono::steady_clock::now();
  for (const MemoryFile& file : read(paths, {1s})) EXPECT_EQ(file.error, ETIMEDOUT);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST_F(MemoryFilesTest, NobodyIsAskedOnceThePatienceIsOver) {
  const auto files = read({file("a", "one"), silent("b"), file("c", "three")}, {30s, 100ms});
  EXPECT_EQ(files[0].text, "one");
  EXPECT_EQ(files[1].error, ETIMEDOUT);
  EXPECT_EQ(files[2].error, ECANCELED);
}

}  // namespace
}  // namespace paceline::agent
