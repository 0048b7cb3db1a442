#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"
#include "files/temp_folder_testing.hpp"
#include "ship/manifest.hpp"
#include "wire/submission_json.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

FakeAnswer accepted(const FakeRequest&) { return {R"({"id": 7})", 201, FakeAnswer::Kind::body}; }

// What the server got of `paceline submit <words>`.
SubmissionBody submitted(std::vector<std::string> words) {
  const FakeServer server(accepted);
  words.insert(words.begin(), "submit");
  const auto result = run_words(server, words);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 0);
  if (server.requests().empty()) return {};
  const auto body = read_submission(server.requests().front().body);
  EXPECT_TRUE(body) << body.error().message;
  return body.value_or(SubmissionBody{});
}

TEST(Submit, PrintsTheId) {
  const FakeServer server(accepted);
  EXPECT_EQ(run_words(server, {"submit", "--", "true"}).out, "Submitted job 7\n");
  EXPECT_EQ(run_words(server, {"submit", "--parsable", "true"}).out, "7\n");
}

TEST(Submit, SaysWhichVariableOfTheCallerStaysBehind) {
  const FakeServer server(accepted);
  const Environment caller = {{"PACELINE_DIR", server.directory()}, {"PICTURE", "\xff"}};
  const auto noted = run_words({"submit", "--", "true"}, caller);
  const auto clean = run_words({"submit", "--clean-env", "--", "true"}, caller);
  EXPECT_THAT(noted.err, HasSubstr("The variable PICTURE is not UTF-8 text: the job goes without "
                                   "it."));
  EXPECT_EQ(noted.code, 0);
  EXPECT_EQ(clean.err, "") << "it takes none along";
  for (const auto& request : server.requests())
    EXPECT_FALSE(read_submission(request.body).value().launch.environment.contains("PICTURE"));
}

TEST(Submit, ShipsItsDirectoryFirst) {
  const TempFolder work;
  std::ofstream(work.path() / "train.sh") << "true\n";
  std::string sent;
  const FakeServer server([&](const FakeRequest& request) -> FakeAnswer {
    if (request.target == "/v1/ships") {
      const auto manifest = read_manifest(request.body);
      EXPECT_TRUE(manifest) << request.body;
      const auto digest = manifest->files.at(0).sha256;
      return {fmt::format(R"({{"ship": "{}", "files": 1, "bytes": 5, "missing": [{}]}})",
                          ship_name(request.body), sent.empty() ? '"' + digest + '"' : "")};
    }
    if (request.target == "/v1/ships/pieces") {
      sent = request.body;
      return {R"({"taken": 1})"};
    }
    return accepted(request);
  });
  const auto result =
      run_words(server, {"submit", "--ship", "--workdir", work.path().string(), "sh", "train.sh"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("Ships 1 file, 5B; 5B to send."));
  EXPECT_TRUE(sent.ends_with("\ntrue\n")) << sent;
  const auto body = read_submission(server.requests().back().body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->launch.directory, work.path().string());
  EXPECT_EQ(body->launch.shipped.files, 1U);
  EXPECT_EQ(body->launch.shipped.ship.size(), 64U);
  const auto plan =
      run_words(server, {"plan", "--ship", "--workdir", work.path().string(), "true"});
  EXPECT_EQ(server.log().back(), "POST /v1/plan") << plan.err;
}

TEST(Submit, SendsEveryOption) {
  const auto body = submitted({"--name",
                               "digits",
                               "--slots",
                               "2..8@4",
                               "--slots-per-worker",
                               "2",
                               "--cpus",
                               "1.5",
                               "--memory",
                               "512M",
                               "--log-limit",
                               "256M",
                               "--priority",
                               "80",
                               "--env",
                               "A=1",
                               "--env",
                               "B=x=y",
                               "--max-duration",
                               "3h",
                               "--expect",
                               "2h",
                               "--expect-speeds",
                               "1:1,2:1.9",
                               "--deadline",
                               "+2h",
                               "--retry",
                               "3",
                               "--elastic",
                               "restart",
                               "--checkpoint",
                               "*.pt",
                               "--target",
                               "accuracy>=0.95",
                               "--after",
                               "3,5",
                               "--after",
                               "6",
                               "--hold",
                               "--signal",
                               "USR1",
                               "--grace",
                               "30s",
                               "--workdir",
                               "/",
                               "--",
                               "sh",
                               "-c",
                               "true",
                               "--name",
                               "x"});
  const auto& spec = body.spec;
  EXPECT_EQ(spec.name, "digits");
  EXPECT_EQ(spec.workers, (WorkerRange{1, 4, 2}));
  EXPECT_EQ(spec.slots_per_worker, 2);
  EXPECT_EQ(spec.cpus, 1.5);
  EXPECT_EQ(spec.memory_bytes, 512U << 20);
  EXPECT_EQ(spec.log_limit_bytes, 256U << 20);
  EXPECT_EQ(spec.priority, 80);
  EXPECT_EQ(spec.max_duration, Duration(std::chrono::hours{3}));
  EXPECT_EQ(spec.expected_duration, Duration(std::chrono::hours{2}));
  EXPECT_EQ(spec.expected_speeds, (Points<std::int32_t>{{1, 1}, {2, 1.9}}));
  EXPECT_TRUE(spec.deadline);
  EXPECT_EQ(spec.retries, 3);
  EXPECT_EQ(spec.elastic, Elastic::restart);
  EXPECT_EQ(spec.checkpoint_glob, "*.pt");
  EXPECT_EQ(spec.target, (Target{"accuracy", Direction::at_least, 0.95, 0.95}));
  EXPECT_EQ(spec.after, (std::vector<JobId>{JobId{3}, JobId{5}, JobId{6}}));
  EXPECT_TRUE(spec.hold);
  EXPECT_FALSE(spec.pty);
  EXPECT_EQ(spec.notice, (Notice{10, std::chrono::seconds{30}}));
  EXPECT_EQ(body.launch.environment.at("A"), "1");
  EXPECT_EQ(body.launch.environment.at("B"), "x=y");
  EXPECT_EQ(body.launch.directory, "/");
  EXPECT_EQ(body.launch.command, (std::vector<std::string>{"sh", "-c", "true", "--name", "x"}));
}

TEST(Submit, SaysWhereItsWorkersMayStand) {
  const auto spec =
      submitted({"--slots", "8", "--mesh", "tensor=2,pipeline=2", "--devices", "h100,a100",
                 "--affinity", "label:disk=nvme", "--affinity", "self:rack~10m", "--anti-affinity",
                 "job:prep*", "--exclusive", "--no-preempt", "--min-run", "10m", "sh"})
          .spec;
  EXPECT_EQ(spec.workers, (WorkerRange{8, 8, 8}));
  EXPECT_EQ(spec.mesh, (Mesh{2, 2}));
  EXPECT_EQ(spec.devices, (std::vector<std::string>{"h100", "a100"}));
  EXPECT_EQ(spec.affinity, (std::vector<Affinity>{*parse_affinity("label:disk=nvme", false),
                                                  *parse_affinity("self:rack~10m", false),
                                                  *parse_affinity("job:prep*", true)}));
  EXPECT_TRUE(spec.exclusive);
  EXPECT_FALSE(spec.preemptible);
  EXPECT_EQ(spec.minimum_run, Duration(std::chrono::minutes{10}));
}

TEST(Submit, HasItsOwnSharedMemoryUnlessItAsksForTheMachines) {
  EXPECT_FALSE(submitted({"sh"}).launch.shared_shm);
  EXPECT_TRUE(submitted({"--shared-shm", "sh"}).launch.shared_shm);
}

TEST(Submit, MayAskForNoMinimumRun) {
  EXPECT_EQ(submitted({"--min-run", "0s", "sh"}).spec.minimum_run, Duration::zero());
}

TEST(Run, GivesATerminalToOneWorkerThatSeesAllSlots) {
  const FakeServer server([](const FakeRequest& request) {
    return request.method == "POST" && request.target == "/v1/jobs"
               ? accepted(request)
               : fake_error(404, "not_found", "There is no job 7.");
  });
  run_words(server, {"run", "--pty", "--slots", "4", "bash"});
  ASSERT_FALSE(server.requests().empty());
  const auto spec = read_submission(server.requests().front().body).value().spec;
  EXPECT_TRUE(spec.pty);
  EXPECT_EQ(spec.workers, (WorkerRange{1, 1, 1}));
  EXPECT_EQ(spec.slots_per_worker, 4);
}

TEST(Submit, TakesGpusForSlots) {
  EXPECT_EQ(submitted({"--gpus", "2", "sh"}).spec.workers, (WorkerRange{2, 2, 2}));
  const TestDirectory directory;
  const auto file = directory.write("job.yaml", "run: sh\nresources: {gpus: 1..4}\n");
  EXPECT_EQ(submitted({"-f", file}).spec.workers, (WorkerRange{1, 4, 1}));
  EXPECT_EQ(submitted({"-f", file, "--slots", "3"}).spec.workers, (WorkerRange{3, 3, 3}));
  const FakeServer server(accepted);
  EXPECT_EQ(run_words(server, {"submit", "--gpus", "all", "sh"}).err,
            "paceline: --gpus: 'all' is no number of GPUs.\n"
            "          Write a number, or a range as in 1..8: the job gets as many of them as are "
            "free.\n");
  EXPECT_EQ(run_words(server, {"submit", "--gpus", "2", "--slots", "2", "sh"}).code, 64);
  EXPECT_TRUE(server.log().empty());
}

// Programs by their names alone, that do nothing.
class Conventions : public ::testing::Test {
 protected:
  std::string program(const std::string& name, const std::string& text = "#!/bin/sh\n") const {
    auto path = directory.write(name, text);
    ::chmod(path.c_str(), 0700);
    return path;
  }
  // What is said of `submit <words>`, and what the server got.
  std::string told(std::vector<std::string> words) {
    words.insert(words.begin(), "submit");
    const FakeServer server(accepted);
    const auto result = run_words(server, words);
    code = result.code;
    sent = {};
    if (server.requests().empty()) return result.err;
    sent = read_submission(server.requests().front().body).value();
    return result.err;
  }
  TestDirectory directory;
  int code = 0;
  SubmissionBody sent;
};

TEST_F(Conventions, OneWorkerStartsALauncher) {
  const auto torchrun = program("torchrun");
  EXPECT_EQ(told({"--slots", "4", torchrun, "--nproc_per_node=4", "t.py"}),
            "paceline: torchrun starts the processes itself: one worker with 4 slots.\n");
  EXPECT_EQ(sent.spec.workers, (WorkerRange{1, 1, 1}));
  EXPECT_EQ(sent.spec.slots_per_worker, 4);
  EXPECT_THAT(told({"--slots", "1..4", torchrun, "t.py"}), HasSubstr("can't use a range of slots"));
  EXPECT_EQ(code, 64);
  EXPECT_EQ(told({"--slots", "1..4", "--as-is", torchrun, "t.py"}), "");
  EXPECT_EQ(sent.spec.workers, (WorkerRange{1, 4, 1}));
}

TEST_F(Conventions, HoldInJobFiles) {
  const auto text = [](const std::string& more) {
    return "run: cd / && torchrun t.py\nresources: {slots: 2}\n" + more;
  };
  EXPECT_EQ(told({"-f", directory.write("a.yaml", text(""))}),
            "paceline: torchrun starts the processes itself: one worker with 2 slots.\n");
  EXPECT_EQ(sent.spec.slots_per_worker, 2);
  EXPECT_EQ(told({"-f", directory.write("b.yaml", text("as_is: true\n"))}), "");
  EXPECT_EQ(sent.spec.workers, (WorkerRange{2, 2, 2}));
}

TEST_F(Conventions, SbatchLinesGoUnderTheOptions) {
  const auto script = directory.write("train.sh",
                                      "#!/bin/sh\n#SBATCH --gres=gpu:2 -J a\n"
                                      "#SBATCH --time=60\npython3 t.py\n");
  EXPECT_EQ(told({script, "--lr", "1"}),
            "paceline: train.sh is started once as by sbatch: one worker with 2 slots.\n");
  EXPECT_EQ(sent.spec.name, "a");
  EXPECT_EQ(sent.spec.max_duration, Duration(std::chrono::hours{1}));
  EXPECT_EQ(sent.spec.workers, (WorkerRange{1, 1, 1}));
  EXPECT_EQ(sent.spec.slots_per_worker, 2);
  EXPECT_EQ(sent.launch.command, (std::vector<std::string>{"/bin/sh", script, "--lr", "1"}));
  EXPECT_EQ(told({"--gpus", "4", "--name", "b", "bash", script}),
            "paceline: train.sh is started once as by sbatch: one worker with 4 slots.\n");
  EXPECT_EQ(sent.spec.name, "b");
  EXPECT_EQ(sent.spec.slots_per_worker, 4);
  EXPECT_THAT(
      told({"--slots", "1..4", script}),
      HasSubstr("train.sh is started once as by sbatch and can't use a range of slots: 1..4."));
  EXPECT_EQ(told({"--as-is", "sh", script}), "");
  EXPECT_EQ(sent.spec.name, "train");
  EXPECT_EQ(sent.spec.slots_per_worker, 1);
}

TEST_F(Conventions, RefuseAScriptOfSeveralNodes) {
  const auto script = directory.write("train.sh", "#!/bin/sh\n#SBATCH --nodes=2\n");
  EXPECT_THAT(told({script}), HasSubstr("train.sh: The script wants 2 nodes"));
  EXPECT_EQ(code, 64);
}

TEST(Submit, SaysThatItsOwnWordsCanNotAllComeTrue) {
  const FakeServer server(accepted);
  const auto result =
      run_words(server, {"submit", "--expect", "2h", "--max-duration", "1h", "--", "sh"});
  EXPECT_EQ(result.err,
            "paceline: The job will be stopped before it is done: it may run 1h00m, and expects "
            "2h00m.\n");
  EXPECT_EQ(result.out, "Submitted job 7\n");
}

TEST(Submit, RefusesAMeshThatIsNone) {
  const FakeServer server([](const FakeRequest&) { return FakeAnswer{}; });
  const auto complaint = [&](const std::string& mesh) {
    return run_words(server, {"submit", "--mesh", mesh, "sh"}).err;
  };
  EXPECT_THAT(complaint("tensr=2"), HasSubstr("--mesh: 'tensr' is nothing of a mesh; did you mean "
                                              "'tensor'?"));
  EXPECT_THAT(complaint("tensor=0"),
              HasSubstr("--mesh: tensor: '0' is not a whole number from 1 to 1024."));
  EXPECT_THAT(complaint("tensor"), HasSubstr("--mesh: tensor: '' is not a whole number"));
  EXPECT_TRUE(server.log().empty());
}

TEST(Submit, TakesACommandWithoutDashes) {
  EXPECT_EQ(submitted({"--slots", "2", "sh", "--slots", "3", "--", "x"}).launch.command,
            (std::vector<std::string>{"sh", "--slots", "3", "--", "x"}));
}

TEST(Submit, LetsTheLastOfAnOptionCount) {
  EXPECT_EQ(submitted({"--priority", "1", "--priority=2", "true"}).spec.priority, 2);
}

TEST(Submit, ReadsAJobFileUnderItsOptions) {
  const TestDirectory directory;
  const auto file =
      directory.write("digits.yaml", "run: true\npriority: 10\nresources: {slots: 1..4}\n");
  const auto body = submitted({"-f", file, "--priority", "20"});
  EXPECT_EQ(body.spec.name, "digits");
  EXPECT_EQ(body.spec.priority, 20);
  EXPECT_EQ(body.spec.workers, (WorkerRange{1, 4, 1}));
  EXPECT_TRUE(body.launch.shell);
  EXPECT_EQ(submitted({"-f", file, "--", "sh"}).launch.command, std::vector<std::string>{"sh"});
}

TEST(Submit, FindsCheckpointsAtHome) {
  const TestDirectory directory;
  const auto file = directory.write("job.yaml", "run: true\ncheckpoint: ~/ck/*.pt\n");
  const FakeServer server(accepted);
  Environment environment = {{"PACELINE_DIR", server.directory()}, {"HOME", "/home/ann"}};
  const auto pattern = [&](const std::vector<std::string>& words) {
    EXPECT_EQ(run_words(words, environment).code, 0);
    return read_submission(server.requests().back().body).value().spec.checkpoint_glob;
  };
  EXPECT_EQ(pattern({"submit", "-f", file}), "/home/ann/ck/*.pt");
  EXPECT_EQ(pattern({"submit", "--checkpoint", "~/*.pt", "true"}), "/home/ann/*.pt");
  EXPECT_EQ(pattern({"submit", "--checkpoint", "a/*.pt~", "true"}), "a/*.pt~");
  EXPECT_EQ(run_words({"submit", "--checkpoint", "~bo/*.pt", "true"}, environment).code, 64);
  environment.erase("HOME");
  EXPECT_THAT(run_words({"submit", "-f", file}, environment).err,
              StartsWith("paceline: --checkpoint: Whose home '~/ck/*.pt' begins at is not known "
                         "here.\n"));
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST(Submit, RefusesBadOptionsAndSendsNothing) {
  const FakeServer server(accepted);
  const auto refusal = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "submit");
    words.insert(words.end(), {"--", "true"});
    const auto result = run_words(server, words);
    EXPECT_EQ(result.code, 64);
    return result.err.substr(0, result.err.find('\n'));
  };
  EXPECT_THAT(refusal({"--slots", "0"}), StartsWith("paceline: --slots: "));
  EXPECT_THAT(refusal({"--slots", "4..2"}), StartsWith("paceline: --slots: "));
  EXPECT_THAT(refusal({"--slots", "-2"}), StartsWith("paceline: --slots: "));
  EXPECT_THAT(refusal({"--slots", "many"}), StartsWith("paceline: --slots: "));
  EXPECT_EQ(refusal({"--priority", "101"}),
            "paceline: --priority: '101' is not a whole number from 0 to 100.");
  EXPECT_EQ(refusal({"--memory", "8"}),
            "paceline: --memory: '8' is not an amount of memory with its unit.");
  EXPECT_EQ(refusal({"--cpus", "0"}), "paceline: --cpus: '0' is not a number of CPU cores.");
  EXPECT_EQ(refusal({"--env", "A"}), "paceline: --env: 'A' is not a variable.");
  EXPECT_EQ(refusal({"--after", "3,x"}), "paceline: --after: 'x' is not the id of a job.");
  EXPECT_EQ(refusal({"--after", ""}), "paceline: --after: '' is not the id of a job.");
  EXPECT_EQ(refusal({"--target", "accuracy"}), "paceline: --target: 'accuracy' is not a target.");
  EXPECT_EQ(refusal({"--deadline", "2001-01-01T00:00:00Z"}),
            "paceline: '2001-01-01T00:00:00Z' is over.");
  EXPECT_EQ(refusal({"--signal", "FOO"}), "paceline: --signal: 'FOO' is not a signal.");
  EXPECT_EQ(refusal({"--grace", "-1s"}),
            "paceline: --grace: '-1s' is not a duration with its unit.");
  EXPECT_THAT(refusal({"--elastic", "maybe"}), StartsWith("paceline: --elastic: "));
  EXPECT_THAT(refusal({"--name", ""}), StartsWith("paceline: --name: "));
  EXPECT_EQ(server.requests().size(), 0U);
}

TEST(Submit, SaysWhatIsWrongWithAJobFile) {
  const TestDirectory directory;
  const FakeServer server(accepted);
  const auto file = directory.write("job.yaml", "run: true\nprioriy: 3\n");
  auto result = run_words(server, {"submit", "-f", file});
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.err,
              HasSubstr("job.yaml:2:1: There is no key 'prioriy'; did you mean 'priority'?"));
  EXPECT_EQ(run_words(server, {"submit", "-f", directory.path() + "/none.yaml"}).code, 66);
  EXPECT_EQ(run_words(server, {"submit", "-f", directory.path()}).code, 74);
  EXPECT_EQ(run_words(server, {"submit", "--", "/no/such/program"}).code, 66);
  EXPECT_EQ(run_words(server, {"submit"}).code, 64);
  EXPECT_EQ(server.requests().size(), 0U);
}

TEST(Submit, HappensOnceOverALostConnection) {
  int asked = 0;
  const FakeServer server([&](const FakeRequest& request) {
    return asked++ == 0 ? FakeAnswer{"", 200, FakeAnswer::Kind::hang_up} : accepted(request);
  });
  EXPECT_EQ(run_words(server, {"submit", "true"}).out, "Submitted job 7\n");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].idempotency_key, requests[1].idempotency_key);
  EXPECT_EQ(requests[0].body, requests[1].body);
  EXPECT_EQ(requests[0].idempotency_key.size(), 32U);
}

TEST(Submit, UsesAnotherKeyEachTime) {
  const FakeServer server(accepted);
  (void)run_words(server, {"submit", "true"});
  (void)run_words(server, {"submit", "true"});
  EXPECT_NE(server.requests()[0].idempotency_key, server.requests()[1].idempotency_key);
}

TEST(Submit, PassesTheServersRefusalOn) {
  const FakeServer server(
      [](const FakeRequest&) { return fake_error(400, "invalid", "The cluster has 4 slots."); });
  const auto result = run_words(server, {"submit", "--slots", "5", "true"});
  EXPECT_EQ(result.code, 64);
  EXPECT_EQ(result.err, "paceline: The cluster has 4 slots.\n          Do this.\n");
}

}  // namespace
}  // namespace paceline
