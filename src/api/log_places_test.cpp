// Whose logs a node may send, and where the output of workers is that run elsewhere.
#include "api/log_places.hpp"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/local_output.hpp"
#include "api/node_output.hpp"
#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
#include "files/temp_folder_testing.hpp"
#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Names = LogPlaces::Names;

// A server with a machine of its own and one more node, three slots each.
class LogPlacesTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }

  void restart() {
    places_.reset();
    Controller::Options options;
    options.policy = "fifo";
    options.coalesce = {};
    controller_.emplace(store_, engine_, clock_, policies_, options);
    ASSERT_TRUE(controller_->recover().has_value());
    for (const auto& [id, name] : {std::pair(0U, "box"), std::pair(1U, "gpu-3")}) {
      NodeSpec node;
      node.name = name;
      node.slots.resize(3);
      engine_.tell(NodeUp{NodeId{id}, node});
    }
    step();
    places_.emplace(*controller_, folder_.path(), "box");
  }
  void step() {
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(controller_->step().has_value());
      clock_.advance(100ms);
    }
  }
  // A job that runs.
  JobId run(std::string_view literal) {
    JobId id;
    Submission submission{testing::job(literal), {}, {}};
    submission.spec.uid = 1234;
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller_->submit(std::move(submission),
                        [&](Result<JobId> told) { id = told.value_or(JobId{}); });
    step();
    return id;
  }
  void end(JobId id) {
    const Gang gang = *job(id).current;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank)
      engine_.tell(WorkerEnded{{id, gang.generation, rank}, testing::ending("0")});
    step();
  }
  [[nodiscard]] const Job& job(JobId id) const { return controller_->state().job(id); }
  // A rank of the job on that node.
  [[nodiscard]] std::int32_t rank_on(JobId id, std::string_view node) const {
    const auto& workers = job(id).current->workers;
    for (std::size_t rank = 0; rank < workers.size(); ++rank)
      if (controller_->state().find_node(workers[rank].seat.node)->spec.name == node)
        return static_cast<std::int32_t>(rank);
    ADD_FAILURE() << "no worker on " << node;
    return 0;
  }

  TempFolder folder_;
  MemoryStore store_;
  testing::ObedientEngine engine_;
  ManualClock clock_{time_from_us(1'763'636'100'000'000)};
  PolicyRegistry policies_;
  std::optional<Controller> controller_;
  std::optional<LogPlaces> places_;
};

TEST_F(LogPlacesTest, ANodeSendsTheLogsOfJobsThatWerePlacedThere) {
  const JobId id = run("4..4");
  EXPECT_EQ(places_->nodes(id), (Names{"gpu-3"}));
  const LogName far{id, rank_on(id, "gpu-3")}, near{id, rank_on(id, "box")};
  EXPECT_EQ(places_->right("gpu-3", far).state, LogState::taken);
  EXPECT_EQ(places_->right("gpu-3", far).uid, 1234U);
  EXPECT_FALSE(places_->right("gpu-3", far).over);
  EXPECT_EQ(places_->right("gpu-3", near).state, LogState::later) << "the box writes it now";
  EXPECT_EQ(places_->right("gpu-3", {id, timeline_of(far.number)}).state, LogState::taken);
  EXPECT_EQ(places_->right("gpu-3", {id, timeline_of(near.number)}).state, LogState::later);
  EXPECT_EQ(places_->right("gpu-4", far).state, LogState::unwanted);
  EXPECT_EQ(places_->right("gpu-3", {JobId{99}, 0}).state, LogState::unwanted);
  end(id);
  EXPECT_EQ(places_->right("gpu-3", near).state, LogState::taken);
  EXPECT_TRUE(places_->right("gpu-3", far).over);
  EXPECT_EQ(places_->right("gpu-4", far).state, LogState::unwanted);
}

TEST_F(LogPlacesTest, AreKnownAfterARestartAndOnceTheJobIsOver) {
  const JobId one = run("4..4"), two = run("1..1");
  end(one);
  restart();
  EXPECT_EQ(places_->nodes(one), (Names{"gpu-3"}));
  EXPECT_EQ(places_->right("gpu-3", {one, 0}).state, LogState::taken);
  const Names second = places_->nodes(two);
  restart();
  EXPECT_EQ(places_->nodes(two), second);
  std::filesystem::remove_all(folder_.path() / "logs");
  EXPECT_EQ(places_->right("gpu-3", {one, 0}).state, LogState::unwanted) << "they were removed";
}

TEST_F(LogPlacesTest, TellWhereAProcessRuns) {
  const JobId id = run("4..4");
  const auto generation = job(id).current->generation;
  EXPECT_EQ(places_->node_of({id, generation, rank_on(id, "gpu-3")}), "gpu-3");
  EXPECT_EQ(places_->node_of({id, generation, rank_on(id, "box")}), "box");
  EXPECT_EQ(places_->node_of({id, generation, 99}), std::nullopt);
  EXPECT_EQ(places_->node_of({JobId{99}, generation, 0}), std::nullopt);
}

// ---- the output that stands on them ----

class NodeOutputTest : public LogPlacesTest {
 protected:
  void SetUp() override {
    LogPlacesTest::SetUp();
    door_.emplace(io_, BytesDoor::Options{.intake = {.directory = folder_.path()},
                                          .right =
                                              [this](std::string_view node, const LogName& log) {
                                                return places_->right(node, log);
                                              },
                                          .wall = [this] { return clock_.wall(); }});
    output_ = std::make_shared<NodeOutput>(io_, std::make_shared<LocalOutput>(io_, folder_.path()),
                                           *places_, *door_);
  }
  // Of the node 'gpu-3'.
  std::shared_ptr<ServerStream> dial() {
    auto stream = door_->open({.id = "gpu-3"});
    stream->say_at_once(encode(BytesHello{kBytesVersion, "a1", clock_.wall()}));
    run_until_quiet();
    return stream;
  }
  void run_until_quiet() {
    io_.restart();
    while (io_.poll() > 0) {
    }
  }
  std::string refusal(const ProcessKey& worker) {
    std::string said;
    output_->attach(worker, [&](auto told) { said = told.error().message; });
    run_until_quiet();
    return said;
  }

  boost::asio::io_context io_;
  std::optional<BytesDoor> door_;
  std::shared_ptr<NodeOutput> output_;
};

TEST_F(NodeOutputTest, WhatANodeSendsIsReadAsIfItHadBeenWrittenHere) {
  const JobId id = run("4..4");
  const LogName log{id, rank_on(id, "gpu-3")};
  const auto stream = dial();
  stream->say_at_once(encode(LogAsked{log}));
  stream->say_at_once(encode(PieceHead{log, 0, 0, 4, clock_.wall(), false}) + "one\n");
  run_until_quiet();
  std::vector<LogChunk> read;
  output_->read({.job = id, .from = {{log.number, 0}}, .bytes_max = 100},
                [&](auto told) { read = std::move(told.value()); });
  run_until_quiet();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].text, "one\n");
  EXPECT_EQ(read[0].at, clock_.wall());
}

TEST_F(NodeOutputTest, GathersWhatNodesStillHave) {
  const JobId id = run("4..4");
  int gathered = 0;
  const auto gather = [&](std::chrono::milliseconds within) {
    output_->gather(id, within, [&] { ++gathered; });
    run_until_quiet();
  };
  const auto stream = dial();
  gather(10s);
  EXPECT_EQ(gathered, 0);
  stream->say_at_once(encode(LogsWhole{id}));
  run_until_quiet();
  EXPECT_EQ(gathered, 1);
  gather(0s);
  while (gathered < 2) io_.run_one();
  output_->gather(JobId{99}, 10s, [&] { ++gathered; });
  EXPECT_EQ(gathered, 3) << "no node has anything of it";
}

TEST_F(NodeOutputTest, AwaitsANodeThatIsUpAndDialsInAnew) {
  const JobId id = run("4..4");
  int gathered = 0;
  output_->gather(id, 1h, [&] { ++gathered; });
  dial()->close();
  io_.restart();
  io_.run_for(200ms);
  EXPECT_EQ(gathered, 0) << "cut off";
  const auto stream = dial();
  io_.run_for(200ms);
  EXPECT_EQ(gathered, 0) << "the rest is on its way";
  stream->say_at_once(encode(LogsWhole{id}));
  run_until_quiet();
  EXPECT_EQ(gathered, 1);
}

TEST_F(NodeOutputTest, AwaitsNobodyWhoIsDown) {
  const JobId id = run("4..4");
  int gathered = 0;
  output_->gather(id, 1h, [&] { ++gathered; });
  EXPECT_EQ(gathered, 0);
  engine_.tell(NodeDown{NodeId{1}});
  step();
  io_.restart();
  while (gathered == 0) io_.run_one();
}

TEST_F(NodeOutputTest, LooksForATerminalWhereItsWorkerRuns) {
  const JobId id = run("4..4");
  const auto generation = job(id).current->generation;
  EXPECT_THAT(refusal({id, generation, rank_on(id, "gpu-3")}), HasSubstr("'gpu-3'"));
  EXPECT_THAT(refusal({id, generation, rank_on(id, "box")}), ::testing::Not(HasSubstr("'gpu-3'")));
}

}  // namespace
}  // namespace paceline
