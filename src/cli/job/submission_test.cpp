#include "cli/job/submission.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/words/directory_testing.hpp"

namespace paceline {
namespace {

class Submissions : public ::testing::Test {
 protected:
  TestDirectory directory;
  Submitter submitter{{{"PATH", "/usr/bin:/bin"}, {"HOME", "/home/ann"}, {"SEED", "1"}},
                      directory.path(),
                      027,
                      wall_from_us(0)};
  JobWords words_of(std::vector<std::string> command) {
    JobWords words;
    words.command = std::move(command);
    return words;
  }
  Result<SubmissionBody> make(const JobWords& words, Inherit inherit = Inherit::everything) {
    return make_submission(words, submitter, inherit);
  }
};

TEST_F(Submissions, TakeTheSubmittersWorldAlong) {
  auto words = words_of({"sh", "-c", "true"});
  words.env["SEED"] = "2";
  const auto made = make(words);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->launch.directory, directory.path());
  EXPECT_EQ(made->launch.umask, 027U);
  EXPECT_EQ(made->launch.environment,
            (Environment{{"PATH", "/usr/bin:/bin"}, {"HOME", "/home/ann"}, {"SEED", "2"}}));
  EXPECT_FALSE(made->launch.shell);
  EXPECT_EQ(made->spec.name, "sh");
}

TEST_F(Submissions, CarryNoVariableThatIsNoText) {
  auto words = words_of({"sh"});
  words.env["SEED"] = "\xff";
  EXPECT_EQ(make(words).error().message, "The variable 'SEED' is not UTF-8 text.");
}

TEST_F(Submissions, TakeLittleAlongIfAsked) {
  EXPECT_EQ(make(words_of({"sh"}), Inherit::little)->launch.environment,
            (Environment{{"PATH", "/usr/bin:/bin"}, {"HOME", "/home/ann"}}));
}

TEST_F(Submissions, TakeNothingAlongToOtherMachines) {
  submitter = submitter_elsewhere(wall_from_us(0));
  auto words = words_of({"a-program-of-the-box", "x"});
  words.env["SEED"] = "2";
  auto made = make(words);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->launch.directory, "~");
  EXPECT_EQ(made->launch.environment, (Environment{{"SEED", "2"}}));
  const std::pair<const char*, const char*> directories[] = {{"runs", "~/runs"},
                                                             {"runs/../a/", "~/a"},
                                                             {"~", "~"},
                                                             {"~/runs/", "~/runs"},
                                                             {"/no/such/place", "/no/such/place"},
                                                             {"/", "/"}};
  for (const auto& [typed, there] : directories) {
    words.workdir = typed;
    EXPECT_EQ(make(words)->launch.directory, there) << typed;
  }
}

TEST(WithHome, IsAsAShellTakesIt) {
  const Environment environment{{"HOME", "/home/ann"}};
  EXPECT_EQ(with_home("~", environment), "/home/ann");
  EXPECT_EQ(with_home("~/digits", environment), "/home/ann/digits");
  for (const char* as_it_is : {"digits", "/digits", "~bob/digits", "a/~"})
    EXPECT_EQ(with_home(as_it_is, environment), as_it_is);
  EXPECT_EQ(with_home("~/digits", {}), "~/digits");
}

TEST(Inherited, LeavesAnEnclosingJobBehind) {
  const Environment outside = {{"RANK", "1"}, {"PACELINE_DIR", "/p"}, {"A", "\xff"}, {"B", "b"}};
  EXPECT_EQ(inherited(outside, Inherit::everything), (Environment{{"RANK", "1"}, {"B", "b"}}));
  const Environment inside = {{"PACELINE_JOB_ID", "7"}, {"RANK", "1"},
                              {"ROLE_RANK", "1"},       {"TORCHELASTIC_RUN_ID", "x"},
                              {"MASTER_ADDR", "h"},     {"B", "b"}};
  EXPECT_EQ(inherited(inside, Inherit::everything), (Environment{{"B", "b"}}));
}

TEST_F(Submissions, RunInTheDirectoryNamed) {
  ASSERT_EQ(::mkdir((directory.path() + "/sub").c_str(), 0700), 0);
  submitter.environment["PWD"] = directory.path();
  auto words = words_of({"sh"});
  words.workdir = "sub/";
  const auto made = make(words);
  EXPECT_EQ(made->launch.directory, directory.path() + "/sub");
  EXPECT_EQ(made->launch.environment.at("PWD"), directory.path() + "/sub");
  EXPECT_TRUE(made->launch.witnesses.empty()) << "a copy of it will do";
  EXPECT_FALSE(make(words_of({"sh"}))->launch.witnesses.empty());
  words.workdir = "nowhere";
  EXPECT_EQ(make(words).error().code, ErrorCode::not_found);
}

TEST_F(Submissions, RefuseAMissingProgram) {
  EXPECT_EQ(make(words_of({"pyhton3", "train.py"})).error().message,
            "There is no program 'pyhton3' in PATH.");
  EXPECT_EQ(make(words_of({"./train.sh"})).error().message, "There is no program './train.sh'.");
  const auto script = directory.write("train.sh", "#!/bin/sh\n");
  EXPECT_EQ(make(words_of({"./train.sh"})).error().message, "'./train.sh' may not be executed.");
  EXPECT_EQ(make(words_of({"train.sh"})).error().hint,
            "To run the file in the job's directory write ./train.sh.");
  ::chmod(script.c_str(), 0700);
  EXPECT_TRUE(make(words_of({"./train.sh"})));
  EXPECT_TRUE(make(words_of({script})));
  EXPECT_FALSE(make(words_of({directory.path()})));
}

TEST_F(Submissions, LookForTheProgramInTheJobsPath) {
  ::chmod(directory.write("tool", "#!/bin/sh\n").c_str(), 0700);
  auto words = words_of({"tool"});
  words.env["PATH"] = directory.path();
  EXPECT_TRUE(make(words));
  words.env["PATH"] = ":/nowhere";  // an empty part is the job's directory
  EXPECT_TRUE(make(words));
}

TEST_F(Submissions, DoNotJudgeAShellsText) {
  auto words = words_of({"/bin/sh", "-c", "nonsense"});
  words.shell = true;
  EXPECT_TRUE(make(words)->launch.shell);
}

TEST_F(Submissions, NeedACommand) {
  EXPECT_EQ(make({}).error().message, "There is no command to run.");
}

TEST_F(Submissions, CountSlotsAsWorkers) {
  auto words = words_of({"sh"});
  words.slots = "4..8";
  words.slots_per_worker = "4";
  EXPECT_EQ(make(words)->spec.workers, (WorkerRange{1, 2, 1}));
  words.slots = "4..6";
  EXPECT_EQ(make(words).error().message,
            "4..6 slots can't be divided into workers of 4 slots each.");
}

TEST_F(Submissions, CountWholeMeshes) {
  auto words = words_of({"sh"});
  words.tensor = words.pipeline = "2";
  EXPECT_EQ(make(words)->spec.workers, (WorkerRange{4, 4, 4}));
  words.slots = "8";
  EXPECT_EQ(make(words)->spec.workers, (WorkerRange{8, 8, 8}));
  EXPECT_EQ(make(words)->spec.mesh, (Mesh{2, 2}));
  words.slots_per_worker = "2";
  EXPECT_EQ(make(words)->spec.workers, (WorkerRange{4, 4, 4}));
  words.slots = "8..12";
  EXPECT_EQ(make(words).error().message,
            "8..12 slots can't be divided into meshes of tensor=2 by pipeline=2 workers of 2 slots "
            "each.");
  EXPECT_EQ(make(words).error().hint, "Give multiples of 8.");
}

TEST(NameOf, IsTheScriptsBaseName) {
  EXPECT_EQ(name_of({"python3", "-u", "src/train.py", "--lr", "1"}), "train");
  EXPECT_EQ(name_of({"torchrun", "--nproc-per-node", "4", "t.py"}), "t");
  EXPECT_EQ(name_of({"python3", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(name_of({"bash", "go.sh", "x.py"}), "go");
  EXPECT_EQ(name_of({"./train.sh", "--config", "a.yaml"}), "train");
  EXPECT_EQ(name_of({"/usr/bin/true"}), "true");
}

class Overlaid : public ::testing::Test {
 protected:
  JobWords file, typed;
};

TEST_F(Overlaid, PrefersTheCommandLine) {
  file.name = "file";
  file.priority = "10";
  file.target = "a>=1";
  file.target_final = "a>=2";
  file.env = {{"A", "1"}, {"B", "1"}};
  file.after = {"3"};
  file.command = {"/bin/sh", "-c", "x"};
  file.shell = true;
  typed.priority = "20";
  typed.target = "b>=1";
  typed.env = {{"B", "2"}};
  const auto both = overlaid(file, typed);
  EXPECT_EQ(both.name, "file");
  EXPECT_EQ(both.priority, "20");
  EXPECT_EQ(both.target, "b>=1");
  EXPECT_FALSE(both.target_final);
  EXPECT_EQ(both.env, (Environment{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(both.after, std::vector<std::string>{"3"});
  EXPECT_TRUE(both.shell);
  file.tensor = file.pipeline = "2";
  file.devices = {"h100"};
  typed.tensor = "4";
  EXPECT_EQ(overlaid(file, typed).tensor, "4");
  EXPECT_FALSE(overlaid(file, typed).pipeline);
  EXPECT_EQ(overlaid(file, typed).devices, std::vector<std::string>{"h100"});
  typed.command = {"true"};
  typed.after = {"4"};
  EXPECT_EQ(overlaid(file, typed).command, std::vector<std::string>{"true"});
  EXPECT_FALSE(overlaid(file, typed).shell);
  EXPECT_EQ(overlaid(file, typed).after, std::vector<std::string>{"4"});
}

}  // namespace
}  // namespace paceline
