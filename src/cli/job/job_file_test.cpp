#include "cli/job/job_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cli/job/yaml.hpp"
#include "cli/words/directory_testing.hpp"

namespace paceline {
namespace {

// The message of the refusal, without the file's name.
std::string refusal(const std::string& text) {
  const auto words = parse_job_file(text, "job.yaml");
  EXPECT_FALSE(words) << text;
  if (words) return "";
  EXPECT_TRUE(words.error().message.starts_with("job.yaml")) << words.error().message;
  return words.error().message.substr(8);
}

TEST(JobFile, HasEveryWord) {
  const auto words = parse_job_file(R"(
name: digits
workdir: /home/ann
setup: make data
run: python3 train.py --lr 0.1
env: {SEED: 1, MODE: fast, EMPTY: }
resources:
  slots: 4..16@8
  slots_per_worker: 2
  cpus: 1.5
  memory: 8G
priority: 80
max_duration: 2h
expect: 60000 samples
deadline: +1d
retry: 3
signal: SIGUSR1
grace: 30s
checkpoint: 'ckpt/*.pt'
elastic: restart
target: {metric: accuracy>=0.9, final: accuracy>=0.95}
after: [3, 5]
mesh: {tensor: 2, pipeline: 1}
devices: [h100, a100]
affinity:
  - label:disk=nvme
  - self:rack~10m
anti_affinity: [job:prep*]
exclusive: true
shared_shm: true
ship: [src, train.py]
preemptible: false
min_run: 10m
log_limit: 256M
)",
                                    "job.yaml");
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->command,
            (std::vector<std::string>{"/bin/sh", "-c", "python3 train.py --lr 0.1"}));
  EXPECT_TRUE(words->shell);
  EXPECT_EQ(words->setup, "make data");
  EXPECT_EQ(words->shared_shm, "true");
  EXPECT_EQ(words->ship, "true");
  EXPECT_EQ(words->ship_paths, (std::vector<std::string>{"src", "train.py"}));
  EXPECT_EQ(words->env.at("SEED"), "1");
  EXPECT_EQ(words->env.at("EMPTY"), "");
  const auto spec = to_spec(*words, wall_from_us(0));
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "digits");
  EXPECT_EQ(spec->workers, (WorkerRange{2, 8, 4}));
  EXPECT_EQ(spec->slots_per_worker, 2);
  EXPECT_EQ(spec->cpus, 1.5);
  EXPECT_EQ(spec->memory_bytes, 8ULL << 30);
  EXPECT_EQ(spec->log_limit_bytes, 256U << 20);
  EXPECT_EQ(spec->priority, 80);
  EXPECT_EQ(spec->max_duration, Duration(std::chrono::hours{2}));
  EXPECT_EQ(spec->expected_samples, 60000U);
  EXPECT_EQ(spec->deadline, wall_from_us(86'400'000'000));
  EXPECT_EQ(spec->retries, 3);
  EXPECT_EQ(spec->notice, (Notice{10, std::chrono::seconds{30}}));
  EXPECT_EQ(spec->checkpoint_glob, "ckpt/*.pt");
  EXPECT_EQ(spec->elastic, Elastic::restart);
  EXPECT_EQ(spec->target, (Target{"accuracy", Direction::at_least, 0.9, 0.95}));
  EXPECT_EQ(spec->after, (std::vector<JobId>{JobId{3}, JobId{5}}));
  EXPECT_EQ(spec->mesh, (Mesh{2, 1}));
  EXPECT_EQ(spec->devices, (std::vector<std::string>{"h100", "a100"}));
  EXPECT_EQ(spec->affinity, (std::vector<Affinity>{*parse_affinity("label:disk=nvme", false),
                                                   *parse_affinity("self:rack~10m", false),
                                                   *parse_affinity("job:prep*", true)}));
  EXPECT_TRUE(spec->exclusive);
  EXPECT_FALSE(spec->preemptible);
  EXPECT_EQ(spec->minimum_run, Duration(std::chrono::minutes{10}));
}

TEST(JobFile, TakesShortForms) {
  const auto words =
      parse_job_file("run: [python3, train.py]\ntarget: loss<=0.1\nafter: 7\n", "job.yaml");
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->command, (std::vector<std::string>{"python3", "train.py"}));
  EXPECT_FALSE(words->shell);
  EXPECT_EQ(words->target, "loss<=0.1");
  EXPECT_EQ(words->after, std::vector<std::string>{"7"});
}

TEST(JobFile, NamesTheNearestKeyAndTheLine) {
  EXPECT_EQ(refusal("run: x\nprioriy: 3\n"),
            ":2:1: There is no key 'prioriy'; did you mean 'priority'?");
  EXPECT_EQ(refusal("run: x\nresources:\n  slot: 3\n"),
            ":3:3: There is no key 'slot' in 'resources'; did you mean 'slots'?");
  EXPECT_EQ(refusal("afinity: [self]\n"),
            ":1:1: There is no key 'afinity'; did you mean 'affinity'?");
  EXPECT_EQ(refusal("mesh: {tensr: 2}\n"),
            ":1:8: There is no key 'tensr' in 'mesh'; did you mean 'tensor'?");
  EXPECT_EQ(parse_job_file("tensor: 3\n", "f").error().hint, "'tensor' belongs into 'mesh'.");
  EXPECT_EQ(parse_job_file("slots: 3\n", "f").error().hint, "'slots' belongs into 'resources'.");
  EXPECT_EQ(parse_job_file("resources: {priority: 3}\n", "f").error().hint,
            "'priority' stands at the top of the file.");
}

TEST(JobFile, RefusesBadValuesWithTheirLine) {
  EXPECT_EQ(refusal("resources:\n  memory: 8\n"),
            ":2:11: memory: '8' is not an amount of memory with its unit.");
  EXPECT_EQ(refusal("priority: high\n"),
            ":1:11: priority: 'high' is not a whole number from 0 to 100.");
  EXPECT_EQ(refusal("priority:\n"), ":1:1: 'priority' has no value.");
  EXPECT_EQ(refusal("priority: [1]\n"), ":1:11: 'priority' must be a word, not a list.");
  EXPECT_EQ(refusal("run: x\nresources: {gpus: 2, slots: 2}\n"),
            ":1:1: Both slots and gpus are given, which say the same.");
  EXPECT_EQ(refusal("resources: {gpus: all}\n"), ":1:19: gpus: 'all' is no number of GPUs.");
  EXPECT_EQ(refusal("resources: 4\n"), ":1:12: 'resources' must be a map of keys, not a word.");
  EXPECT_EQ(refusal("run: {a: b}\n"), ":1:6: run: a command is missing.");
  EXPECT_EQ(refusal("env: [A]\n"), ":1:6: env: must be a map of variables.");
  EXPECT_EQ(refusal("env: {A: [1]}\n"), ":1:10: env: the value of 'A' is a list.");
  EXPECT_EQ(refusal("after: [x]\n"), ":1:9: after: 'x' is not the id of a job.");
  EXPECT_EQ(refusal("mesh: 4\n"), ":1:7: 'mesh' must be a map of keys, not a word.");
  EXPECT_EQ(refusal("mesh: {tensor: 0}\n"),
            ":1:16: tensor: '0' is not a whole number from 1 to 1024.");
  EXPECT_EQ(refusal("affinity: [disk]\n"), ":1:12: affinity: 'disk' is no affinity.");
  EXPECT_EQ(refusal("devices: {a: b}\n"), ":1:10: devices: must be a list of words.");
  EXPECT_EQ(refusal("exclusive: 3\n"), ":1:12: exclusive: '3' is neither true nor false.");
  EXPECT_EQ(refusal("target: accuracy\n"), ":1:9: target: 'accuracy' is not a target.");
}

TEST(JobFile, RefusesWhatIsNotOne) {
  EXPECT_EQ(refusal(""), " is empty.");
  EXPECT_EQ(refusal("- a\n"), ":1:1: A job file is a map of keys, not a list.");
  EXPECT_EQ(refusal("run: x\nrun: y\n"), ":2:1: 'run' stands here twice.");
  EXPECT_EQ(refusal("run: x\n---\nrun: y\n"),
            ":2:1: A second document starts here; a job file has one.");
  EXPECT_EQ(refusal("a: &x 1\nb: *x\n"), ":1:4: Anchors are not used in job files.");
  EXPECT_EQ(refusal("[a]: 1\n"), ":1:1: A key must be a word.");
  EXPECT_EQ(refusal("run: \xff\n"), " is not UTF-8 text.");
  EXPECT_EQ(refusal(std::string("run: a\0b\n", 9)), " holds a NUL, which is no text.");
  EXPECT_EQ(refusal("run: \"a\\0b\"\n"), ":1:6: A text holds no NUL.");
  EXPECT_EQ(refusal(std::string(kYamlBytesMax + 1, ' ')), " is larger than 1 MiB.");
  EXPECT_TRUE(refusal("run: \"x\nname: y").starts_with(":"));
  EXPECT_TRUE(refusal("a: b: c\n").starts_with(":1:5: "));
}

TEST(JobFile, IsHarmlessHoweverDeep) {
  for (const auto* opening : {"[", "{", "- ", "? ", "a: [", "\n "}) {
    std::string text = "run: ";
    for (int i = 0; i < 50'000; ++i) text += opening;
    EXPECT_FALSE(refusal(text).empty());
  }
  EXPECT_TRUE(
      refusal("run: " + std::string(100'000, '[')).ends_with(": This is nested too deeply."));
}

TEST(JobFile, IsReadFromItsPlace) {
  const TestDirectory directory;
  const auto path = directory.write("train.yaml", "run: x\nworkdir: sub\n");
  const auto words = read_job_file(path);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->name, "train");
  EXPECT_EQ(words->workdir, directory.path() + "/sub");
  EXPECT_EQ(read_job_file(directory.path() + "/none.yaml").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_job_file(directory.path()).error().code, ErrorCode::storage);
}

RC_GTEST_PROP(JobFile, IsReadOrRefusedWhateverItIs, ()) {
  const std::vector<std::string> pieces = {
      "run",   ": ",  ":",   "\n",        "  ", "- ",        "[",     "]",   "{",
      "}",     ",",   "\"",  "'",         "#",  "|",         ">",     "&a",  "*a",
      "!!x",   "---", "...", "%YAML 1.2", "?",  "resources", "slots", "env", "target",
      "after", "4",   "\t",  "\xC3\xA9",  "~",  "null",      "0x1",   "<<"};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces));
  std::string text;
  for (const auto& piece : chosen) text += piece;
  const auto words = parse_job_file(text, "job.yaml");
  if (!words) RC_ASSERT(words.error().message.starts_with("job.yaml"));
}

TEST(JobFile, SaysWhoIsToldOfWhat) {
  const auto words = parse_job_file(
      "run: a\nnotify:\n  to: [ada@lab.example, 'https://h/x']\n  on: [failed, final]\n"
      "  stalled_after: 5m\n",
      "job.yaml");
  ASSERT_TRUE(words) << words.error().message;
  const auto notify = to_notify(*words);
  ASSERT_TRUE(notify) << notify.error().message;
  EXPECT_EQ(notify->to, (std::vector<std::string>{"mailto:ada@lab.example", "https://h/x"}));
  EXPECT_EQ(notify->on, (MessageKinds{MessageKind::final, MessageKind::failed}));
  EXPECT_EQ(notify->stalled_after, std::chrono::minutes{5});
  const auto usual = parse_job_file("run: a\nnotify: ada@lab.example\n", "job.yaml");
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(to_notify(*usual)->on, usual_kinds());
  const auto nobody = parse_job_file("run: a\nnotify: {on: failed}\n", "job.yaml");
  EXPECT_EQ(to_notify(*nobody).error().message, "Nobody is named to be told.");
  const auto wrong = parse_job_file("run: a\nnotify:\n  too: a@b\n", "job.yaml");
  EXPECT_EQ(wrong.error().message,
            "job.yaml:3:3: There is no key 'too' in 'notify'; did you mean 'to'?");
  EXPECT_FALSE(parse_job_file("run: a\nnotify: 'a@b,c@d'\n", "job.yaml"));
}

}  // namespace
}  // namespace paceline
