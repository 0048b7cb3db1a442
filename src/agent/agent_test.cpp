#include "agent/agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/host_testing.hpp"

namespace paceline::agent {
namespace {

using std::chrono::seconds;

const ProcessKey kKey{JobId{7}, Generation{3}, 0};
const ProcessKey kOther{JobId{8}, Generation{1}, 0};

// A server's end made by hand: numbers its messages, keeps what came.
class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override { restart_agent(); }

  void restart_agent() {
    agent = std::make_unique<Agent>(host);
    agent->on_send([this](AgentFrame frame) { frames.push_back(std::move(frame)); });
    agent->start();
  }
  void connect() {
    session.value += 1;
    number = taken = 0;
    agent->connected(session);
    step();
  }
  void say(ServerMessage message) {
    agent->receive({session, ++number, taken, 0, std::move(message)});
    step();
  }
  // Everything told so far was taken, and is durable up to `durable`.
  void answer(std::uint64_t durable) {
    agent->receive({session, 0, taken, durable, {}});
    step();
  }
  void step(Duration later = {}) {
    now += later;
    agent->step(now);
    for (const auto& frame : frames) {
      if (frame.session == session && frame.message && frame.number == taken + 1) {
        ++taken;
        told.push_back(*frame.message);
      }
    }
    frames.clear();
  }
  void start(const ProcessKey& key) {
    WorkerLaunch worker;
    worker.key = key;
    worker.slots = {1};
    say(StartWorker{worker});
  }
  void start_running(const ProcessKey& key) {
    start(key);
    host.runs(key, 4711);
    step();
  }
  void stop(Duration grace) { say(StopWorker{kKey, 15, grace}); }
  WorkerGone gone(const ProcessKey& key) { return {key, Cause::exited, 0, 0, "", now}; }

  template <class Kind>
  std::vector<Kind> told_of() const {
    std::vector<Kind> found;
    for (const auto& message : told) {
      if (const auto* kind = std::get_if<Kind>(&message)) found.push_back(*kind);
    }
    return found;
  }

  NotingHost host;
  std::unique_ptr<Agent> agent;
  std::vector<AgentFrame> frames;
  std::vector<AgentMessage> told;
  Session session;
  std::uint64_t number = 0, taken = 0;
  Time now = time_from_us(1'000'000'000);
};

TEST_F(AgentTest, GreetsWithItsNodeAndClaims) {
  connect();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(std::get<Hello>(told[0]), (Hello{host.node, "boot-1", {}}));
}

TEST_F(AgentTest, StartsAWorkerAndTellsItsLife) {
  connect();
  start_running(kKey);
  host.gone(gone(kKey));
  step();
  EXPECT_EQ(host.count<Start>(), 1U);
  EXPECT_EQ(told_of<WorkerRuns>(), (std::vector<WorkerRuns>{{kKey, 4711}}));
  EXPECT_EQ(told_of<WorkerGone>(), (std::vector<WorkerGone>{gone(kKey)}));
}

TEST_F(AgentTest, StartsNothingThatHasAClaim) {
  connect();
  start(kKey);
  start(kKey);
  restart_agent();
  connect();
  start(kKey);
  EXPECT_EQ(host.count<Start>(), 1U);
}

TEST_F(AgentTest, HandsOnWhereAProcessStandsNow) {
  connect();
  start_running(kKey);
  const Membership membership{Generation{4}, 2, 3};
  const GangPlace place{1, 2, 0, 2, "10.0.0.7", 24'000};
  say(EnrolWorker{kKey, membership, place});
  say(EnrolWorker{kOther, membership, place});
  ASSERT_EQ(host.count<SetMembership>(), 1U) << "of one that lives";
  const auto& set = std::get<SetMembership>(host.actions.back());
  EXPECT_EQ(set.key, kKey);
  EXPECT_EQ(set.membership, membership);
  EXPECT_EQ(set.place, place);
  restart_agent();
  connect();
  EXPECT_EQ(std::get<Hello>(told.back()).claims.at(0).key, kKey) << "its name stays";
}

TEST_F(AgentTest, TellsOneThatLeavesItsGangAndKillsItAfterItsGrace) {
  connect();
  start_running(kKey);
  say(LeaveGang{kKey, Generation{2}, std::chrono::seconds{10}});
  const auto& dismissed = std::get<Dismiss>(host.actions.back());
  EXPECT_EQ(dismissed.key, kKey);
  EXPECT_EQ(dismissed.generation, Generation{2});
  EXPECT_EQ(host.count<GiveNotice>(), 0U) << "a notice would be for all of its gang";
  EXPECT_EQ(host.count<Kill>(), 0U);
  step(std::chrono::seconds{11});
  EXPECT_EQ(host.count<Kill>(), 1U);
}

TEST_F(AgentTest, TellsWhatAWorkerSaysOfItsGangAndSaysItAgainInEachSession) {
  connect();
  start_running(kKey);
  const WorkerPlaced placed{kKey, Generation{3}, Generation{2}};
  host.tell(placed);
  step();
  EXPECT_THAT(told, ::testing::Contains(::testing::VariantWith<WorkerPlaced>(placed)));
  connect();
  const Claim& claim = std::get<Hello>(told.back()).claims.at(0);
  EXPECT_EQ(claim.ready, Generation{3});
  EXPECT_EQ(claim.stands, Generation{2});
}

TEST_F(AgentTest, RenewsLeasesWhileItIsConnected) {
  const Duration lease = std::chrono::minutes{15}, apart = lease / kRenewalsOfLease;
  host.node.lease = lease;
  step();
  EXPECT_EQ(host.count<RenewLeases>(), 0U);
  connect();
  answer(taken);
  ASSERT_EQ(host.count<RenewLeases>(), 1U);
  EXPECT_EQ(std::get<RenewLeases>(host.actions.back()).lease, lease);
  ASSERT_TRUE(agent->next_due());
  EXPECT_EQ(*agent->next_due(), now + apart);
  step(apart);
  step(apart);
  EXPECT_EQ(host.count<RenewLeases>(), 3U);
  agent->disconnected();
  step(apart);
  EXPECT_EQ(agent->next_due(), std::nullopt);
  EXPECT_EQ(host.count<RenewLeases>(), 3U);
  connect();
  answer(taken);
  EXPECT_EQ(host.count<RenewLeases>(), 4U);
}

TEST_F(AgentTest, RenewsNoLeaseInASessionWhoseGreetingIsNotTaken) {
  host.node.lease = std::chrono::minutes{15};
  for (int i = 0; i < 3; ++i) {
    connect();
    taken = 0;
    answer(0);
    step(std::chrono::minutes{10});
    agent->disconnected();
    step();
  }
  EXPECT_EQ(host.count<RenewLeases>(), 0U);
  connect();
  answer(taken);
  EXPECT_EQ(host.count<RenewLeases>(), 1U);
  connect();
  step(std::chrono::minutes{10});
  EXPECT_EQ(host.count<RenewLeases>(), 1U) << "a session in place of another begins anew";
}

TEST_F(AgentTest, OfAMachineWithoutLeasesRenewsNone) {
  connect();
  step(std::chrono::hours{1});
  EXPECT_EQ(host.count<RenewLeases>(), 0U);
}

TEST_F(AgentTest, DropsFramesOfAnotherSession) {
  connect();
  WorkerLaunch worker;
  worker.key = kKey;
  const ServerFrame old{session, 1, 1, 0, StartWorker{worker}};
  connect();
  agent->receive(old);
  step();
  EXPECT_EQ(host.count<Start>(), 0U);
}

TEST_F(AgentTest, GivesNoticeAndKillsAfterTheGrace) {
  connect();
  start_running(kKey);
  stop(seconds{30});
  EXPECT_EQ(host.count<GiveNotice>(), 1U);
  EXPECT_EQ(*agent->next_due() <= now + seconds{30}, true);
  step(seconds{29});
  EXPECT_EQ(host.count<Kill>(), 0U);
  step(seconds{1});
  EXPECT_EQ(host.count<Kill>(), 1U);
}

TEST_F(AgentTest, AShorterGraceCountsALongerOneDoesNot) {
  connect();
  start_running(kKey);
  stop(seconds{30});
  stop(seconds{5});
  stop(seconds{60});
  EXPECT_EQ(host.count<GiveNotice>(), 1U);
  step(seconds{5});
  EXPECT_EQ(host.count<Kill>(), 1U);
}

TEST_F(AgentTest, KillsAgainUntilNothingIsLeft) {
  connect();
  start_running(kKey);
  stop(seconds{0});
  step(kKillAgainFirst);
  step(2 * kKillAgainFirst);
  EXPECT_EQ(host.count<GiveNotice>(), 0U);
  EXPECT_EQ(host.count<Kill>(), 3U);
  host.gone({kKey, Cause::signalled, {}, 9, "", now});
  step();
  step(std::chrono::hours{1});
  EXPECT_EQ(host.count<Kill>(), 3U);
}

TEST_F(AgentTest, KillsAtOnceWhatDoesNotRunYet) {
  connect();
  start(kKey);
  stop(seconds{30});
  EXPECT_EQ(host.count<GiveNotice>(), 0U);
  EXPECT_EQ(host.count<Kill>(), 1U);
}

TEST_F(AgentTest, ARepeatedStopGoesOnAfterARestartWithoutASecondNotice) {
  connect();
  start_running(kKey);
  stop(seconds{30});
  restart_agent();
  connect();
  stop(seconds{10});
  EXPECT_EQ(host.count<GiveNotice>(), 1U);
  step(seconds{10});
  EXPECT_EQ(host.count<Kill>(), 1U);
}

TEST_F(AgentTest, TellsTheScriptThatItShouldStopBeforeTheNotice) {
  connect();
  start_running(kKey);
  stop(seconds{30});
  const auto& told_script = std::get<SetShouldStop>(host.actions[1]);
  EXPECT_EQ(told_script.reason, "notice");
  EXPECT_TRUE(std::holds_alternative<GiveNotice>(host.actions[2]));
}

TEST_F(AgentTest, AFenceKillsEveryOlderGenerationAndRefusesItsStarts) {
  connect();
  start_running(kKey);
  start_running(kOther);
  say(FenceJob{kKey.job, kKey.born});
  EXPECT_EQ(host.count<Kill>(), 1U);
  start({kKey.job, Generation{2}, 5});
  EXPECT_EQ(host.count<Start>(), 2U);
  EXPECT_EQ(told_of<WorkerGone>().back().cause, Cause::node_lost);
  start({kKey.job, Generation{4}, 0});
  EXPECT_EQ(host.count<Start>(), 3U);
}

// ---- a machine that lacks something ----

class RefusingAgentTest : public AgentTest {
 protected:
  static ProcessKey key(std::uint32_t job) { return {JobId{job}, Generation{1}, 0}; }
  // A start that the host tries and gives up.
  void be_refused(std::uint32_t job) {
    start(key(job));
    host.gone({key(job), Cause::refused, {}, 0, "no space is left", now});
    step();
  }
  // How long it is held back from now on; none: it isn't.
  std::optional<Duration> refused_for() {
    const auto changed = told_of<NodeChanged>();
    const auto refusal = changed.empty() ? std::nullopt : changed.back().node.refusal;
    return refusal ? std::optional(refusal->until - now) : std::nullopt;
  }
};

TEST_F(RefusingAgentTest, SaysThatItStartsNothingBeforeItTellsTheEnd) {
  connect();
  be_refused(1);
  ASSERT_EQ(told.size(), 3U);
  const auto& node = std::get<NodeChanged>(told[1]).node;
  EXPECT_EQ(node.refusal, (Refusal{"no space is left", now + kRefusalFirst}));
  EXPECT_EQ(std::get<WorkerGone>(told[2]).cause, Cause::refused);
}

TEST_F(RefusingAgentTest, CutsALongReasonInsideNoCharacter) {
  connect();
  start(key(1));
  const std::string most(kRefusalWhyMax - 1, 'x');
  host.gone({key(1), Cause::refused, {}, 0, most + "ü", now});
  step();
  EXPECT_EQ(told_of<NodeChanged>().back().node.refusal->why, most);
}

TEST_F(RefusingAgentTest, RefusesByItselfUntilItsTimeIsOver) {
  connect();
  be_refused(1);
  start(key(2));
  EXPECT_EQ(host.count<Start>(), 1U);
  EXPECT_EQ(told_of<WorkerGone>().back(),
            (WorkerGone{key(2), Cause::refused, {}, 0, "no space is left", now}));
  EXPECT_EQ(refused_for(), kRefusalFirst) << "a refusal of its own makes none longer";
  EXPECT_EQ(agent->next_due(), now + kRefusalFirst);
  step(kRefusalFirst);
  EXPECT_EQ(refused_for(), std::nullopt);
  start(key(3));
  EXPECT_EQ(host.count<Start>(), 2U);
}

TEST_F(RefusingAgentTest, AnUnhealthyMachineStartsNothingAndSaysSoAtOnce) {
  connect();
  host.node.refusal = Refusal{"its check failed", now, true};
  agent->devices_changed();
  step();
  EXPECT_EQ(told_of<NodeChanged>().back().node.refusal, host.node.refusal);
  start(key(1));
  EXPECT_EQ(host.count<Start>(), 0U);
  EXPECT_EQ(told_of<WorkerGone>().back(),
            (WorkerGone{key(1), Cause::refused, {}, 0, "its check failed", now}));
  host.node.refusal.reset();
  agent->devices_changed();
  step(kRefusalFirst);
  EXPECT_FALSE(told_of<NodeChanged>().back().node.refusal);
  start(key(2));
  EXPECT_EQ(host.count<Start>(), 1U);
}

TEST_F(RefusingAgentTest, AStartThatIsRefusedAloneHoldsNothingBack) {
  connect();
  start(key(1));
  host.gone({key(1), Cause::refused, {}, 0, "port 20000 is taken", now, true});
  step();
  EXPECT_EQ(told_of<WorkerGone>().back().cause, Cause::refused);
  EXPECT_EQ(refused_for(), std::nullopt);
  start(key(2));
  EXPECT_EQ(host.count<Start>(), 2U);
}

// Otherwise the server would start it again, and hear of an end that is none.
TEST_F(RefusingAgentTest, NamesWhatItRefusedToALaterServerUntilThatKnows) {
  connect();
  be_refused(1);
  start(key(2));
  connect();
  const auto hello = told_of<Hello>().back();
  EXPECT_EQ(hello.node.refusal, (Refusal{"no space is left", now + kRefusalFirst}));
  EXPECT_EQ(hello.claims.size(), 2U);
  say(DiscardWorker{key(1)});
  say(DiscardWorker{key(2)});
  EXPECT_EQ(agent->claims(), 0U);
}

TEST_F(RefusingAgentTest, RefusesTwiceAsLongEachTimeUpToABound) {
  connect();
  std::vector<Duration> spans;
  for (std::uint32_t job = 1; job <= 11; ++job) {
    be_refused(job);
    spans.push_back(refused_for().value());
    step(spans.back());
  }
  EXPECT_EQ(spans[0], kRefusalFirst);
  EXPECT_EQ(spans[1], 2 * kRefusalFirst);
  EXPECT_EQ(spans[5], 32 * kRefusalFirst);
  EXPECT_EQ(spans[10], kRefusalMax);
}

TEST_F(RefusingAgentTest, BeginsAnewOnceAWorkerHasComeUp) {
  connect();
  start(key(9));
  be_refused(1);
  step(refused_for().value());
  host.runs(key(9), 4711);  // it was started before
  step();
  be_refused(2);
  EXPECT_EQ(refused_for(), 2 * kRefusalFirst);
  step(refused_for().value());
  start_running(key(3));
  be_refused(4);
  EXPECT_EQ(refused_for(), kRefusalFirst);
}

TEST_F(AgentTest, DiscardsOnlyWhatEnded) {
  connect();
  start_running(kKey);
  say(DiscardWorker{kKey});
  EXPECT_EQ(host.count<Discard>(), 0U);
  host.gone(gone(kKey));
  say(DiscardWorker{kKey});
  EXPECT_EQ(host.count<Discard>(), 1U);
  EXPECT_EQ(agent->claims(), 0U);
}

TEST_F(AgentTest, FreezesThawsAndTellsTheScript) {
  connect();
  start_running(kKey);
  say(FreezeWorker{kKey});
  say(ThawWorker{kKey});
  say(ShouldStop{kKey, "target_reached"});
  say(LimitWorker{kKey, {Duration{5}, 15, Duration{7}}});
  EXPECT_EQ(host.count<Freeze>() + host.count<Thaw>() + host.count<SetShouldStop>(), 3U);
  EXPECT_EQ(std::get<SetLimit>(host.actions.back()).limit,
            (RunLimit{Duration{5}, 15, Duration{7}}));
}

TEST_F(AgentTest, TellsWhatWasNotDurableAgainInTheNextSessionInOrder) {
  connect();
  start_running(kKey);
  host.tell(WorkerReport{kKey, 1, now, 10, {}, {}, {}, {}, {}, {}, {}, {}});
  host.tell(CheckpointSeen{kKey, 2, now, "/a", {}, {}});
  host.tell(WorkerWarning{kKey, Warning::no_rendezvous, true});
  host.tell(ModelSeen{kKey, 3, now, "/m", "", {}, {}, {}});
  host.gone(gone(kKey));
  step();
  answer(2);  // the greeting and that it runs
  told.clear();
  connect();
  ASSERT_EQ(told.size(), 6U);
  EXPECT_EQ(std::get<Hello>(told[0]).claims, (std::vector<Claim>{{kKey, 4711, {}, false, {1}}}));
  EXPECT_TRUE(std::holds_alternative<WorkerReport>(told[1]));
  EXPECT_TRUE(std::holds_alternative<CheckpointSeen>(told[2]));
  EXPECT_TRUE(std::holds_alternative<WorkerWarning>(told[3]));
  EXPECT_TRUE(std::holds_alternative<ModelSeen>(told[4]));
  EXPECT_TRUE(std::holds_alternative<WorkerGone>(told[5]));
}

TEST_F(AgentTest, TellsEveryEndAgainInEachSessionUntilItIsDiscarded) {
  connect();
  start_running(kKey);
  host.gone(gone(kKey));
  step();
  answer(taken);
  restart_agent();
  told.clear();
  connect();
  EXPECT_EQ(told_of<WorkerGone>().size(), 1U);
  answer(taken);
  told.clear();
  connect();
  EXPECT_EQ(told_of<WorkerGone>().size(), 1U);
}

TEST_F(AgentTest, SendsAgainWhatNobodyTook) {
  agent->connected(session = Session{1});
  agent->step(now);  // the greeting is lost
  frames.clear();
  step(kResendFirst);
  EXPECT_EQ(told_of<Hello>().size(), 1U);
}

TEST_F(AgentTest, GoesOnWithoutAConnection) {
  connect();
  start_running(kKey);
  stop(seconds{30});
  agent->disconnected();
  step(seconds{30});
  EXPECT_EQ(host.count<Kill>(), 1U);
  host.gone(gone(kKey));
  step();
  connect();
  EXPECT_EQ(told_of<WorkerGone>().size(), 1U);
}

TEST_F(AgentTest, KeepsEveryReportWhileNobodyListensAndTellsTheHostWhichAreStored) {
  connect();
  start_running(kKey);
  agent->disconnected();
  for (std::uint64_t i = 1; i <= kUnstoredMax; ++i) {
    host.tell(WorkerReport{kKey, i, now, i, {}, {}, {}, {}, {}, {}, {}, {}});
  }
  host.tell(CheckpointSeen{kKey, kUnstoredMax + 1, now, "/a", {}, {}});
  host.gone(gone(kKey));
  step();
  told.clear();
  connect();
  while (told_of<WorkerGone>().empty()) answer(0);
  ASSERT_EQ(told_of<WorkerReport>().size(), kUnstoredMax);
  EXPECT_EQ(told_of<CheckpointSeen>().size(), 1U);
  EXPECT_TRUE(host.stored_reports.empty());
  answer(taken - 2);
  EXPECT_EQ(host.stored_reports.size(), kUnstoredMax);
  answer(taken);
  EXPECT_EQ(host.stored_reports.back(), std::pair(kKey, std::uint64_t{kUnstoredMax + 1}));
}

TEST_F(AgentTest, TellsOfChangedDevices) {
  connect();
  host.node.slots.resize(2);
  for (int i = 0; i < 2; ++i) {
    agent->devices_changed();
    step();
  }
  EXPECT_EQ(told_of<NodeChanged>(), (std::vector<NodeChanged>{{host.node}}));
}

TEST_F(AgentTest, WakesWhoeverDrivesIt) {
  int woken = 0;
  agent->on_wake([&] { ++woken; });
  host.tell(WorkerReport{kKey, 1, now, 1, {}, {}, {}, {}, {}, {}, {}, {}});
  host.tell(WorkerReport{kKey, 2, now, 2, {}, {}, {}, {}, {}, {}, {}, {}});
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace paceline::agent
