#include "cli/job/launcher.hpp"

#include <gmock/gmock.h>

#include "cli/job/shell_words.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string launcher_name(const std::vector<std::string>& argv) {
  const auto call = launcher_in(argv);
  return call ? call->name : "";
}

JobWords calling(std::vector<std::string> command, std::optional<std::string> slots = {}) {
  JobWords words;
  words.command = std::move(command);
  words.slots = std::move(slots);
  return words;
}

Result<std::vector<std::string>> fit(JobWords& words) {
  return fit_launcher(words, find_launcher(words).value());
}

TEST(LauncherIn, KnowsTheProgramWhereverItStands) {
  EXPECT_EQ(launcher_name({"torchrun", "t.py"}), "torchrun");
  EXPECT_EQ(launcher_name({"/opt/bin/torchrun", "t.py"}), "torchrun");
  EXPECT_EQ(launcher_name({"python3", "-u", "-m", "torch.distributed.run", "t.py"}), "torchrun");
  EXPECT_EQ(launcher_name({"python", "-X", "dev", "-m", "torch.distributed.launch", "t.py"}),
            "torchrun");
  EXPECT_EQ(launcher_name({"env", "A=b", "accelerate", "launch", "t.py"}), "accelerate launch");
  EXPECT_EQ(launcher_name({"uv", "run", "torchrun", "t.py"}), "torchrun");
  EXPECT_EQ(launcher_name({"deepspeed", "t.py"}), "deepspeed");
  EXPECT_EQ(launcher_name({"mpirun", "-np", "4", "t"}), "mpirun");
  EXPECT_EQ(launcher_name({"mpiexec", "-n", "4", "t"}), "mpiexec");
  EXPECT_EQ(launcher_name({"horovodrun", "-np", "4", "python", "t.py"}), "horovodrun");
  EXPECT_EQ(launcher_name({"srun", "python", "t.py"}), "srun");
}

TEST(LauncherIn, KnowsItBehindWhatRunsIt) {
  for (const char* text : {"env -u FOO torchrun t.py",
                           "env -i --unset=FOO A=b torchrun t.py",
                           "timeout 60 torchrun t.py",
                           "timeout -k 5 --signal=INT 1h torchrun t.py",
                           "nice torchrun t.py",
                           "nice -n 5 torchrun t.py",
                           "nice -10 torchrun t.py",
                           "time -p torchrun t.py",
                           "/usr/bin/time -v -o f torchrun t.py",
                           "nohup nice -n 5 timeout 60 env A=b torchrun t.py",
                           "exec -a x torchrun t.py",
                           "numactl -N 0 --membind=0 torchrun t.py",
                           "numactl --cpunodebind 0 --membind 0 torchrun t.py",
                           "taskset -c 0-3 torchrun t.py",
                           "stdbuf -oL -- torchrun t.py",
                           "ionice -c 3 torchrun t.py",
                           "command torchrun t.py",
                           "bash -c 'torchrun t.py'",
                           "/bin/sh -ec 'cd a && torchrun t.py'",
                           "bash -euo pipefail -c 'torchrun t.py' x",
                           "bash --login -c 'torchrun t.py'",
                           "zsh -lc 'timeout 60 torchrun t.py'",
                           "timeout 60 bash -c \"bash -c 'torchrun t.py'\""}) {
    const auto argv = simple_commands(text);
    ASSERT_EQ(argv.size(), 1U) << text;
    EXPECT_EQ(launcher_name(argv.front()), "torchrun") << text;
  }
}

TEST(LauncherIn, IsNoneWhereItIsOnlyNamed) {
  EXPECT_EQ(launcher_name({"command", "-v", "torchrun"}), "");
  EXPECT_EQ(launcher_name({"timeout", "60"}), "");
  EXPECT_EQ(launcher_name({"timeout", "torchrun", "python3", "t.py"}), "");
  EXPECT_EQ(launcher_name({"bash", "-c", "python3 t.py", "torchrun"}), "");
  EXPECT_EQ(launcher_name({"bash", "-e", "torchrun t.py"}), "");
  EXPECT_EQ(launcher_name({"bash", "-c"}), "");
  EXPECT_EQ(launcher_name({"bash", "-o"}), "");
  EXPECT_EQ(launcher_name({"python3", "torchrun.py"}), "");
  EXPECT_EQ(launcher_name({"python3", "train.py", "-m", "torch.distributed.run"}), "");
  EXPECT_EQ(launcher_name({"accelerate", "config"}), "");
  EXPECT_EQ(launcher_name({"echo", "torchrun"}), "");
  EXPECT_EQ(launcher_name({"env", "A=b"}), "");
}

TEST(LauncherIn, ReadsProcessesMachinesAndScript) {
  const auto call =
      launcher_in({"torchrun", "--nnodes", "1", "--nproc_per_node=4", "t.py", "--nnodes", "2"})
          .value();
  EXPECT_EQ(call.processes, 4);
  EXPECT_FALSE(call.several_machines);
  EXPECT_EQ(call.script, "t.py --nnodes 2");
  EXPECT_FALSE(launcher_in({"torchrun", "--nproc-per-node", "gpu", "t.py"})->processes);
  EXPECT_TRUE(launcher_in({"torchrun", "--nnodes=1:4", "t.py"})->several_machines);
  EXPECT_TRUE(launcher_in({"mpirun", "-H", "a,b", "t"})->several_machines);
  EXPECT_FALSE(launcher_in({"mpirun", "-H", "localhost:4", "t"})->several_machines);
  EXPECT_FALSE(launcher_in({"torchrun", "--nnodes=$N", "t.py"})->several_machines);
}

TEST(FindLauncher, LooksThroughAShellsText) {
  auto words = calling({"/bin/sh", "-c", "cd src && exec torchrun --nproc_per_node 2 t.py"});
  words.shell = true;
  EXPECT_EQ(find_launcher(words)->name, "torchrun");
  words.command.back() = "echo 'torchrun t.py'; python3 t.py";
  EXPECT_FALSE(find_launcher(words));
}

TEST(FitLauncher, GivesAllSlotsToOneWorker) {
  auto words = calling({"torchrun", "--nproc_per_node=4", "t.py"}, "4");
  EXPECT_THAT(fit(words).value(),
              ElementsAre("torchrun starts the processes itself: one worker with 4 slots."));
  EXPECT_EQ(words.slots, "4");
  EXPECT_EQ(words.slots_per_worker, "4");
  EXPECT_THAT(fit(words).value(), IsEmpty());
}

TEST(FitLauncher, SaysNothingOfOneSlot) {
  auto words = calling({"torchrun", "t.py"});
  EXPECT_THAT(fit(words).value(), IsEmpty());
  EXPECT_FALSE(words.slots_per_worker);
}

TEST(FitLauncher, SaysThatItStartsAnotherNumberThanThereAreSlots) {
  auto words = calling({"torchrun", "--nproc_per_node=4", "t.py"});
  EXPECT_THAT(fit(words).value(),
              ElementsAre("torchrun is told to start 4 processes, and the job has 1 slot: "
                          "--slots 4 fits."));
}

TEST(FitLauncher, RefusesWhatNeedsSeveralWorkers) {
  auto range = calling({"torchrun", "t.py", "--lr", "1"}, "1..4");
  EXPECT_EQ(fit(range).error().message,
            "torchrun starts the processes itself and can't use a range of slots: 1..4.");
  EXPECT_THAT(fit(range).error().hint,
              HasSubstr("'paceline run --slots 1..4 -- python3 t.py --lr 1'"));
  auto several = calling({"torchrun", "t.py"}, "8");
  several.slots_per_worker = "4";
  EXPECT_EQ(fit(several).error().message,
            "torchrun starts the processes itself, and --slots-per-worker 4 would give it to "
            "several workers.");
  auto mesh = calling({"torchrun", "t.py"}, "4");
  mesh.tensor = "2";
  EXPECT_THAT(fit(mesh).error().message, HasSubstr("--mesh would give it to several workers"));
  auto machines = calling({"torchrun", "--nnodes=2", "t.py"}, "4");
  EXPECT_EQ(fit(machines).error().message,
            "torchrun is told to start processes on several machines.");
}

TEST(FitLauncher, RefusesSrunWhateverItsSize) {
  auto words = calling({"srun", "python", "t.py"});
  EXPECT_EQ(fit(words).error().message,
            "srun starts processes by Slurm, not on the slots of this job.");
  EXPECT_THAT(fit(words).error().hint, HasSubstr("-- python3 t.py'"));
}

}  // namespace
}  // namespace paceline
