#include "wire/agent_bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "model/job_spec.hpp"
#include "model/label.hpp"
#include "wire/report.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

const ProcessKey kWorker{JobId{7}, Generation{3}, 1};
const Time kTold = time_from_us(1'763'636'112'123'456);
constexpr double kInfinity = std::numeric_limits<double>::infinity();

NodeSpec described() {
  NodeSpec node{"box", "10.0.0.1", "r1", 64, 1ULL << 38, {}, "s1", {{"disk", "nvme"}}};
  node.slots = {{SlotKind::gpu, "H100", "GPU-1", 80ULL << 30, true, "", 1, 1}};
  node.refusal = Refusal{"no room", kTold};
  node.ports = PortRange{20'000, 30'000};
  node.only_user = "ann";
  node.strangers = {"bob", "eve"};
  node.lease = kUsualLease;
  node.reach_port = 20'008;
  node.reach_nonce = "abc";
  return node;
}

WorkerReport told_report() {
  return {kWorker, 12,  kTold, 100,   4000,  6400,
          17,      0.4, 3.0,   0.012, 0.001, {{"loss", 0.3}, {"accuracy", 0.91}}};
}

template <class Message>
Result<AgentFrame> travelled(const Message& message) {
  return decode_agent_frame(encode(AgentFrame{Session{5}, 9, 4, 0, message, kTold}));
}

template <class Message>
Message taken(const Message& message) {
  const auto read = travelled(message);
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? std::get<Message>(*read->message) : Message{};
}

// Why it is refused; empty: it is not.
template <class Message>
std::string problem(Message message, const std::function<void(Message&)>& change) {
  change(message);
  const auto read = travelled(message);
  return read ? "" : read.error().message;
}

std::string of_node(const std::function<void(NodeSpec&)>& change) {
  return problem<NodeChanged>({described()}, [&](NodeChanged& changed) { change(changed.node); });
}
std::string of_slot(const std::function<void(SlotSpec&)>& change) {
  return of_node([&](NodeSpec& node) { change(node.slots[0]); });
}
Claim claim() { return {kWorker, 4711, {}, true, {0}}; }
std::string of_claim(const std::function<void(Claim&)>& change) {
  Claim told = claim();
  change(told);
  return problem<Hello>({described(), "boot-1", {told}}, [](Hello&) {});
}
std::string of_report(const std::function<void(WorkerReport&)>& change) {
  return problem<WorkerReport>(told_report(), change);
}
std::string of_checkpoint(const std::function<void(CheckpointSeen&)>& change) {
  return problem<CheckpointSeen>({kWorker, 14, kTold, "/ckpt/a.pt", 100, {}}, change);
}
std::string of_end(const std::function<void(WorkerGone&)>& change) {
  return problem<WorkerGone>({kWorker, Cause::exited, 75, 0, "", kTold}, change);
}

TEST(AgentBounds, TakesWhatASoundAgentTells) {
  EXPECT_EQ(taken(NodeChanged{described()}).node, described());
  EXPECT_EQ(of_claim([](Claim&) {}), "");
  EXPECT_EQ(taken(told_report()), told_report());
  EXPECT_EQ(of_checkpoint([](CheckpointSeen&) {}), "");
  EXPECT_EQ(of_end([](WorkerGone&) {}), "");
}

TEST(AgentBounds, HoldANodesNames) {
  EXPECT_THAT(of_node([](NodeSpec& n) { n.name.clear(); }), HasSubstr("no name"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.name = std::string(kNodeNameMax + 1, 'n'); }),
              HasSubstr("at most 253 bytes"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.name = "a\nb"; }), HasSubstr("unprintable"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.address = std::string(kAddressMax + 1, '1'); }),
              HasSubstr("no address"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.address = "10.0.0.1\x1b[2J"; }), HasSubstr("no address"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.machine = "a\tb"; }), HasSubstr("unprintable"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.only_user = std::string(kUserNameMax + 1, 'u'); }),
              HasSubstr("at most 256 bytes"));
}

TEST(AgentBounds, HoldANodesLease) {
  EXPECT_THAT(of_node([](NodeSpec& n) { n.lease = kLeaseMin - Duration{1}; }),
              HasSubstr("a lease"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.lease = kLeaseMax + Duration{1}; }),
              HasSubstr("a lease"));
}

TEST(AgentBounds, HoldWhereANodeSaysWhoItIs) {
  EXPECT_THAT(of_node([](NodeSpec& n) { n.reach_port = 65'536; }), HasSubstr("a port"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.reach_nonce = std::string(kReachNonceMax + 1, 'a'); }),
              HasSubstr("at most 64 bytes"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.reach_nonce = "a\nb"; }), HasSubstr("unprintable"));
}

TEST(AgentBounds, HoldWhomANodeDoesNotKnow) {
  EXPECT_THAT(of_node([](NodeSpec& n) { n.strangers.assign(kStrangersMax + 1, "bob"); }),
              HasSubstr("at most 64 users"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.strangers = {"eve", "bob"}; }), HasSubstr("in order"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.strangers = {"b\rob"}; }), HasSubstr("unprintable"));
}

TEST(AgentBounds, HoldWhatANodeHas) {
  EXPECT_THAT(of_node([](NodeSpec& n) { n.slots.assign(kNodeSlotsMax + 1, {}); }),
              HasSubstr("at most 1024 slots, not 1025"));
  EXPECT_EQ(of_node([](NodeSpec& n) { n.slots.assign(kNodeSlotsMax, {}); }), "");
  for (const double cores : {-1.0, 1e9, std::nan(""), kInfinity})
    EXPECT_THAT(of_node([&](NodeSpec& n) { n.cpus = cores; }), HasSubstr("cores")) << cores;
  EXPECT_THAT(of_node([](NodeSpec& n) { n.memory_bytes = ~0ULL; }), HasSubstr("memory"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.ports = PortRange{9, 8}; }), HasSubstr("ports"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.ports = PortRange{1, 70'000}; }), HasSubstr("ports"));
  EXPECT_THAT(of_node([](NodeSpec& n) { n.refusal->until = Time::max(); }),
              HasSubstr("a time is out of range"));
}

TEST(AgentBounds, HoldASlot) {
  EXPECT_THAT(of_slot([](SlotSpec& s) { s.model = std::string(kDeviceNameMax + 1, 'm'); }),
              HasSubstr("at most 128 bytes"));
  EXPECT_THAT(of_slot([](SlotSpec& s) { s.uuid = "GPU\x7f"; }), HasSubstr("unprintable"));
  EXPECT_THAT(of_slot([](SlotSpec& s) { s.memory_bytes = ~0ULL; }), HasSubstr("memory"));
  EXPECT_THAT(of_slot([](SlotSpec& s) { s.island = -1; }), HasSubstr("domain"));
  EXPECT_THAT(of_slot([](SlotSpec& s) { s.numa = 1 << 30; }), HasSubstr("domain"));
}

TEST(AgentBounds, CutANoteInsideNoCharacter) {
  NodeSpec noted = described();
  noted.slots[0].note = std::string(kSlotNoteMax - 1, 'x') + "ü";
  EXPECT_EQ(taken(NodeChanged{noted}).node.slots[0].note, std::string(kSlotNoteMax - 1, 'x'));
}

TEST(AgentBounds, HoldAGreeting) {
  EXPECT_THAT(problem<Hello>({described(), std::string(kBootIdMax + 1, 'b'), {}}, [](Hello&) {}),
              HasSubstr("at most 128 bytes"));
  EXPECT_THAT(problem<Hello>({described(), "boot-1", std::vector<Claim>(kClaimsMax + 1, claim())},
                             [](Hello&) {}),
              HasSubstr("at most 65536 claims"));
  EXPECT_THAT(of_claim([](Claim& c) { c.key.job = JobId{0}; }), HasSubstr("name of a process"));
  EXPECT_THAT(of_claim([](Claim& c) { c.key.number = -1; }), HasSubstr("name of a process"));
  EXPECT_THAT(of_claim([](Claim& c) { c.pid = -1; }), HasSubstr("process id"));
  EXPECT_THAT(of_claim([](Claim& c) { c.slots = {kNodeSlotsMax}; }), HasSubstr("slot of a claim"));
  EXPECT_THAT(of_claim([](Claim& c) { c.slots.assign(kNodeSlotsMax + 1, 0); }),
              HasSubstr("slot of a claim"));
  EXPECT_THAT(
      of_claim([](Claim& c) { c.gone = WorkerGone{kWorker, Cause::exited, 0, 0, "", kTold}; }),
      HasSubstr("end of a claim"));
}

TEST(AgentBounds, HoldAProcessId) {
  for (const std::int64_t pid : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1} << 40})
    EXPECT_THAT(problem<WorkerRuns>({kWorker, pid}, [](WorkerRuns&) {}), HasSubstr("process id"));
}

TEST(AgentBounds, HoldAReportsCounts) {
  for (auto count : {&WorkerReport::step, &WorkerReport::total_steps, &WorkerReport::samples,
                     &WorkerReport::position}) {
    EXPECT_THAT(of_report([&](WorkerReport& r) { r.*count = kReportCountMax + 1; }),
                HasSubstr("a count"));
    EXPECT_EQ(of_report([&](WorkerReport& r) { r.*count = kReportCountMax; }), "");
  }
  EXPECT_THAT(of_report([](WorkerReport& r) { r.report = ~0ULL; }),
              HasSubstr("number of a report"));
  EXPECT_THAT(of_report([](WorkerReport& r) { r.at = Time::min(); }), HasSubstr("a time"));
  EXPECT_THAT(of_report([](WorkerReport& r) { r.key.number = -3; }), HasSubstr("process"));
}

TEST(AgentBounds, HoldAReportsMetrics) {
  EXPECT_THAT(of_report([](WorkerReport& r) {
                for (std::size_t i = 0; i <= kMetricsMax; ++i) r.metrics[std::to_string(i)] = 1;
              }),
              HasSubstr("64 metrics"));
  EXPECT_THAT(of_report([](WorkerReport& r) { r.metrics[""] = 1; }), HasSubstr("no name"));
  EXPECT_THAT(of_report([](WorkerReport& r) { r.metrics["a\nb"] = 1; }), HasSubstr("unprintable"));
  EXPECT_THAT(
      of_report([](WorkerReport& r) { r.metrics[std::string(kMetricNameMax + 1, 'm')] = 1; }),
      HasSubstr("at most 128 bytes"));
}

TEST(AgentBounds, HoldWhatAReportSaysOfAResume) {
  const auto text = [](const std::string& told) {
    return of_report([&](WorkerReport& r) { r.resume = ResumeAudit{true, told}; });
  };
  EXPECT_EQ(text("step 5"), "");
  EXPECT_THAT(text("a\nb"), HasSubstr("resume audit"));
  EXPECT_THAT(text(std::string(kResumeTextMax + 1, 'a')), HasSubstr("resume audit"));
}

TEST(AgentBounds, LeaveOutNumbersThatAreNone) {
  WorkerReport odd = told_report();
  odd.metrics = {{"loss", std::nan("")}, {"top", kInfinity}, {"accuracy", 0.5}};
  odd.epoch = std::nan("");
  odd.step_seconds = -kInfinity;
  const WorkerReport read = taken(odd);
  EXPECT_EQ(read.metrics, (std::map<std::string, double>{{"accuracy", 0.5}}));
  EXPECT_FALSE(read.epoch || read.step_seconds);
  EXPECT_EQ(read.total_epochs, 3.0);
}

TEST(AgentBounds, HoldTheNumbersOfAnEnd) {
  EXPECT_THAT(of_end([](WorkerGone& g) { g.exit_code = 256; }), HasSubstr("exit code"));
  EXPECT_THAT(of_end([](WorkerGone& g) { g.exit_code = -1; }), HasSubstr("exit code"));
  EXPECT_THAT(of_end([](WorkerGone& g) { g.signal = kSignalMax + 1; }), HasSubstr("signal"));
  EXPECT_THAT(of_end([](WorkerGone& g) { g.signal = -9; }), HasSubstr("signal"));
}

TEST(AgentBounds, HoldThePathOfACheckpoint) {
  EXPECT_THAT(of_checkpoint([](CheckpointSeen& c) { c.path = "ckpt/a.pt"; }),
              HasSubstr("not absolute"));
  EXPECT_THAT(of_checkpoint([](CheckpointSeen& c) {
                c.path = {"/a\0b", 4};
              }),
              HasSubstr("not absolute"));
  EXPECT_THAT(of_checkpoint([](CheckpointSeen& c) { c.samples = ~0ULL; }), HasSubstr("a count"));
  EXPECT_THAT(of_checkpoint([](CheckpointSeen& c) { c.report = ~0ULL; }),
              HasSubstr("number of a report"));
}

// A script alone says them: its node goes on.
TEST(AgentBounds, LeaveOutPathsOfCheckpointsThatAreOdd) {
  const auto inside = [](const std::string& told) {
    return taken(CheckpointSeen{kWorker, 14, kTold, "/ckpt/a.pt", 100, {}, told}).inside;
  };
  EXPECT_EQ(inside("ckpt/..a/b.pt"), "ckpt/..a/b.pt");
  EXPECT_EQ(inside("src/../b.pt"), "b.pt");
  EXPECT_EQ(inside("./ckpt//b.pt"), "ckpt/b.pt");
  for (const auto* out : {"", ".", "ckpt/..", "../b.pt", "ckpt/../../b.pt", "/etc/b.pt", ".."})
    EXPECT_EQ(inside(out), "") << out;
  EXPECT_EQ(inside(std::string(kReportedPathMax, 'a')), "");
  EXPECT_EQ(inside({"a\0b", 3}), "");
  const std::string path = "/" + std::string(kReportedPathMax, 'a');
  EXPECT_EQ(taken(CheckpointSeen{kWorker, 14, kTold, path, 100, {}}).path, "");
}

TEST(AgentBounds, HoldWhatIsSaidOfAModel) {
  const auto of_model = [](const std::function<void(ModelSeen&)>& change) {
    return problem<ModelSeen>({kWorker, 14, kTold, "/m.pt", "", 1024, 100, {}}, change);
  };
  EXPECT_EQ(of_model([](ModelSeen&) {}), "");
  EXPECT_EQ(of_model([](ModelSeen& m) { m.sha256 = std::string(64, '0'); }), "");
  EXPECT_THAT(of_model([](ModelSeen& m) { m.path = "m.pt"; }), HasSubstr("not absolute"));
  EXPECT_THAT(of_model([](ModelSeen& m) { m.path = "/" + std::string(kReportedPathMax, 'a'); }),
              HasSubstr("The path of a model has at most 4096 bytes"));
  EXPECT_THAT(of_model([](ModelSeen& m) { m.sha256 = std::string(64, 'G'); }),
              HasSubstr("digest of a model"));
  EXPECT_THAT(of_model([](ModelSeen& m) { m.bytes = ~0ULL; }), HasSubstr("a count"));
  EXPECT_THAT(of_model([](ModelSeen& m) { m.report = ~0ULL; }), HasSubstr("number of a report"));
}

TEST(AgentBounds, CutTheSentenceOfAnEnd) {
  const WorkerGone told{kWorker, Cause::missing, {}, 0, std::string(kEndMessageMax + 99, 'x'),
                        kTold};
  EXPECT_EQ(taken(told).message, std::string(kEndMessageMax, 'x'));
}

class AgentMayNotSay : public ::testing::TestWithParam<Cause> {};

TEST_P(AgentMayNotSay, WhatOnlyTheServerDecides) {
  EXPECT_THAT(of_end([](WorkerGone& g) { g.cause = GetParam(); }), HasSubstr("cause of an end"));
}
INSTANTIATE_TEST_SUITE_P(Causes, AgentMayNotSay,
                         ::testing::Values(Cause::preempted, Cause::resized, Cause::cancelled,
                                           Cause::gang_failed, Cause::requeue_asked,
                                           Cause::dependency_failed, Cause::crash_loop));

class AgentMaySay : public ::testing::TestWithParam<Cause> {};

TEST_P(AgentMaySay, HowItsWorkerEnded) {
  EXPECT_EQ(of_end([](WorkerGone& g) { g.cause = GetParam(); }), "");
}
INSTANTIATE_TEST_SUITE_P(Causes, AgentMaySay,
                         ::testing::Values(Cause::exited, Cause::signalled, Cause::out_of_memory,
                                           Cause::launch_failed, Cause::setup_failed,
                                           Cause::timed_out, Cause::node_lost, Cause::refused,
                                           Cause::missing));

// ---- what an agent believes of its server ----

template <class Message>
std::string of_server(const Message& message) {
  const auto read = decode_server_frame(encode(ServerFrame{Session{5}, 9, 4, 3, message}));
  return read ? "" : read.error().message;
}

TEST(AgentBounds, HoldTheServersWordToo) {
  EXPECT_THAT(of_server(StopWorker{kWorker, 0, {}}), HasSubstr("signal"));
  EXPECT_THAT(of_server(StopWorker{kWorker, 15, Duration::max()}), HasSubstr("span"));
  EXPECT_THAT(of_server(StopWorker{kWorker, 15, Duration{-1}}), HasSubstr("span"));
  EXPECT_THAT(of_server(LimitWorker{kWorker, {Duration::max(), 15, {}}}), HasSubstr("span"));
  EXPECT_THAT(of_server(EnrolWorker{kWorker, {Generation{4}, 4, 4}, {}}), HasSubstr("rank"));
  EXPECT_THAT(of_server(FenceJob{JobId{0}, Generation{1}}), HasSubstr("job"));
  EXPECT_THAT(of_server(ThawWorker{{JobId{1}, Generation{1}, -1}}), HasSubstr("process"));
  StartWorker start;
  start.worker.key = kWorker;
  start.worker.slots = {kNodeSlotsMax};
  EXPECT_THAT(of_server(start), HasSubstr("a slot"));
  start.worker.slots = {0};
  start.worker.peers = {{"gpu-1", "10.0.0.1", 0, "abc"}};
  EXPECT_THAT(of_server(start), HasSubstr("a port"));
  start.worker.peers.assign(kPeersMax + 1, {"gpu-1", "10.0.0.1", 20'008, "abc"});
  EXPECT_THAT(of_server(start), HasSubstr("the number of peers"));
  start.worker.peers.clear();
  start.worker.copy = CheckpointCopy{"gpu-1", "src/../../b.pt", "ship"};
  EXPECT_THAT(of_server(start), HasSubstr("leads out of its directory"));
  start.worker.copy->inside = "src/../b.pt";
  EXPECT_EQ(of_server(start), "");
  start.worker.rank = 1;
  EXPECT_THAT(of_server(start), HasSubstr("a rank"));
}

}  // namespace
}  // namespace paceline
