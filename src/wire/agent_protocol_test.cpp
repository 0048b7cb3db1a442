#include "wire/agent_protocol.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

const ProcessKey kKey{JobId{7}, Generation{3}, 1};
const Time kAt = time_from_us(1'763'636'112'123'456);

WorkerLaunch launch() {
  WorkerLaunch worker;
  worker.key = kKey;
  worker.attempt = 2;
  worker.restart_count = 1;
  worker.world_size = 4;
  worker.local_rank = 1;
  worker.local_world_size = 2;
  worker.group_rank = 1;
  worker.group_world_size = 2;
  worker.addresses = {"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"};
  worker.slots = {2, 3};
  worker.local_slots = {0, 1, 2, 3};
  worker.job_name = "digits";
  worker.user = "ann";
  worker.uid = 1000;
  worker.launch = {{"python3", "train.py"},
                   false,
                   "true",
                   {{"A", "b"}},
                   "/home/ann",
                   027,
                   true,
                   {1000, 44},
                   {std::string(64, 'a'), 132, 4'100'000},
                   {"1311 1763636100000000000 .", "1312 1763636100000000000 a b.py"}};
  worker.slots_per_worker = 2;
  worker.cpus = 1.5;
  worker.memory_bytes = 1ULL << 40;
  worker.log_limit_bytes = 1ULL << 20;
  worker.retries = 3;
  worker.pty = true;
  worker.checkpoint_glob = "ckpt/*.pt";
  worker.checkpoint = "/home/ann/ckpt/a.pt";
  worker.copy = {"gpu-2", "ckpt/a.pt", std::string(64, 'a')};
  worker.age = std::chrono::seconds{90};
  worker.lease = RunLimit{std::chrono::minutes{15}, 10, std::chrono::seconds{120}};
  worker.peers = {{"gpu-1", "10.0.0.1", 20'008, "abc"}};
  return worker;
}

NodeSpec node() {
  return {"box",
          "10.0.0.1",
          "r1",
          64,
          1ULL << 38,
          {{SlotKind::gpu, "H100", "GPU-1", 80ULL << 30, true, "", 1, 1},
           {SlotKind::mig, "H100", "MIG-2", 0, false, "in use"}},
          "s1",
          {{"disk", "nvme"}}};
}

WorkerReport report() {
  WorkerReport report{kKey, 12,  kAt, 100,   4000,  6400,
                      17,   0.4, 3.0, 0.012, 0.001, {{"loss", 0.3}, {"accuracy", 0.91}}};
  return report;
}

template <class Message>
void expect_from_agent(const Message& message) {
  const AgentFrame frame{Session{5}, 9, 4, 0, message, kAt};
  const auto read = decode_agent_frame(encode(frame));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, frame) << encode(frame);
}

template <class Message>
void expect_from_server(const Message& message) {
  const ServerFrame frame{Session{5}, 9, 4, 3, message};
  const auto read = decode_server_frame(encode(frame));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, frame) << encode(frame);
}

TEST(AgentProtocol, ReadsWhatAnAgentWrites) {
  const Claim claim{kKey, 4711, {}, true, {2, 3}};
  expect_from_agent(
      Hello{node(), "boot-1", {claim, {{JobId{8}, Generation{1}, 0}, 0, {}, false, {}}}});
  expect_from_agent(NodeChanged{node()});
  expect_from_agent(WorkerRuns{kKey, 4711});
  expect_from_agent(report());
  expect_from_agent(WorkerReport{kKey, 13, kAt, {}, {}, {}, {}, {}, {}, {}, {}, {}});
  expect_from_agent(WorkerWarning{kKey, Warning::no_rendezvous, false});
  expect_from_agent(CheckpointSeen{kKey, 14, kAt, "/home/ann/ckpt/a.pt", 100, {}});
  expect_from_agent(CheckpointSeen{kKey, 14, kAt, "/jobs/7-a/ckpt/a.pt", 100, {}, "ckpt/a.pt"});
  expect_from_agent(
      ModelSeen{kKey, 15, kAt, "/home/ann/m.pt", std::string(64, 'a'), 1024, {}, 6400});
  expect_from_agent(WorkerGone{kKey, Cause::exited, 75, 0, "", kAt});
  expect_from_agent(
      WorkerGone{kKey, Cause::launch_failed, {}, 0, "There is no program 'pyhton3'.", kAt});
}

TEST(AgentProtocol, ReadsWhatTheServerWrites) {
  expect_from_server(StartWorker{launch()});
  StartWorker start{launch()};
  for (const auto* name : {"PACELINE_SHIPPED", "PACELINE_WITNESSES"})
    start.worker.launch.environment[name] = "somebody's own";
  EXPECT_EQ(decode_server_frame(encode(ServerFrame{Session{1}, 1, 0, 0, start}))->message,
            ServerMessage(StartWorker{launch()}))
      << "they are told by variables of those names";
  expect_from_server(StopWorker{kKey, 10, std::chrono::milliseconds{2500}});
  expect_from_server(FreezeWorker{kKey});
  expect_from_server(ThawWorker{kKey});
  expect_from_server(ShouldStop{kKey, "target_reached"});
  expect_from_server(DiscardWorker{kKey});
  expect_from_server(FenceJob{JobId{7}, Generation{3}});
  expect_from_server(KeepCheckpoint{{kKey, 14, "/home/ann/ckpt/a.pt", "ann", 1000}});
}

TEST(AgentProtocol, ReadsAFrameThatOnlyAnswers) {
  const AgentFrame frame{Session{5}, 0, 4, 0, {}};
  EXPECT_EQ(encode(frame), R"({"session":5,"number":0,"received":4,"durable":0})");
  EXPECT_EQ(*decode_agent_frame(encode(frame)), frame);
}

struct Refused {
  std::string_view text;
  std::string_view because;
};

class AgentProtocolRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(AgentProtocolRefuses, WithOneSentence) {
  const auto read = decode_agent_frame(GetParam().text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find(GetParam().because), std::string::npos)
      << read.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Frames, AgentProtocolRefuses,
    ::testing::Values(
        Refused{"", "'{'"}, Refused{"{}", "'session'"},
        Refused{R"({"session":1,"number":1,"received":0,"durable":0})", "if and only if"},
        Refused{
            R"({"session":1,"number":0,"received":0,"durable":0,"worker_runs":{"job":1,"generation":1,"rank":0,"pid":2}})",
            "if and only if"},
        Refused{
            R"({"session":1,"number":1,"received":0,"durable":0,"worker_runs":{"job":1,"rank":0,"pid":2}})",
            "'generation'"},
        Refused{
            R"({"session":1,"number":1,"received":0,"durable":0,"worker_gone":{"job":1,"generation":1,"rank":0,"cause":"boredom"}})",
            "boredom"},
        Refused{R"({"session":1,"number":1,"received":0,"durable":0,"start_worker":{}})", "'}'"},
        Refused{R"({"session":1,"number":0,"received":0,"durable":0,"clock":9223372036854.775807})",
                "out of range"},
        Refused{
            R"({"session":1,"number":0,"received":0,"durable":0,"clock":99999999999999999999.0})",
            "whole number that fits"},
        Refused{
            R"({"session":1,"number":1,"received":0,"durable":0,"worker_gone":{"job":1,"generation":1,"rank":0,"cause":"exited","exit_code":0,"signal":0,"at":-9223372036854.775808}})",
            "out of range"},
        Refused{
            R"({"session":1,"number":1,"received":0,"durable":0,"checkpoint_seen":{"job":1,"generation":1,"rank":0,"report":1,"at":1152921504606.846977,"path":"/a"}})",
            "out of range"},
        Refused{
            R"({"session":1,"number":1,"received":0,"durable":0,"worker_report":{"job":1,"generation":1,"rank":0,"report":1,"at":"nan"}})",
            "whole number"},
        Refused{R"({"session":-1})", "whole number"}));

TEST(AgentProtocol, RefusesANodeThatIsDescribedWithoutBounds) {
  const auto problem = [](NodeSpec described) {
    const auto read = decode_agent_frame(encode({Session{5}, 9, 4, 0, NodeChanged{described}}));
    return read ? "none" : read.error().message;
  };
  NodeSpec chatty = node();
  chatty.refusal = Refusal{std::string(kRefusalWhyMax + 1, 'x'), kAt};
  EXPECT_EQ(problem(chatty), "The reason of a node's refusal has at most 1 KiB.");
  NodeSpec labelled = node();
  for (int i = 0; i < 64; ++i) labelled.labels["k" + std::to_string(i)] = "v";
  EXPECT_EQ(problem(labelled), "A node has at most 64 labels, not 65.");
  NodeSpec racked = node();
  racked.rack = std::string(64, 'r');
  EXPECT_EQ(problem(racked), "The name of a rack must have at most 63 printable bytes.");
  NodeSpec verbose = node();
  verbose.machine = std::string(kMachineMax + 1, 'm');
  EXPECT_EQ(problem(verbose), "A machine's identity has at most 64 characters.");
  const auto hello = decode_agent_frame(encode({Session{5}, 1, 0, 0, Hello{labelled, "b", {}}}));
  EXPECT_FALSE(hello);
}

TEST(AgentProtocol, RefusesTwoMessagesInAFrame) {
  const auto read = decode_server_frame(
      R"({"session":1,"number":1,"received":0,"durable":0,"fence_job":{"job":1,"generation":1},"thaw_worker":{}})");
  ASSERT_FALSE(read);
}

}  // namespace
}  // namespace paceline
