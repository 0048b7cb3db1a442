#include "cli/job/shell_words.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Commands = std::vector<std::vector<std::string>>;

TEST(SimpleCommands, StandBetweenSeparators) {
  EXPECT_EQ(simple_commands("cd a && torchrun t.py | tee log; (ls)\nexit 0"),
            (Commands{{"cd", "a"}, {"torchrun", "t.py"}, {"tee", "log"}, {"ls"}, {"exit", "0"}}));
}

TEST(SimpleCommands, GoOverJoinedLines) {
  EXPECT_EQ(simple_commands("torchrun \\\n  --nproc_per_node=2 \\\n  t.py"),
            (Commands{{"torchrun", "--nproc_per_node=2", "t.py"}}));
}

TEST(SimpleCommands, AreNeitherQuotedTextsNorComments) {
  EXPECT_EQ(simple_commands("echo \"a; srun b\" 'c | d' ''  # ; srun e\n# srun f"),
            (Commands{{"echo", "a; srun b", "c | d", ""}}));
}

TEST(SimpleCommands, KeepVariablesAsTheyAreWritten) {
  EXPECT_EQ(simple_commands("torchrun --nproc ${N:-4} t.py $A"),
            (Commands{{"torchrun", "--nproc", "${N:-4}", "t.py", "$A"}}));
}

TEST(SimpleCommands, EndWithTheText) {
  EXPECT_EQ(simple_commands("echo 'open"), (Commands{{"echo", "open"}}));
  EXPECT_EQ(simple_commands("echo \\"), (Commands{{"echo"}}));
  EXPECT_EQ(simple_commands(""), Commands{});
}

}  // namespace
}  // namespace paceline
