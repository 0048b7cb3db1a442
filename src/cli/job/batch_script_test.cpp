#include "cli/job/batch_script.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "cli/words/directory_testing.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<BatchScript> parsed(const std::string& lines, const JobWords& given = {}) {
  return parse_batch_script("#!/bin/bash\n" + lines, "/home/ann/train.sh", given);
}

JobWords words_from(const std::string& lines) {
  const auto script = parsed(lines);
  EXPECT_TRUE(script) << script.error().message;
  return script ? script->words : JobWords{};
}

std::string refused(const std::string& lines) {
  const auto script = parsed(lines);
  EXPECT_FALSE(script) << lines;
  return script ? "" : script.error().message;
}

TEST(BatchScript, GivesItsLinesAsWords) {
  const auto script = parsed(R"(#SBATCH --job-name=resnet   # of the paper
#SBATCH --time=1-02:30:00
#
#SBATCH --gres=gpu:a100:4 --nodes=1
#SBATCH --ntasks-per-node=2 -c 8
#SBATCH --mem 64G --signal=B:USR1@90
#SBATCH -D /data --hold --exclusive --requeue
#SBATCH --dependency=afterok:12:13
#SBATCH --export=ALL,SEED=3

python3 train.py
#SBATCH --array=0-3
)");
  ASSERT_TRUE(script) << script.error().message;
  const auto& words = script->words;
  EXPECT_EQ(words.name, "resnet");
  EXPECT_EQ(words.max_duration, "95400s");
  EXPECT_EQ(words.slots, "4");
  EXPECT_EQ(words.devices, std::vector<std::string>{"a100"});
  EXPECT_EQ(words.cpus, "16");
  EXPECT_EQ(words.memory, std::to_string(64ULL << 30) + "B");
  EXPECT_EQ(words.signal, "USR1");
  EXPECT_EQ(words.grace, "90s");
  EXPECT_EQ(words.workdir, "/data");
  EXPECT_TRUE(words.hold);
  EXPECT_EQ(words.exclusive, "true");
  EXPECT_THAT(words.after, ElementsAre("12", "13"));
  EXPECT_EQ(words.env.at("SEED"), "3");
  EXPECT_THAT(words.command, ElementsAre("/bin/bash", "/home/ann/train.sh"));
  EXPECT_THAT(script->notes, IsEmpty());
}

TEST(BatchScript, ReadsTimesAsSlurmDoes) {
  EXPECT_EQ(words_from("#SBATCH -t 90\n").max_duration, "5400s");
  EXPECT_EQ(words_from("#SBATCH -t90:30\n").max_duration, "5430s");
  EXPECT_EQ(words_from("#SBATCH --time 1:00:05\n").max_duration, "3605s");
  EXPECT_EQ(words_from("#SBATCH --time=2-0\n").max_duration, "172800s");
  EXPECT_FALSE(words_from("#SBATCH --time=UNLIMITED\n").max_duration);
  EXPECT_EQ(refused("#SBATCH --time=2h\n"), "train.sh:2: --time: '2h' is not a time.");
}

TEST(BatchScript, CountsGpusCoresAndMemoryOfAllTasks) {
  EXPECT_EQ(words_from("#SBATCH -n 2 --gpus-per-task=2\n").slots, "4");
  EXPECT_EQ(words_from("#SBATCH -G 3 --cpus-per-gpu=4\n").cpus, "12");
  EXPECT_EQ(words_from("#SBATCH --gres=gpu\n").slots, "1");
  EXPECT_EQ(words_from("#SBATCH --mem=4000\n").memory, std::to_string(4000ULL << 20) + "B");
  EXPECT_EQ(words_from("#SBATCH -c 4 --mem-per-cpu=2g\n").memory, std::to_string(8ULL << 30) + "B");
  EXPECT_EQ(words_from("#SBATCH -G 2 --mem-per-gpu=1G\n").memory, std::to_string(2ULL << 30) + "B");
  EXPECT_FALSE(words_from("#SBATCH --mem=0\n").memory);
  EXPECT_FALSE(words_from("#SBATCH --mem=0\n").slots);
}

TEST(BatchScript, SaysWhatHasNoMeaning) {
  const auto script = parsed("#SBATCH --partition=gpu --frob x --output=%j.out\n");
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_THAT(
      script->notes,
      ElementsAre("train.sh:2: --partition is left out: there are no partitions, accounts or "
                  "qualities of service.",
                  "train.sh:2: --frob is left out: it means nothing here.",
                  "train.sh:2: --output is left out: what a job writes is in 'paceline logs', not "
                  "in this file."));
  EXPECT_EQ(script->words.name, "train");
}

TEST(BatchScript, HasAValueThatMayBeLeftOutBehindEqualsAlone) {
  EXPECT_EQ(words_from("#SBATCH --nice --gres=gpu:2\n").slots, "2");
  EXPECT_EQ(words_from("#SBATCH --nice=-5 --gres=gpu:2\n").slots, "2");
  EXPECT_THAT(parsed("#SBATCH --nice\n")->notes,
              ElementsAre("train.sh:2: --nice is left out: --priority 0..100 says which job goes "
                          "first."));
}

TEST(BatchScript, RefusesWhatCanNotBeDoneHere) {
  EXPECT_EQ(refused("#SBATCH --nodes=2\n"),
            "train.sh: The script wants 2 nodes, and it is one worker on one node.");
  EXPECT_EQ(refused("#SBATCH -n 8 --ntasks-per-node=4\n"),
            "train.sh: The script wants 2 nodes, and it is one worker on one node.");
  EXPECT_EQ(refused("#SBATCH --gres=gpu:2 --gpus=4\n"),
            "train.sh: The #SBATCH lines contradict each other: 4 GPUs and 2.");
  EXPECT_EQ(refused("#SBATCH --array=0-3\n"),
            "train.sh:2: --array: There are no arrays of jobs: '0-3'.");
  EXPECT_EQ(refused("#SBATCH --dependency=singleton\n"),
            "train.sh:2: --dependency: 'singleton' is not a dependency that there is here.");
  EXPECT_EQ(refused("#SBATCH hetjob\n"), "train.sh:2: hetjob: A job has one component.");
  EXPECT_EQ(refused("#SBATCH --time\n"), "train.sh:2: --time: A value is missing.");
  EXPECT_EQ(refused("#SBATCH --mem-per-cpu=1024T -n 1000000\n"),
            "train.sh: --memory: '18446744073709551615B' is out of bounds.");
  EXPECT_EQ(refused("#SBATCH --job-name=" + std::string(5000, 'x') + "\n"),
            "train.sh: --name: The name is empty or too long.");
}

TEST(BatchScript, IsOneTaskOfAnArrayIfTheOwnerSaysWhich) {
  JobWords given;
  given.env["SLURM_ARRAY_TASK_ID"] = "2";
  const auto script = parsed("#SBATCH -a 0-3\necho $SLURM_ARRAY_TASK_ID\n", given);
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_THAT(script->notes, IsEmpty());
}

TEST(BatchScript, SaysWhichOfSlurmsVariablesItMisses) {
  EXPECT_THAT(
      parsed("#SBATCH -n 1\ncd $SLURM_SUBMIT_DIR; echo ${SLURM_JOB_ID} MY_SLURM_X\n")->notes,
      ElementsAre("train.sh reads SLURM_JOB_ID and SLURM_SUBMIT_DIR, which Paceline does "
                  "not set: give a value with --env."));
}

TEST(BatchScript, NamesTheLauncherThatItCalls) {
  EXPECT_EQ(parsed("#SBATCH -n 1\nmodule load x\nsrun python3 t.py\n")->launcher->name, "srun");
  EXPECT_FALSE(parsed("#SBATCH -n 1\n# srun python3 t.py\npython3 t.py\n")->launcher);
}

class FindBatchScript : public ::testing::Test {
 protected:
  std::vector<std::string> command(std::vector<std::string> typed) const {
    JobWords words;
    words.command = std::move(typed);
    if (ship) words.ship = "true";
    const auto found = find_batch_script(words, directory.path());
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? (*found)->words.command : std::vector<std::string>{};
  }
  TestDirectory directory;
  bool ship = false;
};

TEST_F(FindBatchScript, RunsItByItsInterpreterFromWhereItLies) {
  const auto path = directory.write("a.sh", "#!/usr/bin/env bash\n#SBATCH -n 1\n");
  EXPECT_THAT(command({"a.sh", "--lr", "1"}),
              ElementsAre("/usr/bin/env", "bash", path, "--lr", "1"));
  EXPECT_THAT(command({path}), ElementsAre("/usr/bin/env", "bash", path));
  EXPECT_THAT(command({"sh", "./a.sh", "x"}), ElementsAre("sh", path, "x"));
}

TEST_F(FindBatchScript, NamesTheCopyThatTravels) {
  const auto path = directory.write("a.sh", "#!/bin/sh\n#SBATCH -n 1\n");
  std::filesystem::create_directory(directory.path() + "/deep");
  directory.write("deep/b.sh", "#!/bin/sh\n#SBATCH --chdir=deep\n");
  ship = true;
  EXPECT_THAT(command({"./a.sh", "--lr", "1"}), ElementsAre("/bin/sh", "a.sh", "--lr", "1"));
  EXPECT_THAT(command({"bash", "deep/../a.sh"}), ElementsAre("bash", "a.sh"));
  EXPECT_THAT(command({"deep/b.sh"}), ElementsAre("/bin/sh", "b.sh")) << "from where it runs on";
  EXPECT_THAT(command({path}), ElementsAre("/bin/sh", path)) << "as it was typed";
}

TEST_F(FindBatchScript, LeavesOtherProgramsAlone) {
  directory.write("plain.sh", "#!/bin/sh\necho\n#SBATCH -n 1\n");
  directory.write("text", "#SBATCH -n 1\n");
  EXPECT_THAT(command({"plain.sh"}), IsEmpty());
  EXPECT_THAT(command({"text"}), IsEmpty());
  EXPECT_THAT(command({"python3", "text"}), IsEmpty());
  EXPECT_THAT(command({directory.path()}), IsEmpty());
  EXPECT_THAT(command({"bash"}), IsEmpty());
}

RC_GTEST_PROP(BatchScript, IsReadOrRefusedWhateverItIs, ()) {
  const std::vector<std::string> pieces = {"--",
                                           "-",
                                           "=",
                                           "--time",
                                           "--gres",
                                           "--gpus=",
                                           "--mem-per-cpu",
                                           "gpu:",
                                           ":",
                                           "-1",
                                           "99999999999999999999",
                                           " ",
                                           "\t",
                                           "\"",
                                           "'",
                                           "\\",
                                           "#",
                                           "\n#SBATCH ",
                                           "-n",
                                           "-c",
                                           "--signal=",
                                           "@",
                                           "--dependency=afterok:",
                                           ",",
                                           "1-2",
                                           "0",
                                           "4",
                                           "--export=",
                                           "ALL",
                                           "\xff",
                                           "T",
                                           "--array",
                                           "--nodes=",
                                           "--job-name"};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces));
  std::string text = "#!/bin/sh\n#SBATCH ";
  for (const auto& piece : chosen) text += piece;
  const auto script = parse_batch_script(text, "/x/train.sh", {});
  if (!script) {
    RC_ASSERT(script.error().message.starts_with("train.sh"));
  } else {
    (void)to_spec(script->words, wall_from_us(0));
  }
}

TEST(BatchScript, MailsAsSlurmDoes) {
  const auto words = words_from(
      "#SBATCH --mail-type=BEGIN,fail,TIME_LIMIT_80\n#SBATCH --mail-user=ada@lab.example\n");
  EXPECT_THAT(words.notify_to, ElementsAre("mailto:ada@lab.example"));
  EXPECT_THAT(words.notify, ElementsAre("started", "failed"));
  EXPECT_TRUE(words.mail_if_possible);
  EXPECT_THAT(words_from("#SBATCH --mail-type=NONE --mail-user=ada@lab.example\n").notify_to,
              IsEmpty());
  const auto nobody = parsed("#SBATCH --mail-type=END\n");
  ASSERT_TRUE(nobody);
  EXPECT_THAT(nobody->words.notify, IsEmpty());
  EXPECT_THAT(nobody->notes, ElementsAre("train.sh: --mail-type is left out: --mail-user names no "
                                         "mail address, like me@lab.example."));
  EXPECT_EQ(refused("#SBATCH --mail-type=SOON\n"),
            "train.sh:2: --mail-type: 'SOON' is not a kind of mail.");
}

}  // namespace
}  // namespace paceline
