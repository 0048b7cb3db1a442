#include "faults/copy_watch.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "plan/apply.hpp"

namespace paceline::faults {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ProcessKey kWriter{JobId{1}, Generation{1}, 0};

class CopyWatchTest : public ::testing::Test {
 protected:
  CopyWatchTest() {
    for (const char* name : {"a", "b"}) {
      NodeSpec spec;
      spec.name = name;
      apply(state, {state.seq() + 1, {}, Event(NodeUp{NodeId{nodes++}, spec})});
    }
  }

  // Its newest checkpoint was written on "a".
  static Job job(const std::string& ship) {
    Job job;
    job.id = JobId{1};
    job.checkpoint = Checkpoint{"/c", {}, {}, {}, CheckpointPlace{"a", "", kWriter, 1, ship, ""}};
    return job;
  }
  void plan_start(const std::string& ship, std::vector<Seat> seats) {
    Change change;
    change.kind = ChangeKind::start;
    change.job = JobId{1};
    change.generation = Generation{2};
    change.placement = std::move(seats);
    watch.planned(state, job(ship), change);
  }
  void launch(const std::string& node, const std::string& ship, bool joins = false) {
    WorkerLaunch launched;
    launched.key = {JobId{1}, Generation{2}, 0};
    if (!ship.empty()) launched.copy = CheckpointCopy{"a", "c", ship};
    if (joins) launched.joins.emplace();
    watch.launched(node, launched);
  }
  void keep(const std::string& ship, Keeping keeping = Keeping::kept) {
    watch.kept({JobId{1}, *job(ship).checkpoint, keeping});
  }

  State state;
  std::uint32_t nodes = 0;
  std::vector<std::string> wrong;
  CopyWatch watch{[this](std::string what) { wrong.push_back(std::move(what)); }};
};

TEST_F(CopyWatchTest, SaysNothingOfStartsWhereTheCheckpointIs) {
  plan_start("", {{NodeId{0}, {0}}});
  launch("a", "");
  keep("x");
  plan_start("x", {{NodeId{0}, {0}}, {NodeId{1}, {0}}});
  launch("a", "x");
  launch("b", "x");
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(CopyWatchTest, SaysNothingOfAWorkerThatStartsOnceItsGangHasSaved) {
  keep("x");
  plan_start("x", {{NodeId{0}, {0}}, {NodeId{1}, {0}}});
  watch.saved({JobId{1}, Generation{1}, *job("").checkpoint});
  launch("b", "");
  EXPECT_EQ(wrong.size(), 1U) << "the gang before it said so";
  watch.saved({JobId{1}, Generation{2}, *job("").checkpoint});
  launch("b", "");
  EXPECT_EQ(wrong.size(), 1U);
}

TEST_F(CopyWatchTest, FindsAPlanThatStartsAJobElsewhere) {
  plan_start("", {{NodeId{0}, {0}}, {NodeId{1}, {0}}});
  EXPECT_THAT(wrong,
              ElementsAre("job 1 is to start on b, and its newest checkpoint is on a alone"));
}

TEST_F(CopyWatchTest, FindsAStartThatIsToldOfNoCopy) {
  keep("x");
  plan_start("x", {{NodeId{1}, {0}}});
  launch("b", "", true);
  EXPECT_THAT(wrong, IsEmpty()) << "it has its state from the others";
  launch("b", "");
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("starts on b, and is told of no copy")));
}

TEST_F(CopyWatchTest, FindsACopyThatNobodySent) {
  keep("x", Keeping::lost);
  launch("b", "x");
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("a copy of its checkpoint that nobody sent")));
}

}  // namespace
}  // namespace paceline::faults
