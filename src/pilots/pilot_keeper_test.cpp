#include "pilots/pilot_keeper.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/obedient_testing.hpp"
#include "policy/registry.hpp"
#include "store/memory/memory_store.hpp"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Workers start at once, and end when the test says so.
class PilotsEngine final : public testing::ObedientEngine {
 public:
  void left(std::string_view node) override { left_.emplace_back(node); }
  [[nodiscard]] const std::vector<std::string>& those_that_left() const { return left_; }

 protected:
  void end(const ProcessKey&, const Stop&) override {}

 private:
  std::vector<std::string> left_;
};

// Its wall clock is set as the test says.
class AClock final : public Clock {
 public:
  Time now() override { return now_; }
  WallTime wall() override { return WallTime{now_.time_since_epoch()} + ahead; }
  void advance(Duration span) { now_ += span; }

  Duration ahead{};

 private:
  Time now_ = time_from_us(1'763'636'100'000'000);
};

class PilotKeeperTest : public ::testing::Test {
 protected:
  PilotKeeperTest() {
    Controller::Options options;
    options.coalesce = {};
    options.coming = [this] { return keeper_ ? keeper_->coming() : ComingNodes{}; };
    controller_.emplace(store_, engine_, clock_, policies_, options);
    EXPECT_TRUE(controller_->recover());
    step_all();
    open();
  }

  // As a server that starts anew does.
  void open() {
    PilotKeeper::Ways ways{
        .book = book_,
        .cut = [this](std::string_view node) { cut_.emplace_back(node); },
        .count_off = [this](std::string_view node, std::string_view by) -> Result<void> {
          counted_off_.push_back(fmt::format("{}: {}", node, by));
          return {};
        },
        .make_token = [this]() -> PilotToken {
          ++tokens_;
          return {fmt::format("digest-{}", tokens_), fmt::format("plj_{}", tokens_)};
        },
        .server = "1f00ac23",
        .program = "/opt/paceline",
        .address = "login1:7443"};
    keeper_.emplace(clock_, *controller_, std::move(ways));
    keeper_->serve(settings_, false);
  }
  void step_all() {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(controller_->step());
  }
  void comes_up(const std::string& name, std::size_t slots) {
    NodeSpec node;
    node.name = name;
    node.address = "10.0.0.1";
    node.cpus = 64;
    node.slots.resize(slots);
    engine_.tell(NodeUp{NodeId{nodes_++}, node});
    step_all();
  }
  JobId submit(std::int32_t workers, std::int32_t slots_each = 1,
               std::optional<Duration> expected = {}) {
    JobSpec spec;
    spec.name = fmt::format("job-{}", ++jobs_);
    spec.uid = 1000;
    spec.user = "ann";
    spec.workers = {workers, workers, workers};
    spec.slots_per_worker = slots_each;
    spec.expected_duration = expected;
    JobId id;
    controller_->submit({spec, LaunchSpec{{"true"}, false, "", {}, "/", 022}, spec.name},
                        [&](const Result<JobId>& given) {
                          EXPECT_TRUE(given) << given.error().message;
                          id = given.value_or(JobId{});
                        });
    step_all();
    return id;
  }
  // A pilot that Slurm lists, whose agent joined and is up.
  Pilot brings(const PilotKeeper::Request& request, std::size_t slots) {
    const std::uint64_t job = 100 + *request.invitation;
    const auto name = pilot_node("n1", job);
    EXPECT_TRUE(
        book_.join(fmt::format("digest-{}", tokens_), {name, name, "key"}, controller_->wall()));
    comes_up(name, slots);
    return {.job = job,
            .invitation = *request.invitation,
            .state = PilotState::running,
            .slurm_state = "RUNNING",
            .host = "n1"};
  }
  PilotKeeper::Turn look(std::vector<Pilot> pilots) {
    auto turn = keeper_->take(std::move(pilots));
    step_all();
    return turn;
  }
  static Pilot cancelled(Pilot pilot) {
    pilot.state = PilotState::over;
    pilot.slurm_state = "CANCELLED";
    return pilot;
  }
  AClock clock_;
  MemoryStore store_;
  PilotsEngine engine_;
  PolicyRegistry policies_;
  std::optional<Controller> controller_;
  bool full_ = false;
  NodeBook book_{{}, [this](const NodeBook::Pages&) -> Result<void> {
                   if (full_) return fail(ErrorCode::storage, "The disk is full.");
                   return {};
                 }};
  PilotSettings settings_{.nodes_max = 1, .cpus = 2};
  std::optional<PilotKeeper> keeper_;
  std::vector<std::string> cut_, counted_off_;
  int tokens_ = 0, jobs_ = 0;
  std::uint32_t nodes_ = 0;
};

TEST_F(PilotKeeperTest, WhatWaitsIsAskedForByAnInvitation) {
  comes_up("box", 1);
  EXPECT_THAT(look({}).requests, IsEmpty());
  submit(2);
  const auto turn = look({});
  ASSERT_EQ(turn.requests.size(), 1U);
  EXPECT_EQ(turn.requests[0].name, pilot_name("1f00ac23", 1));
  EXPECT_THAT(turn.requests[0].script, HasSubstr("plj_1"));
  EXPECT_EQ(book_.invitations().at(1).uses_left, 1U);
  EXPECT_THAT(look({}).requests, IsEmpty()) << "it comes";
}

TEST_F(PilotKeeperTest, WhatAServerAskedForBeforeItDiedMayBeOnItsWay) {
  submit(2);
  ASSERT_EQ(look({}).requests.size(), 1U);
  clock_.advance(2 * kListedWithin);
  open();
  EXPECT_THAT(look({}).requests, IsEmpty()) << "however long it was away, by its clock";
  clock_.advance(kListedWithin + std::chrono::seconds{1});
  look({});
  look({});
  EXPECT_EQ(book_.invitations().count(2), 1U) << "it never came";
}

// Of seed 20061365: each list would make another one be asked for.
TEST_F(PilotKeeperTest, WhatWasAskedForComesThoughTheClockIsSetMeanwhile) {
  settings_.nodes_max = 2;
  open();
  submit(2);
  clock_.advance(2 * kListedWithin);
  const auto turn = look({});
  ASSERT_EQ(turn.requests.size(), 1U);
  clock_.ahead += std::chrono::hours{1};
  EXPECT_THAT(look({}).requests, IsEmpty());
  const Pilot pilot = brings(turn.requests[0], 2);
  clock_.ahead += std::chrono::hours{1};
  look({});
  EXPECT_TRUE(book_.known(pilot_node("n1", pilot.job), 1))
      << "an older list of Slurm's doesn't have it";
  EXPECT_EQ(book_.invitations().count(2), 0U);
}

TEST_F(PilotKeeperTest, MachinesThatJoinedCountBesideWhatPilotsBring) {
  comes_up("box", 2);
  comes_up("gpu-3", 2);
  const JobId job = submit(6);
  EXPECT_EQ(look({}).requests.size(), 1U);
  EXPECT_THAT(keeper_->why(controller_->state().job(job)), IsEmpty());
}

TEST_F(PilotKeeperTest, SlotsThatAreNoPieceForAJobDontKeepANodeAway) {
  comes_up("box", 3);
  comes_up("gpu-3", 3);
  submit(3, 2);
  EXPECT_EQ(look({}).requests.size(), 1U) << "two workers fit in six slots";
}

// Of seed 20000329: a server that dies before the journal has it finds in the book that its workers are gone.
TEST_F(PilotKeeperTest, ANodeWhosePilotEndedIsOffByTheBookBeforeItsWorkersCountAsEnded) {
  comes_up("box", 1);
  const JobId job = submit(2);
  const auto turn = look({});
  const Pilot pilot = brings(turn.requests.at(0), 2);
  ASSERT_TRUE(controller_->state().job(job).current);
  look({pilot});
  full_ = true;
  look({cancelled(pilot)});
  EXPECT_THAT(counted_off_, IsEmpty()) << "the book could not be written";
  full_ = false;
  look({cancelled(pilot)});
  const auto name = pilot_node("n1", pilot.job);
  const std::string by = "Slurm, which ended its pilot (job 101, CANCELLED),";
  EXPECT_THAT(cut_, ElementsAre(name));
  EXPECT_THAT(counted_off_, ElementsAre(name + ": " + by));
  EXPECT_THAT(engine_.those_that_left(), ElementsAre(name));
  EXPECT_FALSE(book_.known(name, 1));
  EXPECT_EQ(book_.nodes().at(name).off_by, by);
  EXPECT_FALSE(book_.invitations().contains(pilot.invitation));
  EXPECT_THAT(keeper_->why(controller_->state().job(job)),
              Contains(HasSubstr("Slurm ended its pilot")));
}

TEST_F(PilotKeeperTest, APilotThatNeverJoinedIsAProblemAndOneThatDidIsNone) {
  comes_up("box", 1);
  submit(2);
  const auto fails = [this](const PilotKeeper::Turn& turn) {
    const auto invitation = *turn.requests.at(0).invitation;
    return look({{.job = 100U + invitation,
                  .invitation = invitation,
                  .state = PilotState::over,
                  .slurm_state = "FAILED"}});
  };
  const auto next = fails(look({}));
  EXPECT_THAT(keeper_->problem(), HasSubstr("ended before it joined"));
  EXPECT_THAT(fails(next).requests, IsEmpty()) << "nothing is asked for a while";
  keeper_->begin_anew();
  const auto again = look({});
  const Pilot second = brings(again.requests.at(0), 2);
  ASSERT_TRUE(book_.remove(pilot_node("n1", second.job), controller_->wall()));
  look({cancelled(second)});
  EXPECT_EQ(keeper_->problem(), "") << "somebody removed its node";
}

// Slurm holds it back, and its token is used up.
TEST_F(PilotKeeperTest, ARequeuedPilotIsGivenBackAndAnotherAskedFor) {
  comes_up("box", 1);
  submit(2);
  Pilot pilot = brings(look({}).requests.at(0), 2);
  look({pilot});
  auto requeued = pilot;
  requeued.state = PilotState::pending;
  requeued.slurm_state = "PENDING";
  const auto turn = look({requeued});
  ASSERT_FALSE(turn.requests.empty());
  EXPECT_EQ(turn.requests.at(0).job, pilot.job);
  look({cancelled(pilot)});
  EXPECT_THAT(counted_off_, ElementsAre(HasSubstr("requeued")));
  EXPECT_EQ(keeper_->problem(), "");
}

// Its node may have joined since Slurm was asked.
TEST_F(PilotKeeperTest, AListThatIsOlderThanANodeGivesNothingBack) {
  comes_up("box", 1);
  submit(2);
  const auto request = look({}).requests.at(0);
  const Pilot waits{.job = 100 + *request.invitation,
                    .invitation = *request.invitation,
                    .state = PilotState::pending,
                    .slurm_state = "PENDING",
                    .host = ""};
  look({waits});
  brings(request, 2);
  EXPECT_THAT(look({waits}).requests, IsEmpty());
}

TEST_F(PilotKeeperTest, WhatOtherSettingsAskedForIsReplaced) {
  comes_up("box", 1);
  submit(2);
  const auto invitation = *look({}).requests.at(0).invitation;
  const Pilot waits{.job = 7, .invitation = invitation, .slurm_state = "PENDING"};
  EXPECT_THAT(look({waits}).requests, IsEmpty());
  settings_.time = std::chrono::hours{1};
  keeper_->serve(settings_, false, book_.next_invitation());
  const auto turn = look({waits});
  ASSERT_EQ(turn.requests.size(), 2U);
  EXPECT_EQ(turn.requests[0].job, 7U);
  EXPECT_GT(turn.requests[1].invitation, invitation);
  look({cancelled(waits)});
  EXPECT_EQ(keeper_->problem(), "");
}

TEST_F(PilotKeeperTest, AJobThatNeedsLongerThanNodesLastIsAskedForNoneUntilItSaves) {
  settings_.time = std::chrono::hours{2};
  open();
  const JobId job = submit(2, 1, std::chrono::hours{3});
  EXPECT_THAT(look({}).requests, IsEmpty());
  EXPECT_THAT(
      keeper_->why(controller_->state().job(job)),
      ElementsAre(AllOf(HasSubstr("about 3 h"), HasSubstr("within 105 min"), HasSubstr("--time"))));
  settings_.time = std::chrono::hours{4};
  open();
  EXPECT_EQ(look({}).requests.size(), 1U);
  EXPECT_THAT(keeper_->why(controller_->state().job(job)), IsEmpty());
}

TEST_F(PilotKeeperTest, APilotsLimitIsAnnouncedAsOne) {
  submit(2);
  Pilot pilot = brings(look({}).requests.at(0), 2);
  pilot.time_left = std::chrono::hours{1};
  look({pilot});
  const Node& node = *controller_->state().find_node(pilot_node("n1", pilot.job));
  ASSERT_TRUE(node.drain);
  EXPECT_FALSE(node.drains());
  EXPECT_TRUE(node.drain->order.limit);
}

TEST_F(PilotKeeperTest, WhatSlurmDoesNotAnswerIsToldAndChangesNothing) {
  comes_up("box", 1);
  submit(2);
  const auto turn =
      keeper_->take(fail(ErrorCode::unavailable, "Slurm does not answer.", {}, Retry::may_help));
  EXPECT_THAT(turn.requests, IsEmpty());
  EXPECT_EQ(keeper_->problem(), "Slurm does not answer.");
  EXPECT_THAT(book_.invitations(), IsEmpty());
  look({});
  EXPECT_EQ(keeper_->problem(), "");
}

TEST_F(PilotKeeperTest, ARefusedPilotIsInvitedNoMore) {
  comes_up("box", 1);
  submit(2);
  const auto turn = look({});
  keeper_->hear({{*turn.requests.at(0).invitation,
                  Error{ErrorCode::conflict, "No such partition.", {}, Retry::useless}}});
  EXPECT_THAT(book_.invitations(), IsEmpty());
  EXPECT_EQ(keeper_->problem(), "No such partition.");
}

TEST_F(PilotKeeperTest, SlurmIsLeftOnceNothingOfItIsThere) {
  keeper_->serve(settings_, true);
  EXPECT_TRUE(look({}).left);
  const Pilot there{.job = 7, .invitation = 3, .slurm_state = "PENDING"};
  const auto turn = look({there});
  EXPECT_FALSE(turn.left);
  ASSERT_EQ(turn.requests.size(), 1U);
  EXPECT_EQ(turn.requests[0].job, 7U) << "it is given back";
}

}  // namespace
}  // namespace paceline
