#include "wire/job_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "wire/json.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;

constexpr Time at(std::int64_t seconds) { return time_from_us(seconds * 1'000'000); }

State one_node(bool up = true) {
  Node node{NodeId{0}, {}, up, {}};
  node.spec.name = "box";
  node.spec.slots.resize(6);
  node.spec.slots[5].usable = false;
  node.spec.slots[5].note = "used by a process of another user";
  node.slots.resize(6);
  StateParts parts;
  parts.nodes = {node};
  return State(parts);
}

Job waiting() {
  auto spec = std::make_shared<JobSpec>();
  spec->name = "digits";
  spec->user = "ann";
  spec->uid = 1000;
  Job job;
  job.id = JobId{7};
  job.spec = spec;
  job.submitted_at = job.changed_at = at(100);
  return job;
}

Job running() {
  auto job = waiting();
  auto spec = std::make_shared<JobSpec>(*job.spec);
  spec->target = Target{"accuracy", Direction::at_least, 0.9, 0.95};
  spec->after = {JobId{3}};
  job.spec = spec;
  job.state = JobState::running;
  job.current = Gang{Generation{3}, 1, {}, at(101), at(102), {}};
  job.current->workers = {Worker{{NodeId{0}, {0}}, WorkerState::running, 4711, {}},
                          Worker{{NodeId{0}, {1}}, WorkerState::running, 4712, {}}};
  job.started_at = at(102);
  job.changed_at = at(110);
  job.waited = 2s;
  job.ran = 8s;
  job.leased = 2;
  job.slot_seconds = 16;
  job.progress = Progress{};
  job.progress->step = 120;
  job.progress->metrics["accuracy"] = 0.91;
  job.progress->reported_at = at(109);
  job.checkpoint = Checkpoint{"/ckpt/a.pt", 100, 6400, at(108)};
  return job;
}

std::string text_of(const Job& job, Viewer viewer = Viewer::owner) {
  const auto state = one_node();
  JsonWriter json;
  const Reason reason{ReasonCode::runs, {2, 4}, {}};
  write_job(json, {job, state, at(120), reason, "python3 train.py", "/home/ann", viewer});
  return json.take();
}

Json job_shown(const Job& job, Viewer viewer = Viewer::owner) {
  return *parse_json(text_of(job, viewer));
}

// The keys of an object in the order of its text.
std::vector<std::string> keys_of(std::string_view object) {
  std::vector<std::string> keys;
  const auto json = nlohmann::ordered_json::parse(object, nullptr, false);
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

// The job that docs/api.md shows.
std::string documented() {
  std::ifstream file("docs/api.md");
  std::stringstream text;
  text << file.rdbuf();
  const auto page = text.str();
  const auto begin = page.find("```json\n", page.find("## Job")) + 8;
  return page.substr(begin, page.find("```", begin) - begin);
}

TEST(JobJson, HasEveryDocumentedKeyAlwaysAndInThatOrder) {
  const auto keys = keys_of(documented());
  ASSERT_GT(keys.size(), 40U);
  EXPECT_EQ(keys_of(text_of(waiting())), keys);
  EXPECT_EQ(keys_of(text_of(running())), keys);
  EXPECT_EQ(keys_of(text_of(running(), Viewer::other)), keys);
}

TEST(JobJson, WarnsItsOwnerAndNobodyElse) {
  Job job = running();
  EXPECT_EQ(job_shown(job)["warnings"], Json::array());
  job.current->warnings = {Warning::no_rendezvous};
  EXPECT_EQ(
      job_shown(job)["warnings"],
      Json::array({{{"code", "no_rendezvous"}, {"text", sentence(Warning::no_rendezvous, 2, 2)}}}));
  EXPECT_EQ(job_shown(job, Viewer::other)["warnings"], Json::array());
}

TEST(JobJson, TellsWhatIsLeftWithItsBounds) {
  const auto state = one_node();
  EXPECT_EQ(job_shown(running())["remaining"], nullptr);
  const Job job = running();
  JsonWriter json;
  write_job(
      json,
      {job, state, at(120), {}, "", "", Viewer::other, TimeLeft{100s, 70s, 150s, "declared"}});
  EXPECT_EQ((*parse_json(json.take()))["remaining"], (Json{{"seconds", 100.0},
                                                           {"low_seconds", 70.0},
                                                           {"high_seconds", 150.0},
                                                           {"from", "declared"}}));
}

TEST(JobJson, ShowsAWaitingJobWithNullsForWhatIsNotKnown) {
  const auto job = job_shown(waiting());
  EXPECT_EQ(job["state"], "PENDING");
  EXPECT_EQ(job["workers"], 0);
  EXPECT_EQ(job["gang"], Json::array());
  EXPECT_EQ(job["metrics"], Json::object());
  EXPECT_EQ(job["waited_seconds"], 20.0);
  for (const auto* key : {"progress", "target", "checkpoint", "started_at", "ended_at", "exit_code",
                          "cause", "ending", "cpus", "memory_bytes", "log_limit_bytes",
                          "deadline_at", "min_run_seconds", "stop_loss", "resize_loss"}) {
    EXPECT_TRUE(job[key].is_null()) << key;
  }
}

TEST(JobJson, IsPinnedWhereItsOwnerGaveOneSizeAndNotARange) {
  Job job = waiting();
  job.pinned = true;
  job.range = {2, 2, 2};
  EXPECT_EQ(job_shown(job)["pinned"], true);
  job.range = {1, 2, 2};
  EXPECT_EQ(job_shown(job)["pinned"], false);
}

TEST(JobJson, ShowsARunningJob) {
  const auto job = job_shown(running());
  EXPECT_EQ(job["generation"], 3);
  EXPECT_EQ(job["pids"], Json({4711, 4712}));
  EXPECT_EQ(job["nodes"], Json({"box"}));
  EXPECT_EQ(job["gang"][1], (Json{{"rank", 1},
                                  {"node", "box"},
                                  {"slots", {1}},
                                  {"pid", 4712},
                                  {"state", "running"},
                                  {"exit_code", nullptr}}));
  EXPECT_EQ(job["metrics"], (Json{{"accuracy", 0.91}}));
  EXPECT_EQ(job["progress"]["step"], 120);
  EXPECT_EQ(job["target"]["direction"], ">=");
  EXPECT_EQ(job["checkpoint"]["samples"], 6400);
  EXPECT_EQ(job["after"], Json({3}));
  EXPECT_EQ(job["reason_code"], "runs");
}

TEST(JobJson, SaysWhereItMayStand) {
  auto job = waiting();
  auto spec = std::make_shared<JobSpec>(*job.spec);
  spec->mesh = {2, 4};
  spec->devices = {"h100"};
  spec->affinity = {*parse_affinity("label:disk=nvme~10m", false),
                    *parse_affinity("job:prep:rack", true)};
  spec->exclusive = true;
  spec->preemptible = false;
  spec->minimum_run = 90s;
  spec->log_limit_bytes = 1U << 20;
  job.spec = spec;
  const auto read = job_shown(job);
  EXPECT_EQ(read["mesh"], (Json{{"tensor", 2}, {"pipeline", 4}}));
  EXPECT_EQ(read["devices"], Json({"h100"}));
  EXPECT_EQ(read["affinity"], Json({"label:disk=nvme~10m"}));
  EXPECT_EQ(read["anti_affinity"], Json({"job:prep:rack"}));
  EXPECT_EQ(read["exclusive"], true);
  EXPECT_EQ(read["log_limit_bytes"], 1U << 20);
  EXPECT_EQ(read["preemptible"], false);
  EXPECT_EQ(read["min_run_seconds"], 90.0);
}

TEST(JobJson, RunsSumsUpToNow) {
  const auto job = job_shown(running());
  EXPECT_EQ(job["ran_seconds"], 18.0);   // 8 + (120 - 110)
  EXPECT_EQ(job["slot_seconds"], 36.0);  // 16 + 2 slots x 10
  EXPECT_EQ(job["waited_seconds"], 2.0);
  auto over = running();
  over.state = JobState::failed;
  over.current.reset();
  over.ending = Ending{Cause::exited, 3, 0, {}, at(110)};
  EXPECT_EQ(job_shown(over)["ran_seconds"], 8.0);
  EXPECT_EQ(job_shown(over)["exit_code"], 3);
  EXPECT_EQ(job_shown(over)["cause"], "exited");
  EXPECT_EQ(job_shown(over)["generation"], 0);
  over.ending = Ending{Cause::signalled, {}, 9, {}, at(110)};
  EXPECT_EQ(job_shown(over)["exit_code"], 137);
}

TEST(JobJson, KeepsWhatIsPrivateToItsOwner) {
  const auto job = job_shown(running(), Viewer::other);
  for (const auto* key : {"command", "directory", "shipped", "metrics", "checkpoint"}) {
    EXPECT_TRUE(job[key].is_null()) << key;
  }
  EXPECT_EQ(job["progress"]["step"], 120);
}

TEST(NodeJson, SaysWhereItStands) {
  auto node = one_node().nodes()[0];
  node.spec.rack = "r1";
  node.spec.network_switch = "s1";
  node.spec.labels = {{"disk", "nvme"}};
  node.spec.slots[5].island = 1;
  node.spec.slots[5].numa = 2;
  JsonWriter json;
  write_node_status(json, State{}, node);
  const auto shown = *parse_json(json.text());
  EXPECT_EQ(shown["rack"], "r1");
  EXPECT_EQ(shown["switch"], "s1");
  EXPECT_EQ(shown["labels"], (Json{{"disk", "nvme"}}));
  EXPECT_EQ(shown["slots"][0]["island"], 0);
  EXPECT_EQ(shown["slots"][5]["island"], 1);
  EXPECT_EQ(shown["slots"][5]["numa"], 2);
}

TEST(NodeJson, SaysTheStateOfEverySlot) {
  const auto state = one_node();
  auto node = state.nodes()[0];
  const ProcessKey holder{JobId{7}, Generation{3}, 0}, heir{JobId{8}, Generation{1}, 1};
  node.slots[1].lease = Lease{holder, false};
  node.slots[2].lease = Lease{holder, true};
  node.slots[3].lease = Lease{holder, true};
  node.slots[3].promise = heir;
  JsonWriter json;
  write_node_status(json, State{}, node);
  const auto shown = *parse_json(json.text());
  std::vector<std::string> states;
  for (const auto& slot : shown["slots"]) states.push_back(slot["state"]);
  EXPECT_THAT(states,
              ::testing::ElementsAre("free", "leased", "ending", "promised", "free", "unusable"));
  EXPECT_EQ(shown["slots"][2]["job"], 7);
  EXPECT_EQ(shown["slots"][3]["job"], 8);
  EXPECT_EQ(shown["slots"][3]["rank"], 1);
  EXPECT_EQ(shown["slots"][5]["note"], "used by a process of another user");
  EXPECT_TRUE(shown["rack"].is_null() && shown["switch"].is_null());
  EXPECT_EQ(shown["labels"], Json::object());
  EXPECT_EQ(slot_state(one_node(false).nodes()[0], 0), "down");
  EXPECT_TRUE(shown["refusal"].is_null());
}

TEST(NodeJson, SaysWhyItStartsNothing) {
  auto node = one_node().nodes()[0];
  node.spec.refusal = Refusal{"no space is left", time_from_us(90'500'000)};
  JsonWriter json;
  write_node_status(json, State{}, node);
  const auto shown = *parse_json(json.text());
  EXPECT_EQ(shown["state"], "up");
  EXPECT_EQ(shown["refusal"],
            (Json{{"why", "no space is left"}, {"until", 90.5}, {"unhealthy", false}}));
  EXPECT_EQ(shown["slots"][0]["state"], "refusing");
  node.spec.refusal->unhealthy = true;
  JsonWriter unhealthy;
  write_node_status(unhealthy, State{}, node);
  EXPECT_EQ((*parse_json(unhealthy.text()))["refusal"],
            (Json{{"why", "no space is left"}, {"until", nullptr}, {"unhealthy", true}}));
}

TEST(NodeJson, SaysByWhoseWordItIsOff) {
  auto node = one_node(false).nodes()[0];
  const auto shown = [&] {
    JsonWriter json;
    write_node_status(json, State{}, node);
    return (*parse_json(json.text()))["off_by"];
  };
  EXPECT_TRUE(shown().is_null());
  node.off_by = "root";
  EXPECT_EQ(shown(), "root");
}

TEST(NodeJson, SaysWhetherItJoined) {
  const auto node = one_node().nodes()[0];
  const auto shown = [&](const std::optional<NodeJoin>& join) {
    JsonWriter json;
    write_node_status(json, State{}, node, join);
    return *parse_json(json.text());
  };
  EXPECT_EQ(shown({})["joined"], false);
  EXPECT_EQ(shown({})["removed"], false);
  EXPECT_TRUE(shown({})["joined_at"].is_null() && shown({})["serial"].is_null());
  EXPECT_TRUE(shown({})["silent_seconds"].is_null() && shown({})["version"].is_null());
  const auto joined = shown(NodeJoin{.at = wall_from_us(5'500'000),
                                     .serial = 2,
                                     .removed = true,
                                     .silent = 250ms,
                                     .version = "0.1.0"});
  EXPECT_EQ(joined["silent_seconds"], 0.25);
  EXPECT_EQ(joined["version"], "0.1.0");
  EXPECT_EQ(joined["joined"], true);
  EXPECT_EQ(joined["removed"], true);
  EXPECT_EQ(joined["joined_at"], 5.5);
  EXPECT_EQ(joined["serial"], 2);
}

TEST(NodeJson, TellsOfSlotsThatAreGoneWhileAWorkerIsOnThem) {
  auto node = one_node().nodes()[0];
  node.spec.slots.resize(3);
  node.slots[4].lease = Lease{{JobId{7}, Generation{3}, 0}, false};
  JsonWriter json;
  write_node_status(json, State{}, node);
  const auto shown = *parse_json(json.text());
  ASSERT_EQ(shown["slots"].size(), 4U);
  EXPECT_EQ(shown["slots"][3]["index"], 4);
  EXPECT_EQ(shown["slots"][3]["state"], "unusable");
  EXPECT_EQ(shown["slots"][3]["note"], "the node has it no longer");
  EXPECT_EQ(shown["slots"][3]["job"], 7);
}

}  // namespace
}  // namespace paceline
