#include "agent/linux/script_changes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
const WallTime kSubmitted = wall_from_us(1'763'636'112 * kSecondUs);

class ScriptChangesTest : public ::testing::Test {
 protected:
  // Changed so many seconds after the submission.
  std::string file(const std::string& name, std::int64_t after) {
    std::string path = directory_ / name;
    std::ofstream(path) << "pass\n";
    const timespec at{to_us(kSubmitted) / kSecondUs + after, 0};
    const timespec times[] = {at, at};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }
  static std::optional<ScriptChange> changed(const std::vector<std::string>& command,
                                             bool shell = false) {
    return script_change(command, shell, kSubmitted);
  }
  TempDirectory directory_;
};

TEST_F(ScriptChangesTest, NamesTheScriptThatWasChangedLast) {
  const auto train = file("train.py", 60), model = file("model.py", 90);
  const auto found = changed({"python3", train, "--model", model});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, model);
  EXPECT_EQ(sentence({"model.py", found->at}, kSubmitted),
            "model.py was changed at 2025-11-20T10:56:42Z, after the job was submitted "
            "(2025-11-20T10:55:12Z): it runs as it is now");
}

TEST_F(ScriptChangesTest, WhatWasThereBeforeOrAtTheSameTimeIsNotNamed) {
  EXPECT_FALSE(changed({"python3", file("old.py", -60)}));
  EXPECT_FALSE(changed({"python3", file("just_now.py", 1)})) << "clocks differ a little";
  EXPECT_FALSE(changed({"python3", "nowhere.py"}));
}

TEST_F(ScriptChangesTest, DataAndFoldersAreNoScripts) {
  std::filesystem::create_directory(directory_ / "package.py");
  EXPECT_FALSE(changed({"python3", directory_ / "package.py"}));
  EXPECT_FALSE(changed({"python3", file("data.csv", 60)}));
}

TEST_F(ScriptChangesTest, AProgramWithAPathCountsWithoutAnEnding) {
  const auto program = file("train", 60);
  EXPECT_TRUE(changed({program}));
  EXPECT_FALSE(changed({"env", program})) << "might be anything";
}

TEST_F(ScriptChangesTest, WordsOfAShellsTextCount) {
  const auto train = file("train.py", 60);
  EXPECT_TRUE(changed({"/bin/sh", "-c", "cd . &&\n  python3 " + train + " --lr 0.1"}, true));
  EXPECT_FALSE(changed({"/bin/sh", "-c", "echo " + train}, false)) << "one word, and no path";
}

}  // namespace
}  // namespace paceline::agent
