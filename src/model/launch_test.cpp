#include "model/launch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace paceline {
namespace {

LaunchSpec valid_launch() {
  LaunchSpec launch;
  launch.command = {"python3", "train.py"};
  launch.directory = "/home/ann";
  return launch;
}

TEST(ValidateLaunch, RefusesWhatCannotBeStarted) {
  EXPECT_TRUE(validate(valid_launch()));
  const std::string nul("a\0b", 3);
  const std::vector<std::pair<std::function<void(LaunchSpec&)>, std::string>> cases = {
      {[](LaunchSpec& l) { l.command.clear(); }, "There is no command to run."},
      {[](LaunchSpec& l) { l.command = {""}; }, "There is no command to run."},
      {[&](LaunchSpec& l) { l.command.push_back(nul); }, "A command holds no NUL."},
      {[&](LaunchSpec& l) { l.setup = nul; }, "A command holds no NUL."},
      {[](LaunchSpec& l) { l.command.emplace_back(kCommandBytesMax, 'x'); },
       "The command is larger than 1 MiB."},
      {[](LaunchSpec& l) { l.setup.assign(kCommandBytesMax, 'x'); },
       "The command is larger than 1 MiB."},
      {[](LaunchSpec& l) { l.directory = "src"; }, "The directory 'src' is not absolute."},
      {[](LaunchSpec& l) { l.directory = ""; }, "The directory '' is not absolute."},
      {[](LaunchSpec& l) { l.directory = "~ann"; }, "The directory '~ann' is not absolute."},
      {[](LaunchSpec& l) { l.environment["A=B"] = "1"; },
       "'A=B' can't be an environment variable."},
      {[&](LaunchSpec& l) { l.environment["A"] = nul; }, "'A' can't be an environment variable."},
      {[](LaunchSpec& l) { l.environment["A"] = std::string(kEnvironmentBytesMax, 'x'); },
       "The environment is larger than 1 MiB."},
      {[](LaunchSpec& l) { l.shipped.ship = "../../etc"; },
       "A ship's name has 64 small hexadecimal digits."},
      {[](LaunchSpec& l) { l.witnesses = {"1 2 a\nb"}; }, "That is no witness of a directory."},
      {[](LaunchSpec& l) { l.witnesses.resize(kWitnessesMax + 1); },
       "That is no witness of a directory."},
  };
  for (const auto& [spoil, sentence] : cases) {
    auto launch = valid_launch();
    spoil(launch);
    const auto verdict = validate(launch);
    ASSERT_FALSE(verdict) << sentence;
    EXPECT_EQ(verdict.error().message, sentence);
  }
}

TEST(CommandLine, QuotesAsAPersonWould) {
  auto launch = valid_launch();
  EXPECT_EQ(command_line(launch), "python3 train.py");
  launch.command = {"echo", "two words", "it's", "", "--lr=0.1", "$HOME"};
  EXPECT_EQ(command_line(launch), "echo 'two words' 'it'\\''s' '' --lr=0.1 '$HOME'");
  launch.command = {"/bin/sh", "-c", "cd src && make"};
  launch.shell = true;
  EXPECT_EQ(command_line(launch), "cd src && make");
}

}  // namespace
}  // namespace paceline
