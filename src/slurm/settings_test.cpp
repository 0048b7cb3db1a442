#include "slurm/settings.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(PilotSettings, SlotsAreItsGpusElseItsCpus) {
  EXPECT_EQ(slots_of({.gres = "gpu:4"}), 4U);
  EXPECT_EQ(slots_of({.gres = "gpu:a100:2"}), 2U);
  EXPECT_EQ(slots_of({.gres = "gpu"}), 1U);
  EXPECT_EQ(slots_of({.cpus = 8}), 8U);
}

TEST(PilotSettings, WordsThatAShellCouldMistakeAreRefused) {
  for (const auto* word : {"a b", "$(reboot)", "'", "-x", "a\nb", "a;b"})
    EXPECT_EQ(validate({.partition = word}).error().code, ErrorCode::invalid) << word;
  EXPECT_FALSE(validate({.gres = "gpu:4 --wrap=x"}));
  EXPECT_FALSE(validate({.account = std::string(kSlurmWordMax + 1, 'a')}));
  EXPECT_TRUE(validate({.partition = "main,short", .account = "lab-1", .gres = "gpu:a100:4"}));
}

TEST(PilotSettings, AreBounded) {
  EXPECT_FALSE(validate({.nodes_max = 0}));
  EXPECT_FALSE(validate({.nodes_max = kPilotsMax + 1}));
  EXPECT_FALSE(validate({.time = std::chrono::seconds{119}}));
  EXPECT_FALSE(validate({.lease = kLeaseMin - Duration{1}}));
  EXPECT_FALSE(validate({.look_every = std::chrono::milliseconds{999}}));
}

TEST(PilotSettings, ThatAskForTheSamePilotsMayDifferInHowMany) {
  const PilotSettings one{.partition = "main"};
  EXPECT_TRUE(
      asks_alike(one, {.partition = "main", .nodes_max = 7, .idle = std::chrono::hours{1}}));
  EXPECT_FALSE(asks_alike(one, {.partition = "small"}));
  EXPECT_FALSE(asks_alike(one, {.partition = "main", .time = std::chrono::hours{1}}));
}

TEST(BatchScript, AsksForWhatWasSaid) {
  const auto script = batch_script({.partition = "main",
                                    .account = "lab",
                                    .time = std::chrono::hours{8},
                                    .gres = "gpu:4",
                                    .cpus = 16},
                                   {"/opt/paceline", "login1:7443", "plj_secret"});
  EXPECT_THAT(script, StartsWith("#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 --no-requeue"));
  EXPECT_THAT(script, HasSubstr("--time=480 --cpus-per-task=16\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --partition=main\n#SBATCH --account=lab\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --gres=gpu:4\n"));
  EXPECT_THAT(script, HasSubstr("--signal=B:TERM@30"));
  EXPECT_THAT(script, HasSubstr(" --lease 900s\n"));
  EXPECT_THAT(script, HasSubstr("agent --guest --join 'login1:7443' --token-file \"$dir/token\""));
}

// What Slurm gave is the most that the pilot offers.
TEST(BatchScript, OffersTheMemoryThatSlurmGave) {
  const auto script = batch_script({}, {"/bin/echo", "login1:7443", "plj_secret"});
  const auto words = [&](const std::string& given) {
    const auto run = script.substr(script.find("umask"));
    std::array<char, 1024> text{};
    ::setenv("PILOT_SCRIPT", run.c_str(), 1);
    const auto command =
        "d=$(mktemp -d); env -i SLURM_TMPDIR=$d " + given + " bash -c \"$PILOT_SCRIPT\"; rm -r $d";
    FILE* const pipe = ::popen(command.c_str(), "r");
    const auto read = std::fread(text.data(), 1, text.size(), pipe);
    ::pclose(pipe);
    return std::string(text.data(), read);
  };
  EXPECT_THAT(words("SLURM_MEM_PER_NODE=2048"), HasSubstr(" --memory 2048M "));
  EXPECT_THAT(words("SLURM_MEM_PER_CPU=512 SLURM_CPUS_ON_NODE=4"), HasSubstr(" --memory 2048M "));
  EXPECT_THAT(words("SLURM_CPUS_ON_NODE=4"), Not(HasSubstr("--memory")));
  EXPECT_THAT(words("SLURM_MEM_PER_NODE=0"), Not(HasSubstr("--memory")));
}

TEST(BatchScript, TheTokenIsOnlyWrittenToAFile) {
  const auto script = batch_script({}, {"/opt/paceline", "login1:7443", "plj_secret"});
  const auto at = script.find("plj_secret");
  EXPECT_EQ(script.find("plj_secret", at + 1), std::string::npos);
  EXPECT_THAT(script, HasSubstr("printf '%s\\n' 'plj_secret' > \"$dir/token\""));
  EXPECT_THAT(script, Not(HasSubstr("export TOKEN")));
}

}  // namespace
}  // namespace paceline
