#include "wire/spec_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "wire/launch_json.hpp"
#include "wire/submission_json.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<JobSpec> spec_of(std::string_view text) {
  JobSpec defaults;
  defaults.name = "job";
  const auto json = parse_json(text);
  return json ? read_spec(*json, defaults) : Result<JobSpec>(fail(json.error()));
}

std::string spec_refusal(std::string_view text) {
  const auto spec = spec_of(text);
  return spec ? "accepted" : spec.error().message;
}

TEST(SpecJson, ReadsEveryKey) {
  const auto spec = spec_of(R"({"name": "digits", "workers": "2..8@4", "slots_per_worker": 2,
    "cpus": 1.5, "memory_bytes": 1073741824, "log_limit_bytes": 2097152, "priority": 70, "max_duration_seconds": 3600,
    "expect_seconds": 7200.5, "expect_samples": 60000,
    "expect_speeds": "1:1,2:1.9,4:3.5", "deadline_at": 1763636112.123456, "retry": 3,
    "elastic": "restart", "checkpoint": "ckpt/*.pt", "target": "accuracy>=0.9",
    "target_final": "accuracy>=0.95", "after": [3, 4], "hold": true, "pty": true, "signal": 10,
    "grace_seconds": 30, "mesh": {"tensor": 2}, "devices": ["h100", "a100"],
    "affinity": ["label:disk=nvme", "self:rack~10m"], "anti_affinity": ["job:prep*"],
    "exclusive": true, "preemptible": false, "min_run_seconds": 600})");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->name, "digits");
  EXPECT_EQ(spec->workers, (WorkerRange{2, 8, 4}));
  EXPECT_EQ(spec->slots_per_worker, 2);
  EXPECT_EQ(spec->cpus, 1.5);
  EXPECT_EQ(spec->memory_bytes, 1U << 30);
  EXPECT_EQ(spec->log_limit_bytes, 2U << 20);
  EXPECT_EQ(spec->priority, 70);
  EXPECT_EQ(spec->max_duration, std::chrono::hours{1});
  EXPECT_EQ(spec->expected_duration, Duration{7'200'500'000});
  EXPECT_EQ(spec->expected_samples, 60'000U);
  EXPECT_EQ(spec->expected_speeds, (Points<std::int32_t>{{1, 1}, {2, 1.9}, {4, 3.5}}));
  EXPECT_EQ(spec->deadline, wall_from_us(1'763'636'112'123'456));
  EXPECT_EQ(spec->retries, 3);
  EXPECT_EQ(spec->elastic, Elastic::restart);
  EXPECT_EQ(spec->checkpoint_glob, "ckpt/*.pt");
  EXPECT_EQ(spec->target, (Target{"accuracy", Direction::at_least, 0.9, 0.95}));
  EXPECT_THAT(spec->after, ElementsAre(JobId{3}, JobId{4}));
  EXPECT_TRUE(spec->hold && spec->pty);
  EXPECT_EQ(spec->notice, (Notice{10, std::chrono::seconds{30}}));
  EXPECT_EQ(spec->mesh, (Mesh{2, 1}));
  EXPECT_THAT(spec->devices, ElementsAre("h100", "a100"));
  EXPECT_THAT(spec->affinity, ElementsAre(*parse_affinity("label:disk=nvme", false),
                                          *parse_affinity("self:rack~10m", false),
                                          *parse_affinity("job:prep*", true)));
  EXPECT_TRUE(spec->exclusive && !spec->preemptible);
  EXPECT_EQ(spec->minimum_run, std::chrono::minutes{10});
}

TEST(SpecJson, KeepsTheDefaultsOfWhatIsLeftOut) {
  JobSpec expected;
  expected.name = "job";
  EXPECT_EQ(*spec_of("{}"), expected);
  EXPECT_EQ(*spec_of(R"({"workers": null, "target": null})"), expected);
  EXPECT_EQ(spec_of(R"({"workers": 4})")->workers, (WorkerRange{4, 4, 4}));
}

TEST(SpecJson, SaysWhatIsWrong) {
  EXPECT_EQ(spec_refusal(R"({"prioriy": 3})"),
            "spec has an unknown key \"prioriy\"; did you mean 'priority'?");
  EXPECT_EQ(spec_refusal(R"({"priority": 101})"),
            "'priority' in spec must be a whole number from 0 to 100, not 101.");
  EXPECT_THAT(spec_refusal(R"({"workers": [4]})"), HasSubstr("'workers' in spec must be a range"));
  EXPECT_THAT(spec_refusal(R"({"workers": true})"), HasSubstr("'workers' in spec must be a range"));
  EXPECT_EQ(spec_refusal(R"({"mesh": {"tensr": 2}})"),
            "'mesh' in spec has an unknown key \"tensr\"; did you mean 'tensor'?");
  EXPECT_EQ(spec_refusal(R"({"mesh": 4})"), "'mesh' in spec must be a JSON object, not 4.");
  EXPECT_EQ(spec_refusal(R"({"workers": 6, "mesh": {"tensor": 2, "pipeline": 2}})"),
            "The sizes 6 don't fit a mesh of tensor=2, pipeline=2.");
  EXPECT_EQ(spec_refusal(R"({"anti_affinity": ["disk"]})"),
            "'anti_affinity' in spec: 'disk' is no affinity.");
  EXPECT_THAT(spec_refusal(R"({"devices": "h100"})"),
              HasSubstr("'devices' in spec must be a list"));
  for (const auto* bad : {R"({"workers": "8..2"})",
                          R"({"mesh": {"tensor": 0}})",
                          R"({"devices": [""]})",
                          R"({"affinity": ["job:a:rack:node"]})",
                          R"({"affinity": ["label:disk~soon"]})",
                          R"({"exclusive": "yes"})",
                          R"({"min_run_seconds": -1})",
                          R"({"workers": "0"})",
                          R"({"workers": "many"})",
                          R"({"workers": -1})",
                          R"({"elastic": "sometimes"})",
                          R"({"target": "accuracy"})",
                          R"({"target_final": "accuracy>=1"})",
                          R"({"target": "a>=1", "target_final": "b>=1"})",
                          R"({"after": [0]})",
                          R"({"after": 3})",
                          R"({"after": [1.5]})",
                          R"({"signal": 65})",
                          R"({"grace_seconds": -1})",
                          R"({"slots_per_worker": 0})",
                          R"({"retry": 1e3})",
                          R"({"name": "a\u0000b"})",
                          R"({"name": 7})",
                          R"({"name": ""})",
                          R"({"hold": "yes"})",
                          R"({"expect_samples": 0})",
                          R"({"memory_bytes": -5})",
                          R"({"log_limit_bytes": 1000})",
                          R"({"deadline_at": "noon"})",
                          R"({"uid": 0})",
                          R"({"user": "root"})",
                          R"([])",
                          R"("x")",
                          R"(null)"}) {
    const auto spec = spec_of(bad);
    ASSERT_FALSE(spec.has_value()) << bad;
    EXPECT_EQ(spec.error().code, ErrorCode::invalid) << bad;
  }
}

std::string any_text(std::size_t bytes_max) {
  return *rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')),
                       [bytes_max](std::string text) { return text.substr(0, bytes_max); });
}

template <class T>
std::optional<T> maybe(T value) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(value) : std::nullopt;
}

Duration any_span() { return Duration{*rc::gen::inRange<std::int64_t>(1, 86'400'000'000)}; }

std::optional<Target> any_target() {
  if (!*rc::gen::arbitrary<bool>()) return {};
  const double deliver = *rc::gen::inRange(0, 1000) * 0.1;
  const double further = *rc::gen::inRange(0, 10) * 0.1;
  const bool up = *rc::gen::arbitrary<bool>();
  return Target{"loss", up ? Direction::at_least : Direction::at_most, deliver,
                up ? deliver + further : deliver - further};
}

Affinity any_affinity(bool anti) {
  const auto term = *rc::gen::element("label:disk=nvme", "label:a.b/c", "job:prep*", "job:x:rack",
                                      "self", "self:switch~90m", "label:k=v=w~", "job:y~1d");
  return *parse_affinity(term, anti);
}

void choose_places(JobSpec& spec) {
  spec.mesh = {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5)};
  const int step = spec.mesh.step(), min = *rc::gen::inRange(1, 50);
  const int want = min + *rc::gen::inRange(0, 50);
  spec.workers = {min * step, (want + *rc::gen::inRange(0, 50)) * step, want * step};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) spec.devices.push_back("d" + any_text(20));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) spec.affinity.push_back(any_affinity(false));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) spec.affinity.push_back(any_affinity(true));
  spec.exclusive = *rc::gen::arbitrary<bool>();
}

JobSpec any_spec() {
  JobSpec spec;
  spec.name = "n" + any_text(kNameLengthMax - 1);
  choose_places(spec);
  spec.slots_per_worker = *rc::gen::inRange(1, kSlotsPerWorkerMax);
  spec.cpus = *rc::gen::inRange(0, 1000) / 8.0;
  spec.memory_bytes = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 50);
  spec.log_limit_bytes = *rc::gen::element<std::uint64_t>(0, 1ULL << 20, 1ULL << 50);
  spec.priority = *rc::gen::inRange(0, 100);
  spec.preemptible = *rc::gen::arbitrary<bool>();
  spec.max_duration = maybe(any_span());
  spec.minimum_run = maybe(any_span());
  spec.expected_duration = maybe(any_span());
  spec.expected_samples = maybe(*rc::gen::inRange<std::uint64_t>(1, 1ULL << 40));
  for (int n = 1; *rc::gen::inRange(0, 4) > 0; n *= 2)
    spec.expected_speeds.emplace_back(n, *rc::gen::inRange(1, 100) / 7.0);
  spec.deadline = maybe(wall_from_us(*rc::gen::inRange<std::int64_t>(1, 4'000'000'000'000'000)));
  spec.retries = *rc::gen::inRange(0, kRetriesMax);
  spec.elastic = *rc::gen::element(Elastic::automatic, Elastic::restart, Elastic::no);
  spec.on_disconnect = *rc::gen::element(OnDisconnect::stop, OnDisconnect::go_on);
  spec.checkpoint_store = *rc::gen::element(CheckpointStore::server, CheckpointStore::none);
  spec.checkpoint_glob = any_text(100);
  spec.target = any_target();
  spec.after = *rc::gen::container<std::vector<JobId>>(
      rc::gen::construct<JobId>(rc::gen::inRange<std::uint32_t>(1, 1000)));
  spec.hold = *rc::gen::arbitrary<bool>();
  spec.pty = spec.workers.max == 1 && *rc::gen::arbitrary<bool>();
  spec.notice = {*rc::gen::inRange(1, 64), any_span()};
  return spec;
}

RC_GTEST_PROP(SpecJson, AnyValidSpecComesBackEqual, ()) {
  const auto spec = any_spec();
  RC_PRE(validate(spec).has_value());
  JsonWriter json;
  write_spec(json, spec);
  const auto read = spec_of(json.text());
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == spec);
}

TEST(LaunchJson, ComesBackEqual) {
  const LaunchSpec launch{{"python3", "train.py", "--name=ä\n\""},
                          true,
                          "make",
                          {{"PATH", "/bin"}, {"EMPTY", ""}},
                          "/home/ann",
                          027,
                          true,
                          {},
                          {std::string(64, 'a'), 132, 4'100'000},
                          {"1311 1763636100000000000 ."}};
  JsonWriter json;
  write_launch(json, launch);
  const auto read = read_launch(*parse_json(json.text()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, launch);
}

TEST(LaunchJson, SaysWhatIsWrong) {
  const auto refused = [](std::string_view text) {
    const auto launch = read_launch(*parse_json(text));
    return launch ? "accepted" : launch.error().message;
  };
  EXPECT_EQ(refused("{}"), "launch lacks the key 'command'.");
  EXPECT_EQ(refused(R"({"command": ["a"]})"), "launch lacks the key 'directory'.");
  EXPECT_EQ(refused(R"({"command": "a", "directory": "/"})"),
            "'command' in launch must be a list of at most 65536 strings without NUL, not \"a\".");
  EXPECT_EQ(refused(R"({"command": ["a"], "directory": "/", "env": {}})"),
            "launch has an unknown key \"env\".");
  for (const auto* bad :
       {R"({"command": [], "directory": "/"})", R"({"command": [""], "directory": "/"})",
        R"({"command": ["a"], "directory": "home"})",
        R"({"command": ["a"], "directory": "/", "environment": {"A=B": "1"}})",
        R"({"command": ["a"], "directory": "/", "environment": {"A": 1}})",
        R"({"command": ["a"], "directory": "/", "umask": 512})",
        R"({"command": ["a\u0000"], "directory": "/"})"}) {
    EXPECT_NE(refused(bad), "accepted") << bad;
  }
}

SubmissionBody sample() {
  SubmissionBody body;
  body.spec.name = "digits";
  body.launch.command = {"python3", "-u", "/data/digits.py"};
  body.launch.directory = "/data";
  return body;
}

TEST(SubmissionJson, ComesBackEqual) {
  const auto read = read_submission(submission_body(sample()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, sample());
}

TEST(SubmissionJson, CallsAJobAfterItsScript) {
  const auto named = [](std::string_view command) {
    return read_submission(
               fmt::format(R"({{"launch": {{"command": {}, "directory": "/"}}}})", command))
        ->spec.name;
  };
  EXPECT_EQ(named(R"(["python3", "-u", "/data/digits.py", "--lr", "1"])"), "digits.py");
  EXPECT_EQ(named(R"(["/usr/bin/make", "all"])"), "make");
  EXPECT_EQ(named(R"(["/"])"), "job");
}

TEST(SubmissionJson, WantsSpecAndLaunchAndNothingElse) {
  EXPECT_EQ(read_submission("{}").error().message, "body lacks the key 'launch'.");
  EXPECT_EQ(read_submission("[]").error().message, "body must be a JSON object, not a list.");
  EXPECT_EQ(read_submission(R"({"launch": {}, "user": "root"})").error().message,
            "body has an unknown key \"user\".");
  EXPECT_EQ(read_submission(std::string(5 << 20, ' ')).error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace paceline
