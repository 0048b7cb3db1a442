#include "engine/agents/agents_engine.hpp"

#include <gtest/gtest.h>

#include "agent/agent.hpp"
#include "agent/host_testing.hpp"
#include "base/rng.hpp"
#include "clock/manual/manual_clock.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using agent::Dismiss;
using agent::Freeze;
using agent::GiveNotice;
using agent::Kill;
using agent::NotingHost;
using agent::SetLimit;
using agent::SetMembership;
using agent::SetShouldStop;
using agent::Start;
using agent::Thaw;
using std::chrono::seconds;
using testing::World;

// A server (a world instead of a controller) and agents on hosts that only take notes.
class AgentsEngineTest : public ::testing::Test {
 protected:
  struct Machine {
    NotingHost host;
    std::unique_ptr<agent::Agent> agent;
    Session session;
  };

  explicit AgentsEngineTest(std::string_view cluster = "1x4 cpu") : world(cluster) {
    for (const Node& node : world.state().nodes()) machines[node.id.value].host.node = node.spec;
    restart_server();
  }

  void restart_server() {
    for (auto& [id, machine] : machines) machine.session = {};
    to_server.clear();
    to_agents.clear();
    engine = std::make_unique<AgentsEngine>(
        clock, [this](JobId job) { return launch(job); }, options);
    engine->on_send([this](ServerFrame frame) { to_agents.push_back(std::move(frame)); });
    std::vector<JobId> live;
    for (const auto& key : world.state().queue()) live.push_back(key.job);
    engine->act(world.state(), live);
  }
  void restart_agent(std::uint32_t node = 0) {
    Machine& machine = machines[node];
    if (machine.session.value != 0) engine->disconnected(std::exchange(machine.session, {}));
    machine.agent = std::make_unique<agent::Agent>(machine.host);
    machine.agent->on_send([this](AgentFrame frame) { to_server.push_back(std::move(frame)); });
    machine.agent->start();
  }
  void connect(std::uint32_t node = 0) {
    Machine& machine = machines[node];
    if (!machine.agent) restart_agent(node);
    machine.session = Session{++sessions};
    engine->connected(machine.session);
    machine.agent->connected(machine.session);
    run_until_quiet();
  }
  void disconnect(std::uint32_t node = 0) {
    Machine& machine = machines[node];
    engine->disconnected(std::exchange(machine.session, {}));
    machine.agent->disconnected();
    run_until_quiet();
  }

  // Its greeting, without claims.
  void greet_from(const std::string& machine) {
    const Session session{++sessions};
    NodeSpec node = host().node;
    node.machine = machine;
    engine->connected(session);
    engine->receive({session, 1, 0, 0, Hello{std::move(node), "boot-1", {}}});
    run_until_quiet();
  }

  [[nodiscard]] Time agents_time() { return clock.now() + agents_ahead; }

  // Frames and rounds without policy until nothing moves.
  void run_until_quiet() {
    bool moved = true;
    while (moved) {
      engine->step();
      for (auto& [id, machine] : machines) {
        if (machine.agent) machine.agent->step(agents_time());
      }
      moved = carry() || commit();
    }
  }
  bool carry() {
    auto up = std::exchange(to_server, {});
    auto down = std::exchange(to_agents, {});
    for (auto& frame : up) engine->receive(std::move(frame));
    for (auto& frame : down) {
      for (auto& [id, machine] : machines) {
        if (machine.agent && machine.session == frame.session) machine.agent->receive(frame);
      }
    }
    return !up.empty() || !down.empty();
  }
  bool commit() {
    if (disk_full) return false;
    Observed observed = engine->observe();
    for (const Event& event : observed.events) tell(event);
    points.insert(points.end(), observed.points.begin(), observed.points.end());
    engine->committed();
    return !observed.empty();
  }
  void tell(const Event& event) {
    told.push_back(event);
    world.tell(event);
    act();
  }
  void act() { engine->act(world.state(), world.touched()); }

  // The active policy's plan, acted on.
  void round() {
    world.round();
    act();
    run_until_quiet();
  }
  void resize_to_one(JobId job) {
    world.round([&](const Snapshot&, Draft& draft) {
      draft.resize(job, draft.refit(job, 1).value(), {ReasonCode::owner_resized, {2, 1}, {}});
    });
    act();
    run_until_quiet();
  }
  // In the slots of this world's one node.
  void resize_in_place(JobId job, const std::vector<std::uint32_t>& slots,
                       const std::vector<Survivor>& survivors) {
    Placement seats;
    for (const std::uint32_t slot : slots) seats.push_back({NodeId{0}, {slot}});
    world.resize_in_place(job, seats, survivors);
    act();
    run_until_quiet();
  }
  // From two workers to three: the first two change places, and rank 1 is new.
  JobId run_and_begin_to_grow() {
    const JobId job = run("2");
    world.resize(job, "2..3");
    resize_in_place(job, {1, 2, 0}, {{key(job, 1, 0), 2}, {key(job, 1, 1), 0}});
    return job;
  }
  // All have met.
  JobId run_and_grow_in_place() {
    const JobId job = run_and_begin_to_grow();
    all_run();
    says(key(job, 2, 2), 2, 0);
    says(key(job, 1, 1), 0, 2);
    return job;
  }
  void says(const ProcessKey& process, std::uint32_t ready, std::uint32_t stands) {
    Claim& claim = host().kept.at(process);
    claim.ready = Generation{ready};
    claim.stands = Generation{stands};
    host().tell(WorkerPlaced{process, claim.ready, claim.stands});
    run_until_quiet();
  }
  void all_run() {
    for (auto& [id, machine] : machines) {
      for (auto& [key, claim] : machine.host.kept) {
        if (claim.pid == 0 && !claim.gone) machine.host.runs(key, 4711);
      }
    }
    run_until_quiet();
  }
  JobId run(std::string_view literal) {
    const JobId job = world.submit(literal);
    round();
    all_run();
    return job;
  }
  void end(const ProcessKey& key, std::uint32_t node = 0) {
    machines[node].host.gone({key, Cause::exited, 0, 0, "", clock.now()});
    run_until_quiet();
  }
  void pass(Duration span) {
    clock.advance(span);
    world.advance(span);
    run_until_quiet();
  }
  Result<LaunchSpec> launch(JobId) {
    ++launches_read;
    if (refusal) return fail(*refusal);
    return LaunchSpec{{"true"}, false, setup, {}, "/tmp", 022};
  }
  NotingHost& host(std::uint32_t node = 0) { return machines[node].host; }
  JobState state(JobId job) { return world.job(job).state; }
  static ProcessKey key(JobId job, std::uint32_t generation, std::int32_t rank) {
    return {job, Generation{generation}, rank};
  }
  template <class Kind>
  std::vector<Kind> told_of() {
    std::vector<Kind> found;
    for (const Event& event : told) {
      if (const auto* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    }
    return found;
  }

  World world;
  ManualClock clock{world.now()};
  Duration agents_ahead{};  // of the server's clock
  AgentsEngine::Options options;
  std::unique_ptr<AgentsEngine> engine;
  std::map<std::uint32_t, Machine> machines;
  std::uint64_t sessions = 0;
  std::vector<AgentFrame> to_server;
  std::vector<ServerFrame> to_agents;
  std::vector<Event> told;
  std::vector<MetricPoint> points;
  std::optional<Error> refusal;
  int launches_read = 0;
  std::string setup;
  bool disk_full = false;
};

TEST_F(AgentsEngineTest, RunsAJobFromStartToEnd) {
  connect();
  const JobId job = run("2");
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(host().count<Start>(), 2U);
  end(key(job, 1, 0));
  end(key(job, 1, 1));
  EXPECT_EQ(state(job), JobState::completed);
  EXPECT_TRUE(host().kept.empty()) << "ended claims are discarded";
}

TEST_F(AgentsEngineTest, TellsEachWorkerItsPlace) {
  connect();
  run("2 slots_per_worker=2 retry=3");
  const auto& second = std::get<Start>(host().actions[1]).worker;
  EXPECT_EQ(second.key, key(JobId{1}, 1, 1));
  EXPECT_EQ(second.slots, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(second.local_slots, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(second.world_size, 2);
  EXPECT_EQ(second.local_rank, 1);
  EXPECT_EQ(second.local_world_size, 2);
  EXPECT_EQ(second.group_rank, 0);
  EXPECT_EQ(second.group_world_size, 1);
  EXPECT_EQ(second.addresses.size(), 2U);
  EXPECT_EQ(second.retries, 3);
  EXPECT_EQ(second.launch.command, (std::vector<std::string>{"true"}));
  EXPECT_EQ(launches_read, 1) << "once for the gang";
}

class GangPortsTest : public AgentsEngineTest {
 protected:
  GangPortsTest() : AgentsEngineTest("2x2 cpu") {}
  void connect_both(PortRange first, PortRange second) {
    machines[0].host.node.ports = first;
    machines[1].host.node.ports = second;
    connect(0);
    connect(1);
  }
  std::uint32_t port_on(std::uint32_t node) {
    return std::get<Start>(machines[node].host.actions.back()).worker.port;
  }
};

TEST_F(GangPortsTest, AreTheSameOnAllOfItsNodesWithinWhatTheyHave) {
  connect_both({20'000, 24'000}, {23'000, 32'000});
  run("2 slots_per_worker=2");
  EXPECT_EQ(port_on(0), port_on(1));
  EXPECT_GE(port_on(0), 23'000U);
  EXPECT_LT(port_on(0), 24'000U);
}

TEST_F(GangPortsTest, ThatItsNodesDoNotHaveInCommonEndItWithASentence) {
  connect_both({20'000, 22'000}, {23'000, 32'000});
  const JobId job = run("2 slots_per_worker=2");
  EXPECT_EQ(state(job), JobState::failed);
  EXPECT_NE(world.job(job).ending->message.find("ports in common"), std::string::npos);
}

class GangAddressesTest : public AgentsEngineTest {
 protected:
  GangAddressesTest() : AgentsEngineTest("2x2 cpu") {}
  JobId run_on_both(const std::string& first, const std::string& second) {
    machines[0].host.node.address = first;
    machines[1].host.node.address = second;
    connect(0);
    connect(1);
    return run("2 slots_per_worker=2");
  }
  std::vector<std::string> told_to(std::uint32_t node) {
    return std::get<Start>(machines[node].host.actions.back()).worker.addresses;
  }
};

TEST_F(GangAddressesTest, AreThoseOfItsNodes) {
  const JobId job = run_on_both("10.0.0.1", "10.0.0.2");
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(told_to(0), (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(told_to(1), told_to(0));
}

TEST_F(GangAddressesTest, OfAMachineItselfAreNoneForOthers) {
  const JobId job = run_on_both("127.0.0.1", "10.0.0.2");
  EXPECT_EQ(state(job), JobState::failed);
  const std::string& why = world.job(job).ending->message;
  EXPECT_NE(why.find(machines[0].host.node.name + " says 127.0.0.1"), std::string::npos) << why;
  EXPECT_NE(why.find("--advertise"), std::string::npos) << why;
  EXPECT_EQ(machines[0].host.count<Start>() + machines[1].host.count<Start>(), 0U);
}

TEST_F(GangAddressesTest, OfAMachineItselfServeAgentsThatShareIt) {
  EXPECT_EQ(state(run_on_both("127.0.0.1", "127.0.0.1")), JobState::running);
}

TEST_F(GangAddressesTest, OfOneNodeAreItsOwn) {
  machines[0].host.node.address = "10.0.0.1";
  connect(0);
  run("2");
  EXPECT_EQ(told_to(0), (std::vector<std::string>{"127.0.0.1", "127.0.0.1"}));
}

class GangPeersTest : public AgentsEngineTest {
 protected:
  GangPeersTest() : AgentsEngineTest("4x2 cpu") {
    for (std::uint32_t node = 0; node < 4; ++node) {
      NodeSpec& spec = machines[node].host.node;
      spec.address = "10.0.0." + std::to_string(node);
      spec.reach_port = 20'000 + node;
      spec.reach_nonce = "nonce of " + spec.name;
    }
  }
  // What the agents are told, in the order of their nodes' ranks in the gang.
  std::vector<std::vector<GangPeer>> told(std::string_view job) {
    for (std::uint32_t node = 0; node < 4; ++node) connect(node);
    run(job);
    std::vector<std::vector<GangPeer>> peers(4);
    by_rank_.assign(4, {});
    for (const auto& [id, machine] : machines) {
      for (const auto& action : machine.host.actions) {
        const auto* start = std::get_if<Start>(&action);
        if (start == nullptr) continue;
        const auto rank = static_cast<std::size_t>(start->worker.group_rank);
        by_rank_[rank] = machine.host.node;
        peers[rank] = start->worker.peers;
      }
    }
    return peers;
  }
  [[nodiscard]] GangPeer node(std::size_t rank) const {
    const NodeSpec& spec = by_rank_[rank];
    return {spec.name, spec.address, spec.reach_port, spec.reach_nonce};
  }
  using Peers = std::vector<GangPeer>;
  std::vector<NodeSpec> by_rank_;
};

TEST_F(GangPeersTest, AllTryTheFirstNodeAndEachTheNext) {
  const auto peers = told("4 slots_per_worker=2");
  EXPECT_EQ(peers[0], Peers{node(1)});
  EXPECT_EQ(peers[1], (Peers{node(0), node(2)}));
  EXPECT_EQ(peers[2], (Peers{node(0), node(3)}));
  EXPECT_EQ(peers[3], Peers{node(0)});
}

TEST_F(GangPeersTest, OfTwoEachTriesTheOther) {
  const auto peers = told("4");
  EXPECT_EQ(peers[0], Peers{node(1)});
  EXPECT_EQ(peers[1], Peers{node(0)});
}

TEST_F(GangPeersTest, OnOneNodeThereAreNone) { EXPECT_EQ(told("2")[0], Peers{}); }

TEST_F(GangPeersTest, ANodeWithoutADoorIsNotTried) {
  for (auto& [id, machine] : machines) machine.host.node.reach_port = id == 0 ? 20'000 : 0;
  const auto peers = told("4 slots_per_worker=2");
  const auto tries = [&](const Peers& of) { return !of.empty(); };
  EXPECT_EQ(std::ranges::count_if(peers, tries),
            by_rank_[0].name == machines[0].host.node.name ? 3 : 1);
}

TEST_F(AgentsEngineTest, WhatCannotBeReadCannotBeLaunched) {
  connect();
  refusal = Error{ErrorCode::storage, "The disk is unreadable.", "", Retry::useless};
  const JobId job = run("2");
  EXPECT_EQ(state(job), JobState::failed);
  EXPECT_EQ(world.job(job).ending->cause, Cause::launch_failed);
  EXPECT_EQ(world.job(job).ending->message, "The disk is unreadable.");
  EXPECT_EQ(host().count<Start>(), 0U);
}

TEST_F(AgentsEngineTest, WhatCannotBeReadForNowIsTriedAgain) {
  connect();
  refusal = Error{ErrorCode::storage, "Too many open files.", "", Retry::may_help};
  const JobId job = run("2");
  EXPECT_EQ(state(job), JobState::pending);
  EXPECT_EQ(world.job(job).retries_used, 0);
}

TEST_F(AgentsEngineTest, AJobThatLendsItsSlotsIsFrozenBeforeAnotherStartsInThem) {
  world.tell(NodeUp{NodeId{0}, testing::cluster("1x4 cpu memory=16")[0]});
  machines[0].host.node = world.state().nodes()[0].spec;
  connect();
  const JobId giver = run("1 slots_per_worker=4 memory=4");
  const JobId other = world.submit("2");
  world.lend(giver, other, 2);
  // Whatever the order: the starting job waits for the one that freezes.
  engine->act(world.state(), std::vector{other, giver});
  run_until_quiet();
  const auto& actions = host().actions;
  ASSERT_EQ(actions.size(), 4U);
  EXPECT_EQ(std::get<Freeze>(actions[1]).key, key(giver, 1, 0));
  EXPECT_EQ(std::get<Start>(actions[2]).worker.key, key(other, 1, 0));
  EXPECT_EQ(std::get<Start>(actions[3]).worker.key, key(other, 1, 1));
  all_run();
  disconnect();
  connect();
  EXPECT_EQ(host().count<Start>(), 3U) << "nor does a new session change that";
  end(key(other, 1, 0));
  end(key(other, 1, 1));
  world.start(giver, 1);
  act();
  run_until_quiet();
  EXPECT_EQ(state(giver), JobState::running);
  EXPECT_EQ(std::get<Thaw>(host().actions.back()).key, key(giver, 1, 0));
}

TEST_F(AgentsEngineTest, ActingAgainChangesNothing) {
  connect();
  const JobId job = run("2");
  const std::vector<JobId> jobs{job};
  for (int i = 0; i < 3; ++i) engine->act(world.state(), jobs);
  run_until_quiet();
  EXPECT_EQ(host().actions.size(), 2U);
}

TEST_F(AgentsEngineTest, StopsWithNoticeGraceAndKill) {
  connect();
  const JobId job = run("1 grace=10s");
  world.cancel(job);
  act();
  run_until_quiet();
  EXPECT_EQ(host().count<GiveNotice>(), 1U);
  pass(seconds{10});
  EXPECT_EQ(host().count<Kill>(), 1U);
  host().gone({key(job, 1, 0), Cause::signalled, {}, 9, "", clock.now()});
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::cancelled);
  EXPECT_EQ(told_of<WorkerEnded>().back().ending.cause, Cause::cancelled) << "our kill";
}

TEST_F(AgentsEngineTest, ASegmentationFaultAfterANoticeIsNotOurKill) {
  connect();
  const JobId job = run("1");
  world.cancel(job);
  act();
  host().gone({key(job, 1, 0), Cause::signalled, {}, 11, "", clock.now()});
  run_until_quiet();
  EXPECT_EQ(told_of<WorkerEnded>().back().ending.cause, Cause::signalled);
}

TEST_F(AgentsEngineTest, ARestartedAgentIsToldWhatIsLeftOfTheGrace) {
  connect();
  const JobId job = run("1 grace=10s");
  world.cancel(job);
  act();
  run_until_quiet();
  pass(seconds{4});
  restart_agent();
  connect();
  EXPECT_EQ(host().count<GiveNotice>(), 1U);
  pass(seconds{6});
  EXPECT_EQ(host().count<Kill>(), 1U);
}

TEST_F(AgentsEngineTest, PausesAndResumesAndSaysSoAgainToARestartedAgent) {
  connect();
  const JobId job = run("1");
  world.pause(job);
  act();
  run_until_quiet();
  EXPECT_EQ(host().count<Freeze>(), 1U);
  restart_agent();
  connect();
  EXPECT_EQ(host().count<Freeze>(), 2U);
  world.resume(job);
  act();
  run_until_quiet();
  EXPECT_EQ(host().count<Thaw>(), 1U);
}

TEST_F(AgentsEngineTest, TellsAnewHowLongAWorkerMayRunWheneverItsTimeBeginsToCount) {
  connect();
  const JobId job = run("1 max_duration=2h");
  const auto limits = [&] {
    std::vector<Duration> all;
    for (const auto& action : host().actions)
      if (const auto* set = std::get_if<SetLimit>(&action)) all.push_back(set->limit.left);
    return all;
  };
  const auto& start = std::get<Start>(host().actions[0]).worker;
  EXPECT_EQ(start.limit, (RunLimit{std::chrono::hours{2}, 15, world.job(job).spec->notice.grace}));
  EXPECT_EQ(limits(), (std::vector<Duration>{std::chrono::hours{2}}));
  pass(std::chrono::minutes{30});
  world.pause(job);
  act();
  pass(std::chrono::hours{5});
  world.resume(job);
  act();
  run_until_quiet();
  EXPECT_EQ(limits(), (std::vector<Duration>{std::chrono::hours{2}, std::chrono::minutes{90}}));
  pass(std::chrono::minutes{30});
  restart_agent();
  connect();
  EXPECT_EQ(limits().back(), std::chrono::hours{1}) << "said again to an agent that is new";
}

TEST_F(AgentsEngineTest, TellsTheScriptOnceThatItsTargetIsReached) {
  connect();
  const JobId job = run("1 target=accuracy>=0.9");
  WorkerReport report{key(job, 1, 0),      1, clock.now(), 100, {}, 6400, {}, {}, {}, {}, {},
                      {{"accuracy", 0.95}}};
  host().tell(report);
  run_until_quiet();
  EXPECT_EQ(host().count<SetShouldStop>(), 1U);
  EXPECT_TRUE(world.job(job).should_stop());
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0],
            (MetricPoint{job, Generation{1}, 0, 1, clock.now(), 100, 6400, {{"accuracy", 0.95}}}));
  host().tell(report);
  run_until_quiet();
  EXPECT_EQ(points.size(), 1U) << "a repeated number is a repeat";
  restart_agent();
  connect();
  host().tell(report);
  run_until_quiet();
  EXPECT_EQ(points.size(), 1U) << "by an agent that is new, too";
}

TEST_F(AgentsEngineTest, TakesAnEndOnceHoweverOftenItIsToldBeforeItIsDurable) {
  connect();
  const JobId job = run("1");
  disk_full = true;
  host().gone({key(job, 1, 0), Cause::exited, 0, 0, "", clock.now()});
  run_until_quiet();
  restart_agent();
  connect();
  host().gone({key(job, 1, 0), Cause::exited, 0, 0, "", clock.now()});
  run_until_quiet();
  disk_full = false;
  run_until_quiet();
  EXPECT_EQ(told_of<WorkerEnded>().size(), 1U);
  EXPECT_EQ(state(job), JobState::completed);
}

TEST_F(AgentsEngineTest, AcknowledgesCheckpoints) {
  connect();
  const JobId job = run("1");
  host().tell(CheckpointSeen{key(job, 1, 0), 1, clock.now(), "/a.pt", 100, 6400});
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint, (Checkpoint{"/a.pt", 100, 6400, clock.now()}));
}

class KeepingTest : public AgentsEngineTest {
 protected:
  KeepingTest() : AgentsEngineTest("2x4 cpu") {
    for (auto& [id, machine] : machines) machine.host.node.keeps = true;
  }
  // It acknowledged its checkpoint of that number on the first node.
  JobId saved() {
    connect(0);
    const JobId job = run("1");
    host().tell(CheckpointSeen{key(job, 1, 0), 7, clock.now(), "/jobs/1-a/a.pt", 100, {}, "a.pt"});
    run_until_quiet();
    return job;
  }
  // It starts where there is a second node, and this is what that is told.
  WorkerLaunch told_elsewhere(JobId job) {
    connect(1);
    world.start(job, 1);
    act();
    run_until_quiet();
    const auto starts = done<agent::Start>(1);
    EXPECT_EQ(starts.size(), 1U);
    return starts.empty() ? WorkerLaunch{} : starts[0].worker;
  }
  template <class Action>
  std::vector<Action> done(std::uint32_t node) {
    std::vector<Action> found;
    for (const auto& action : machines[node].host.actions)
      if (const auto* one = std::get_if<Action>(&action)) found.push_back(*one);
    return found;
  }
  std::vector<WantedCheckpoint> asked() {
    std::vector<WantedCheckpoint> found;
    for (const auto& keep : done<agent::Keep>(0)) found.push_back(keep.checkpoint);
    return found;
  }
};

TEST_F(KeepingTest, ANodeIsAskedForWhatLiesThereAlone) {
  const JobId job = saved();
  const CheckpointPlace place{"cpu-0", "a.pt", key(job, 1, 0), 7, {}, {}};
  EXPECT_EQ(world.job(job).checkpoint->place, place);
  ASSERT_EQ(asked().size(), 1U);
  EXPECT_EQ(asked()[0].path, "/jobs/1-a/a.pt");
  EXPECT_EQ(asked()[0].report, 7U);
  EXPECT_EQ(asked()[0].user, world.job(job).spec->user);
  EXPECT_TRUE(engine->wants("cpu-0", key(job, 1, 0), 7));
  EXPECT_FALSE(engine->wants("cpu-1", key(job, 1, 0), 7)) << "it is not that node's";
  EXPECT_FALSE(engine->take_kept("cpu-1", {key(job, 1, 0), 7, Keeping::kept, "ship"}));
  EXPECT_FALSE(engine->take_kept("cpu-0", {key(job, 1, 0), 8, Keeping::kept, "ship"}));
  EXPECT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "ship"}));
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->place->ship, "ship");
  EXPECT_FALSE(engine->wants("cpu-0", key(job, 1, 0), 7));
}

TEST_F(KeepingTest, ItIsAskedAgainWhenItComesBackAndByANewServer) {
  const JobId job = saved();
  disconnect(0);
  connect(0);
  EXPECT_EQ(asked().size(), 2U);
  restart_server();
  connect(0);
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_TRUE(engine->wants("cpu-0", key(job, 1, 0), 7));
}

TEST_F(KeepingTest, OneThatIsOnItsWayCountsThoughThereIsANewer) {
  const JobId job = saved();
  host().tell(CheckpointSeen{key(job, 1, 0), 8, clock.now(), "/jobs/1-a/b.pt", 200, {}, "b.pt"});
  run_until_quiet();
  EXPECT_EQ(asked().size(), 2U);
  EXPECT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "first"}));
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->step, 200U);
  EXPECT_EQ(world.job(job).kept->place->ship, "first");
  EXPECT_TRUE(engine->wants("cpu-0", key(job, 1, 0), 8));
}

TEST_F(KeepingTest, AStartElsewhereIsToldOfTheCopy) {
  const JobId job = saved();
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "ship"}));
  run_until_quiet();
  world.preempt(job, world.submit("4"), 4);
  act();
  host().tell(CheckpointSeen{key(job, 1, 0), 9, clock.now(), "/jobs/1-a/c.pt", 300, {}, "c.pt"});
  run_until_quiet();
  host().gone({key(job, 1, 0), Cause::exited, 75, 0, "", clock.now()});
  run_until_quiet();
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 9, Keeping::kept, "third"}));
  run_until_quiet();
  const WorkerLaunch worker = told_elsewhere(job);
  EXPECT_EQ(worker.copy, (CheckpointCopy{"cpu-0", "c.pt", "third"}));
  EXPECT_EQ(worker.checkpoint, "/jobs/1-a/c.pt");
}

TEST_F(KeepingTest, WhereACheckpointIsHasNoDetours) {
  const JobId job = saved();
  std::uint64_t report = 7;
  const auto inside = [&](const std::string& path) {
    host().tell(CheckpointSeen{key(job, 1, 0), ++report, clock.now(), "/b.pt", 200, {}, path});
    run_until_quiet();
    return world.job(job).checkpoint->place->inside;
  };
  EXPECT_EQ(inside("src/../b.pt"), "b.pt");
  EXPECT_EQ(inside("../b.pt"), "");
  host().tell(CheckpointSeen{key(job, 1, 0), ++report, clock.now(), "", 300, {}});
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->step, 200U) << "one whose path was too long";
}

TEST_F(KeepingTest, AStartIsToldOfAnOldJournalsPlaceWithoutDetours) {
  const JobId job = saved();
  Checkpoint odd = *world.job(job).checkpoint;
  odd.place->inside = "src/../a.pt";
  odd.place->ship = "ship";
  tell(CheckpointAcknowledged{job, Generation{1}, odd});
  world.preempt(job, world.submit("4"), 4);
  act();
  host().gone({key(job, 1, 0), Cause::exited, 75, 0, "", clock.now()});
  run_until_quiet();
  EXPECT_EQ(told_elsewhere(job).copy, (CheckpointCopy{"cpu-0", "a.pt", "ship"}));
}

TEST_F(KeepingTest, WhatALostNodeDidNotSendIsLost) {
  host().node.lease = seconds{60};
  const JobId job = saved();
  disconnect(0);
  pass(lost_after(seconds{60}) + seconds{1});
  run_until_quiet();
  ASSERT_EQ(told_of<CheckpointKept>().size(), 1U);
  EXPECT_EQ(told_of<CheckpointKept>()[0].keeping, Keeping::lost);
  EXPECT_FALSE(world.job(job).checkpoint);
}

TEST_F(KeepingTest, WhatCouldNotBeSentIsAskedForOnceMoreByANewServer) {
  const JobId job = saved();
  const auto unkept = [&](const char* why) {
    ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::unkept, why}));
    run_until_quiet();
  };
  unkept("too large");
  EXPECT_EQ(world.job(job).checkpoint->place->unkept, "too large");
  restart_server();
  connect(0);
  EXPECT_EQ(asked().size(), 2U);
  const auto before = told_of<CheckpointKept>().size();
  unkept("too large");
  EXPECT_EQ(told_of<CheckpointKept>().size(), before) << "that is known";
  restart_server();
  connect(0);
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "ship"}));
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->place->ship, "ship") << "the limit was raised";
  EXPECT_EQ(world.job(job).checkpoint->place->unkept, "");
}

TEST_F(KeepingTest, ACopyThatTheServerLostIsAskedForAnew) {
  const JobId job = saved();
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "ship"}));
  run_until_quiet();
  options.has_copy = [](std::uint32_t, const std::string& ship) { return ship != "ship"; };
  restart_server();
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->place->ship, "");
  EXPECT_EQ(world.job(job).checkpoint->place->unkept, "the server's copy of it is lost");
  connect(0);
  EXPECT_EQ(asked().size(), 2U);
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "another"}));
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->place->ship, "another");
  const auto before = told_of<CheckpointKept>().size();
  restart_server();
  run_until_quiet();
  EXPECT_EQ(told_of<CheckpointKept>().size(), before) << "it is there";
}

TEST_F(KeepingTest, WhereTheServersCopyAndItsNodeAreLostItIsLost) {
  const JobId job = saved();
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 7, Keeping::kept, "first"}));
  run_until_quiet();
  host().tell(CheckpointSeen{key(job, 1, 0), 8, clock.now(), "/jobs/1-a/b.pt", 200, {}, "b.pt"});
  run_until_quiet();
  ASSERT_TRUE(engine->take_kept("cpu-0", {key(job, 1, 0), 8, Keeping::kept, "second"}));
  run_until_quiet();
  ASSERT_EQ(world.job(job).kept->place->ship, "first");
  disconnect(0);
  ASSERT_TRUE(engine->count_off("cpu-0", "root"));
  run_until_quiet();
  ASSERT_EQ(world.job(job).checkpoint->step, 200U) << "there is a copy";
  options.has_copy = [](std::uint32_t, const std::string&) { return false; };
  restart_server();
  run_until_quiet();
  EXPECT_FALSE(world.job(job).checkpoint);
  EXPECT_FALSE(world.job(job).kept);
}

TEST_F(KeepingTest, WhoseOwnerWantsNoneKeptIsNotAskedFor) {
  connect(0);
  const JobId job = run("1 checkpoint_store=none");
  host().tell(CheckpointSeen{key(job, 1, 0), 7, clock.now(), "/a.pt", 100, {}});
  run_until_quiet();
  EXPECT_FALSE(world.job(job).checkpoint->place);
  EXPECT_TRUE(asked().empty());
}

TEST_F(AgentsEngineTest, WhereThereIsOneNodeNothingIsSent) {
  machines[0].host.node.keeps = true;
  connect();
  const JobId job = run("1");
  host().tell(CheckpointSeen{key(job, 1, 0), 7, clock.now(), "/a.pt", 100, {}});
  run_until_quiet();
  EXPECT_TRUE(world.job(job).checkpoint->place);
  EXPECT_EQ(host().count<agent::Keep>(), 0U);
}

TEST_F(AgentsEngineTest, TellsOfPublishedModelsOnce) {
  connect();
  const JobId job = run("1");
  const ModelSeen seen{key(job, 1, 0), 1, clock.now(), "/m.pt", "", 1024, 100, 6400};
  for (int again = 0; again < 2; ++again) host().tell(seen);
  run_until_quiet();
  EXPECT_EQ(told_of<ModelPublished>().size(), 1U);
  EXPECT_EQ(world.job(job).model,
            (PublishedModel{"cpu-0", "/m.pt", "", 1024, 100, 6400, clock.now()}));
}

TEST_F(AgentsEngineTest, WarnsOfAGangUntilThatIsTakenBack) {
  connect();
  const JobId job = run("2");
  const auto warn = [&](bool holds) {
    host().tell(WorkerWarning{key(job, 1, 0), Warning::no_rendezvous, holds});
    run_until_quiet();
    return world.job(job).current->warnings;
  };
  EXPECT_EQ(warn(true), std::vector{Warning::no_rendezvous});
  EXPECT_TRUE(warn(false).empty());
  host().tell(WorkerWarning{key(JobId{77}, 1, 0), Warning::no_rendezvous, true});
  run_until_quiet();
  EXPECT_EQ(told_of<JobWarned>().size(), 2U) << "of a worker that nobody knows";
}

// Of all that an agent tells only how long ago it was is believed.
class AgentsClockTest : public AgentsEngineTest, public ::testing::WithParamInterface<Duration> {
 protected:
  AgentsClockTest() {
    agents_ahead = GetParam();
    connect();
  }
};

TEST_P(AgentsClockTest, WhatWasSavedAfterANoticeCounts) {
  const JobId job = run("1 elastic=restart");
  pass(seconds{60});
  const Time stopped = clock.now();
  world.preempt(job, world.submit("4"), 4);
  act();
  run_until_quiet();
  pass(seconds{5});
  host().tell(CheckpointSeen{key(job, 1, 0), 1, agents_time() - seconds{2}, "/a", 10, {}});
  run_until_quiet();
  EXPECT_EQ(world.job(job).checkpoint->acknowledged_at, stopped + seconds{3});
  host().gone({key(job, 1, 0), Cause::exited, 0, 0, "", agents_time()});
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::pending);
}

TEST_P(AgentsClockTest, AnEndIsToldWithHowLongItWasUnseen) {
  const JobId job = run("1");
  pass(seconds{7200});
  host().gone({key(job, 1, 0), Cause::exited, 0, 0, "", agents_time() - seconds{3600}});
  run_until_quiet();
  EXPECT_EQ(told_of<WorkerEnded>().back().unseen, seconds{3600});
  EXPECT_EQ(world.job(job).ran, seconds{3600});
}

TEST_P(AgentsClockTest, PointsLieWhereTheyWereMade) {
  const JobId job = run("1");
  pass(seconds{60});
  host().tell(WorkerReport{
      key(job, 1, 0), 1, agents_time() - seconds{20}, 1, {}, {}, {}, {}, {}, {}, {}, {}});
  run_until_quiet();
  EXPECT_EQ(points.back().at, clock.now() - seconds{20});
  EXPECT_EQ(world.job(job).progress->reported_at, clock.now() - seconds{20});
}

TEST_P(AgentsClockTest, TimesThatCannotBeAreBounded) {
  for (const Duration wrong :
       {Duration{-std::chrono::years{200}}, Duration{std::chrono::years{200}}}) {
    const JobId job = run("1");
    const ProcessKey worker = key(job, 1, 0);
    host().gone({worker, Cause::exited, 0, 0, "", agents_time() + wrong});
    run_until_quiet();
    EXPECT_EQ(state(job), JobState::completed);
    EXPECT_GE(world.job(job).ending->at, clock.now() - kToldLateMax);
    EXPECT_LE(world.job(job).ending->at, clock.now());
    EXPECT_EQ(world.job(job).ran, Duration::zero());
  }
}

INSTANTIATE_TEST_SUITE_P(Ahead, AgentsClockTest,
                         ::testing::Values(Duration{}, Duration{seconds{-900}},
                                           Duration{std::chrono::hours{200}}));

TEST_F(AgentsEngineTest, AdoptsWhatRunsAfterAServerRestart) {
  connect();
  const JobId job = run("2");
  restart_server();
  connect();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(host().count<Start>(), 2U);
  EXPECT_EQ(host().count<GiveNotice>() + host().count<Kill>(), 0U);
}

// The agent didn't hear that they are: a job must not seem to be back at an old step.
TEST_F(AgentsEngineTest, ReportsThatAreStoredAreNotTakenAgainAfterAServerRestart) {
  connect();
  const JobId job = run("1");
  disk_full = true;  // nothing is confirmed
  for (std::uint64_t i = 1; i <= 3; ++i)
    host().tell(
        WorkerReport{key(job, 1, 0), i, clock.now(), 10 * i, {}, {}, {}, {}, {}, {}, {}, {}});
  run_until_quiet();
  disk_full = false;
  told.clear();
  options.newest_report = [&](const ProcessKey& process) {
    return process == key(job, 1, 0) ? 2U : 0U;
  };
  restart_server();
  connect();
  ASSERT_EQ(told_of<Progressed>().size(), 1U);
  EXPECT_EQ(told_of<Progressed>()[0].report.step, 30U);
  EXPECT_EQ(points.size(), 1U);
}

TEST_F(AgentsEngineTest, ThawsWhatItAdoptsAsNobodyKnowsBetter) {
  connect();
  run("1");
  restart_agent();
  connect();
  EXPECT_EQ(host().count<Thaw>(), 1U);
}

TEST_F(AgentsEngineTest, AStartThatNeverArrivedIsSentAgain) {
  const JobId job = world.submit("1");
  connect();
  world.round();
  act();
  to_agents.clear();
  disconnect();
  EXPECT_EQ(host().count<Start>(), 0U);
  connect();
  EXPECT_EQ(host().count<Start>(), 1U);
  restart_server();
  connect();
  EXPECT_EQ(host().count<Start>(), 1U) << "it has a claim";
  all_run();
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, ARunningWorkerWithoutAClaimIsLost) {
  connect();
  const JobId job = run("1");
  host().kept.clear();
  restart_agent();
  connect();
  EXPECT_EQ(told_of<WorkerEnded>().back().ending.cause, Cause::node_lost);
  EXPECT_EQ(state(job), JobState::pending);
  EXPECT_EQ(world.job(job).retries_used, 0);
}

TEST_F(AgentsEngineTest, AClaimThatNobodyWantsIsKilledThenDiscarded) {
  const ProcessKey stray{JobId{99}, Generation{1}, 0};
  host().kept[stray] = {stray, 4711, {}, false, {0}};
  connect();
  EXPECT_EQ(host().count<Kill>(), 1U);
  end(stray);
  EXPECT_TRUE(host().kept.empty());
  EXPECT_TRUE(told_of<WorkerEnded>().empty());
}

// The start of generation 1 is lost with the journal's end, and its worker lives. The job is planned
// again before its agent says so.
TEST_F(AgentsEngineTest, AnOlderJournalTakesNoOldWorkerForANewOne) {
  const JobId job = world.submit("1");
  const ProcessKey old = key(job, 1, 0);
  host().kept[old] = {old, 4711, {}, false, {3}};
  world.tell(JournalAccepted{5, Generation{1}});
  restart_server();
  round();
  ASSERT_EQ(world.job(job).current->generation, Generation{2});
  connect();
  EXPECT_EQ(host().count<Kill>(), 1U);
  EXPECT_EQ(host().count<Start>(), 1U) << "in another slot";
  EXPECT_EQ(state(job), JobState::starting);
  end(old);
  EXPECT_TRUE(told_of<WorkerEnded>().empty()) << "an end of the old one is none of the new one";
  all_run();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(told_of<WorkerStarted>().back().worker, key(job, 2, 0));
  EXPECT_FALSE(host().kept.contains(old));
}

TEST_F(AgentsEngineTest, AnOlderJournalStartsNothingWhereAnOldWorkerLives) {
  const JobId job = world.submit("1");
  const ProcessKey old = key(job, 1, 0);
  host().kept[old] = {old, 4711, {}, false, {0, 1, 2, 3}};
  world.tell(JournalAccepted{5, Generation{1}});
  restart_server();
  round();
  connect();
  EXPECT_EQ(host().count<Kill>(), 1U);
  EXPECT_EQ(host().count<Start>(), 0U);
  end(old);
  EXPECT_EQ(host().count<Start>(), 1U);
  EXPECT_TRUE(told_of<WorkerEnded>().empty());
}

TEST_F(AgentsEngineTest, NewcomersAreStartedWhileTheOthersTrain) {
  connect();
  const JobId job = run_and_begin_to_grow();
  ASSERT_EQ(host().count<Start>(), 3U);
  const auto& newcomer = std::get<Start>(host().actions.back()).worker;
  EXPECT_EQ(newcomer.key, key(job, 2, 2));
  EXPECT_EQ(newcomer.rank, 1);
  EXPECT_EQ(newcomer.world_size, 3);
  ASSERT_TRUE(newcomer.joins);
  EXPECT_EQ(newcomer.joins->local_rank, 1);
  EXPECT_EQ(newcomer.joins->local_world_size, 3);
  EXPECT_EQ(newcomer.joins->address, "127.0.0.1");
  EXPECT_EQ(host().count<SetMembership>(), 0U) << "nobody is told before all are ready";
  EXPECT_EQ(state(job), JobState::running);
  all_run();
  EXPECT_EQ(world.job(job).current->generation, Generation{1});
}

TEST_F(AgentsEngineTest, ANewcomerRunsNoSetupWhereAnotherOfItsGangGoesOn) {
  setup = "pip install .";
  connect();
  run_and_begin_to_grow();
  std::vector<std::string> setups;
  for (const auto& action : host().actions)
    if (const auto* start = std::get_if<Start>(&action))
      setups.push_back(start->worker.launch.setup);
  EXPECT_EQ(setups, (std::vector<std::string>{setup, setup, ""}));
}

TEST_F(AgentsEngineTest, MembersAreToldOnceAllNewcomersAreReady) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  says(key(job, 2, 2), 1, 0);
  EXPECT_TRUE(told_of<WorkerReady>().empty()) << "for another generation";
  says(key(job, 2, 2), 2, 0);
  EXPECT_EQ(told_of<WorkerReady>().size(), 1U);
  EXPECT_EQ(state(job), JobState::resizing);
  EXPECT_EQ(host().count<SetMembership>(), 2U);
  const auto& place = std::get<SetMembership>(host().actions.back()).place;
  const auto& newcomer =
      std::get<Start>(*std::ranges::find_if(host().actions, [&](const auto& action) {
        const auto* start = std::get_if<Start>(&action);
        return start && start->worker.joins;
      }));
  EXPECT_EQ(place.port, newcomer.worker.joins->port) << "they meet at one place";
  EXPECT_EQ(place.address, newcomer.worker.joins->address);
  says(key(job, 1, 1), 0, 2);
  EXPECT_EQ(told_of<GangStands>().back(), (GangStands{job, Generation{2}}));
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, WhatWorkersSaidOfTheirGangIsKnownToAServerThatIsNew) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  restart_server();
  connect();
  EXPECT_EQ(host().count<Start>(), 3U) << "no newcomer is started twice";
  says(key(job, 2, 2), 2, 0);
  restart_server();
  connect();
  EXPECT_EQ(state(job), JobState::resizing);
  host().kept.at(key(job, 1, 1)).stands = Generation{2};
  restart_agent();
  connect();
  EXPECT_EQ(state(job), JobState::running) << "its agent says it with its claims";
}

TEST_F(AgentsEngineTest, ANewcomerThatEndsLeavesTheOthersAlone) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  host().gone({key(job, 2, 2), Cause::exited, 1, 0, "", clock.now()});
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(host().count<Kill>() + host().count<GiveNotice>(), 0U);
  EXPECT_FALSE(host().kept.contains(key(job, 2, 2))) << "its claim is discarded";
}

TEST_F(AgentsEngineTest, NewcomersAreKilledWhereNothingComesOfTheirGeneration) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  world.cancel(job);
  act();
  run_until_quiet();
  EXPECT_EQ(host().count<Kill>(), 1U);
  EXPECT_EQ(host().count<GiveNotice>(), 2U) << "of the others";
  for (const auto& process : {key(job, 1, 0), key(job, 1, 1), key(job, 2, 2)}) end(process);
  EXPECT_EQ(state(job), JobState::cancelled);
  EXPECT_TRUE(host().kept.empty());
}

TEST_F(AgentsEngineTest, AProcessThatGoesOnInTheNextGenerationIsLeftAlone) {
  connect();
  const JobId job = run_and_grow_in_place();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(host().count<Kill>() + host().count<GiveNotice>() + host().count<Freeze>(), 0U);
  for (const auto& process : {key(job, 1, 0), key(job, 1, 1), key(job, 2, 2)}) end(process);
  EXPECT_EQ(state(job), JobState::completed);
  EXPECT_TRUE(host().kept.empty()) << "ended claims are discarded";
}

TEST_F(AgentsEngineTest, OneThatDiesIsNoEndOfTheOthers) {
  connect();
  const JobId job = run_and_grow_in_place();
  host().actions.clear();
  host().gone({key(job, 1, 1), Cause::signalled, {}, 9, "", clock.now()});
  run_until_quiet();
  EXPECT_EQ(world.job(job).current->generation, Generation{3});
  EXPECT_EQ(host().count<SetMembership>(), 2U);
  EXPECT_EQ(host().count<Kill>() + host().count<GiveNotice>(), 0U);
  says(key(job, 1, 0), 0, 3);
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, ThoseThatWaitForOthersAreToldNoPlace) {
  connect();
  const JobId job = run_and_grow_in_place();
  world.resize(job, "3..3");
  host().actions.clear();
  host().gone({key(job, 1, 1), Cause::signalled, {}, 9, "", clock.now()});
  run_until_quiet();
  ASSERT_TRUE(world.job(job).awaits_replacements());
  EXPECT_EQ(host().count<SetMembership>(), 0U);
}

TEST_F(AgentsEngineTest, WhatAWorkerSaysTooEarlyCountsOnceTheStateIsAsFar) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  says(key(job, 1, 1), 0, 2);
  EXPECT_EQ(world.job(job).current->generation, Generation{1}) << "a newcomer isn't ready";
  tell(WorkerReady{key(job, 2, 2), Generation{2}});
  EXPECT_EQ(state(job), JobState::resizing);
  EXPECT_EQ(engine->next_due(), clock.now()) << "whatever its agent says next";
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, AProcessThatGoesOnIsToldItsPlaceOnceInEachSession) {
  connect();
  const JobId job = run_and_grow_in_place();
  const auto places = [&] {
    std::map<ProcessKey, Membership> all;
    for (const auto& action : host().actions)
      if (const auto* set = std::get_if<SetMembership>(&action)) all[set->key] = set->membership;
    return all;
  };
  const std::map<ProcessKey, Membership> expected{{key(job, 1, 0), {Generation{2}, 2, 3}},
                                                  {key(job, 1, 1), {Generation{2}, 0, 3}}};
  EXPECT_EQ(places(), expected);
  all_run();
  EXPECT_EQ(host().count<SetMembership>(), 2U);
  host().actions.clear();
  restart_agent();
  connect();
  EXPECT_EQ(places(), expected) << "said again to an agent that is new";
}

TEST_F(AgentsEngineTest, ReportsOfAProcessThatGoesOnAreOfTheGenerationThatItIsIn) {
  connect();
  const JobId job = run_and_grow_in_place();
  const WorkerReport report{key(job, 1, 0), 1, clock.now(), 100, {}, {}, {}, {}, {}, {}, {},
                            {{"loss", 0.5}}};
  host().tell(report);
  host().tell(CheckpointSeen{key(job, 1, 0), 2, clock.now(), "/a.pt", 100, {}});
  run_until_quiet();
  EXPECT_EQ(told_of<Progressed>().at(0).generation, Generation{2});
  EXPECT_EQ(told_of<CheckpointAcknowledged>().at(0).generation, Generation{2});
  EXPECT_TRUE(world.job(job).checkpoint);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].born, Generation{1}) << "of the process, so that a repeat is known";
}

TEST_F(AgentsEngineTest, AProcessThatGoesOnIsKnownToAServerAndAnAgentThatAreNew) {
  connect();
  const JobId job = run_and_grow_in_place();
  all_run();
  restart_server();
  restart_agent();
  connect();
  restart_server();
  connect();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(host().count<Start>(), 3U);
  EXPECT_EQ(host().count<Kill>() + host().count<GiveNotice>(), 0U);
  EXPECT_TRUE(told_of<WorkerEnded>().empty());
  end(key(job, 1, 1));
  EXPECT_EQ(world.job(job).current->workers[0].state, WorkerState::ended);
}

TEST_F(AgentsEngineTest, AProcessThatGoesOnAndIsGoneIsLostNotStartedAgain) {
  connect();
  const JobId job = run_and_grow_in_place();
  all_run();
  host().kept.erase(key(job, 1, 1));
  restart_agent();
  connect();
  EXPECT_EQ(told_of<WorkerEnded>().at(0).worker, key(job, 1, 1));
  EXPECT_EQ(told_of<WorkerEnded>().at(0).ending.cause, Cause::node_lost);
  EXPECT_EQ(host().count<Start>(), 3U);
}

TEST_F(AgentsEngineTest, OnlyLeaversAreToldToLeaveInAResizeInPlace) {
  connect();
  const JobId job = run("1..2");
  resize_in_place(job, {1}, {{key(job, 1, 1), 0}});
  ASSERT_EQ(host().count<Dismiss>(), 1U);
  EXPECT_EQ(host().count<GiveNotice>(), 0U);
  EXPECT_EQ(host().count<SetMembership>(), 1U);
  restart_agent();
  connect();
  EXPECT_EQ(host().count<Dismiss>(), 2U) << "said again to an agent that is new";
  says(key(job, 1, 1), 0, 2);
  EXPECT_EQ(state(job), JobState::running);
  end(key(job, 1, 0));
  EXPECT_EQ(host().kept.size(), 1U) << "the claim of the one that left is discarded";
  EXPECT_EQ(host().count<Kill>(), 0U);
}

TEST_F(AgentsEngineTest, WhatANewcomerSaysIsKeptAndDoesNotCount) {
  connect();
  const JobId job = run_and_begin_to_grow();
  all_run();
  const ProcessKey newcomer = key(job, 2, 2);
  const auto saves_and_tells = [&](const ProcessKey& process, std::uint64_t number) {
    told.clear();
    host().tell(WorkerReport{process, number, clock.now(), 100, {}, {}, {}, {}, {}, {}, {}, {}});
    host().tell(CheckpointSeen{process, number, clock.now(), "/own.pt", 100, {}});
    host().tell(ModelSeen{process, number, clock.now(), "/own.pt", "", {}, 100, {}});
    run_until_quiet();
    return told_of<Progressed>().size() + told_of<CheckpointAcknowledged>().size() +
           told_of<ModelPublished>().size();
  };
  EXPECT_EQ(saves_and_tells(newcomer, 1), 0U);
  EXPECT_EQ(saves_and_tells(key(job, 1, 0), 1), 3U);
  world.tell(NewcomersLate{job, Generation{2}});
  act();
  run_until_quiet();
  EXPECT_EQ(saves_and_tells(newcomer, 2), 0U) << "it never joined";
}

TEST_F(AgentsEngineTest, WhatALeaverSaidCounts) {
  connect();
  const JobId job = run("1..2");
  resize_in_place(job, {1}, {{key(job, 1, 1), 0}});
  told.clear();
  host().tell(CheckpointSeen{key(job, 1, 0), 1, clock.now(), "/a.pt", 100, {}});
  run_until_quiet();
  ASSERT_EQ(told_of<CheckpointAcknowledged>().size(), 1U);
  EXPECT_EQ(world.job(job).checkpoint->path, "/a.pt");
}

TEST_F(AgentsEngineTest, ALeaverThatStaysIsKilledAfterItsGrace) {
  connect();
  const JobId job = run("1..2 grace=10s");
  resize_in_place(job, {1}, {{key(job, 1, 1), 0}});
  pass(seconds{11});
  EXPECT_EQ(host().count<Kill>(), 1U);
}

// A fence would end the processes that go on, too.
TEST_F(AgentsEngineTest, AStrayOfTheGenerationOfAProcessThatGoesOnDiesAlone) {
  connect();
  const JobId job = run_and_grow_in_place();
  all_run();
  resize_in_place(job, {0, 2}, {{key(job, 1, 0), 0}, {key(job, 2, 2), 1}});
  says(key(job, 1, 0), 0, 3);
  end(key(job, 1, 1));
  const ProcessKey stray = key(job, 1, 7);
  host().kept[stray] = {stray, 4712, {}, false, {3}};
  host().actions.clear();
  restart_agent();
  connect();
  std::vector<ProcessKey> killed;
  for (const auto& action : host().actions) {
    if (const auto* kill = std::get_if<Kill>(&action)) killed.push_back(kill->key);
  }
  EXPECT_EQ(killed, std::vector{stray});
  end(stray);
  EXPECT_FALSE(host().kept.contains(stray));
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, NothingStartsInASlotThatIsStillInUse) {
  const ProcessKey stray{JobId{99}, Generation{1}, 0};
  host().kept[stray] = {stray, 4711, {}, false, {0}};
  connect();
  world.submit("4");
  round();
  EXPECT_EQ(host().count<Start>(), 3U);
  end(stray);
  EXPECT_EQ(host().count<Start>(), 4U);
}

TEST_F(AgentsEngineTest, WhatIsStoppedBeforeItStartedEndsWithoutAnAgent) {
  const ProcessKey stray{JobId{99}, Generation{1}, 0};
  host().kept[stray] = {stray, 4711, {}, false, {0}};
  connect();
  const JobId job = world.submit("1");
  round();
  world.cancel(job);
  act();
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::cancelled);
  EXPECT_EQ(host().count<Start>(), 0U);
}

TEST_F(AgentsEngineTest, AResizeEndsTheOldGenerationBeforeTheNewOneStarts) {
  connect();
  const JobId job = run("1..2 elastic=restart");
  resize_to_one(job);
  EXPECT_EQ(state(job), JobState::resizing);
  EXPECT_EQ(host().count<GiveNotice>(), 2U);
  end(key(job, 1, 0));
  EXPECT_EQ(host().count<Start>(), 2U);
  end(key(job, 1, 1));
  EXPECT_EQ(state(job), JobState::completed)
      << "exit 0 without a checkpoint since the notice means done";
}

TEST_F(AgentsEngineTest, AResizedJobGoesOnFromItsCheckpoint) {
  connect();
  const JobId job = run("1..2 elastic=restart");
  resize_to_one(job);
  pass(seconds{1});
  host().tell(CheckpointSeen{key(job, 1, 0), 1, clock.now(), "/a.pt", 100, {}});
  end(key(job, 1, 0));
  end(key(job, 1, 1));
  all_run();
  EXPECT_EQ(state(job), JobState::running);
  const auto& next = std::get<Start>(host().actions.back()).worker;
  EXPECT_EQ(next.key, key(job, 2, 0));
  EXPECT_EQ(next.checkpoint, "/a.pt");
  EXPECT_EQ(next.restart_count, 1);
}

TEST_F(AgentsEngineTest, ANodeIsDownOnlyAfterAWhile) {
  connect();
  const JobId job = run("1");
  disconnect();
  pass(seconds{4});
  EXPECT_TRUE(world.state().nodes()[0].up);
  pass(seconds{1});
  EXPECT_FALSE(world.state().nodes()[0].up);
  EXPECT_EQ(state(job), JobState::running) << "its workers may be well";
  connect();
  EXPECT_TRUE(world.state().nodes()[0].up);
  EXPECT_EQ(told_of<NodeUp>().size(), 1U);
}

TEST_F(AgentsEngineTest, AShortBreakIsNotTold) {
  connect();
  disconnect();
  connect();
  EXPECT_TRUE(told.empty());
}

TEST_F(AgentsEngineTest, ANodeThatIsNewGetsTheNextNumber) {
  connect();
  machines[1].host.node.name = "box-1";
  connect(1);
  EXPECT_EQ(world.state().nodes()[1].spec.name, "box-1");
  restart_server();
  connect(1);
  connect(0);
  EXPECT_EQ(world.state().nodes().size(), 2U);
}

TEST_F(AgentsEngineTest, ANewerSessionOfANodeReplacesTheOlder) {
  connect();
  const Session old = machines[0].session;
  machines[0].agent->disconnected();
  connect();
  engine->receive({old, 2, 0, 0, WorkerRuns{key(JobId{1}, 1, 0), 1}});
  engine->disconnected(old);
  EXPECT_EQ(engine->connected_nodes(), 1U);
}

TEST_F(AgentsEngineTest, AGreetingThatALaterSessionOvertookIsNotHeard) {
  connect();
  disconnect();
  const Session late{++sessions};
  engine->connected(late);
  connect();
  const JobId job = run("1");
  const AgentFrame greeting{late, 1, 0, 0, Hello{host().node, "boot-1", {}}};
  engine->receive(greeting);
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::running);
  disconnect();
  engine->receive(greeting);
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::running);
  EXPECT_EQ(engine->connected_nodes(), 0U);
}

TEST_F(AgentsEngineTest, AnotherMachineOfTheSameNameIsNotHeardWhileTheFirstIsThere) {
  host().node.machine = "first";
  connect();
  const JobId job = run("1");
  greet_from("another");
  disconnect();
  greet_from("another");
  EXPECT_EQ(state(job), JobState::running) << "it knows nothing of the first one's workers";
  EXPECT_EQ(engine->connected_nodes(), 0U);
  connect();
  EXPECT_EQ(engine->connected_nodes(), 1U);
  end(key(job, 1, 0));
  EXPECT_EQ(state(job), JobState::completed);
}

TEST_F(AgentsEngineTest, AnotherMachineTakesANameThatNobodyNeedsAnyMore) {
  host().node.machine = "first";
  connect();
  disconnect();
  greet_from("another");
  EXPECT_EQ(engine->connected_nodes(), 1U);
  EXPECT_EQ(world.state().nodes().front().spec.machine, "another");
  connect();
  EXPECT_EQ(world.state().nodes().front().spec.machine, "another") << "it is there, and was first";
}

// The one before would get it again from a server that starts anew and finds its name in the
// journal.
TEST_F(AgentsEngineTest, AnotherMachineGetsNothingToDoBeforeItStandsInTheJournal) {
  const auto starts = [&] {
    return std::count_if(to_agents.begin(), to_agents.end(), [](const ServerFrame& frame) {
      return frame.message && std::holds_alternative<StartWorker>(*frame.message);
    });
  };
  host().node.machine = "first";
  connect();
  disk_full = true;
  disconnect();
  greet_from("another");
  EXPECT_EQ(engine->connected_nodes(), 1U);
  world.submit("1");
  world.round();
  act();
  EXPECT_EQ(starts(), 0) << "the plan means the first one";
  disk_full = false;
  commit();
  EXPECT_EQ(starts(), 1);
}

TEST_F(AgentsEngineTest, AServerThatStartedAnewKnowsWhichMachineHasTheName) {
  host().node.machine = "first";
  connect();
  const JobId job = run("1");
  restart_server();
  greet_from("another");
  EXPECT_EQ(engine->connected_nodes(), 0U);
  EXPECT_EQ(state(job), JobState::running);
}

TEST_F(AgentsEngineTest, NothingIsAcknowledgedBeforeItIsDurable) {
  connect();
  const JobId job = run("1");
  disk_full = true;
  host().tell(CheckpointSeen{key(job, 1, 0), 1, clock.now(), "/a.pt", 100, {}});
  run_until_quiet();
  restart_server();  // what was told is lost with the server
  disk_full = false;
  connect();
  EXPECT_EQ(world.job(job).checkpoint->path, "/a.pt");
}

TEST_F(AgentsEngineTest, TakesNoMoreThanItCanHoldUntilItIsDurable) {
  connect();
  const JobId job = run("1");
  disk_full = true;
  for (std::uint64_t i = 1; i <= 3 * AgentsEngine::Options{}.news_max; ++i) {
    host().tell(WorkerReport{key(job, 1, 0), i, clock.now(), i, {}, {}, {}, {}, {}, {}, {}, {}});
    if (i % 100 == 0) run_until_quiet();
  }
  EXPECT_LE(engine->observe().events.size(), AgentsEngine::Options{}.news_max);
}

TEST_F(AgentsEngineTest, ALaterServerHearsTheEndThatAnEarlierOneCouldNotKeep) {
  connect();
  const JobId job = run("1");
  disk_full = true;
  end(key(job, 1, 0));
  restart_server();
  disk_full = false;
  connect();
  EXPECT_EQ(state(job), JobState::completed);
  EXPECT_TRUE(host().kept.empty());
}

class LostNodeTest : public AgentsEngineTest {
 protected:
  LostNodeTest() : AgentsEngineTest("2x2 cpu") {
    for (auto& [id, machine] : machines) machine.host.node.lease = std::chrono::minutes{15};
    connect(0);
    connect(1);
  }
};

TEST_F(LostNodeTest, ItsWorkersAreLostAfterTheLeaseAndKilledShouldTheyReturn) {
  const JobId job = run("4");
  EXPECT_EQ(host(1).count<Start>(), 2U);
  disconnect(1);
  pass(std::chrono::minutes{16});
  EXPECT_EQ(state(job), JobState::running) << "clocks differ, and a connection ends late";
  pass(lost_after(std::chrono::minutes{15}) - std::chrono::minutes{16});
  EXPECT_EQ(state(job), JobState::stopping);
  EXPECT_EQ(host(0).count<GiveNotice>(), 2U) << "the rest of the gang";
  connect(1);
  EXPECT_EQ(host(1).count<Kill>(), 2U);
}

TEST_F(LostNodeTest, AShorterLeaseIsNotBelievedOfWorkersThatMayNotHaveHeardOfIt) {
  const JobId job = run("4");
  disconnect(1);
  host(1).node.lease = std::chrono::minutes{1};
  connect(1);
  disconnect(1);
  pass(lost_after(std::chrono::minutes{1}));
  EXPECT_EQ(state(job), JobState::running);
  pass(lost_after(std::chrono::minutes{15}) - lost_after(std::chrono::minutes{1}));
  EXPECT_EQ(state(job), JobState::stopping);
}

TEST_F(LostNodeTest, WorkersStartWithTheLeaseOfTheirMachine) {
  run("4");
  for (const agent::Action& action : host(1).actions) {
    if (const auto* start = std::get_if<Start>(&action)) {
      ASSERT_TRUE(start->worker.lease);
      EXPECT_EQ(start->worker.lease->left, std::chrono::minutes{15});
      EXPECT_EQ(start->worker.lease->grace, std::chrono::minutes{2});
    }
  }
  EXPECT_EQ(host(1).count<Start>(), 2U);
}

TEST_F(LostNodeTest, AJobThatContinuesIsWaitedFor) {
  const JobId job = run("4 on_disconnect=continue");
  for (const agent::Action& action : host(1).actions) {
    const auto* start = std::get_if<Start>(&action);
    EXPECT_FALSE(start != nullptr && start->worker.lease);
  }
  disconnect(1);
  pass(std::chrono::hours{24});
  EXPECT_EQ(state(job), JobState::running);
  connect(1);
  EXPECT_EQ(host(1).count<Kill>(), 0U);
  disconnect(1);
  ASSERT_TRUE(engine->count_off(host(1).node.name, "root"));
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::stopping);
}

// A server that comes back counts anew: it doesn't know when its machines heard of it last.
TEST_F(LostNodeTest, AfterARestartOfTheServerTheLeaseCountsFromThere) {
  const JobId job = run("4");
  disconnect(1);
  pass(std::chrono::minutes{10});
  restart_server();
  connect(0);
  pass(std::chrono::minutes{15});
  EXPECT_EQ(state(job), JobState::running);
  pass(std::chrono::minutes{2});
  EXPECT_EQ(state(job), JobState::stopping);
}

// Its worker outlived what the server waited for: its slots are given to nobody before it is gone.
TEST_F(LostNodeTest, OneThatRetiredAndComesBackGetsNothingInASlotThatIsStillInUse) {
  const JobId job = run("4");
  disconnect(1);
  pass(lost_after(std::chrono::minutes{15}));
  world.cancel(job);
  act();
  for (std::int32_t rank : {0, 1}) end(key(job, 1, rank), 0);
  ASSERT_EQ(state(job), JobState::cancelled);
  tell(NodesRetired{{NodeId{1}}});
  ASSERT_TRUE(world.state().nodes()[1].retired);
  const JobId next = world.submit("4");
  round();
  EXPECT_EQ(state(next), JobState::pending) << "it has no slots any more";
  connect(1);
  EXPECT_EQ(world.state().nodes().size(), 2U);
  EXPECT_TRUE(world.state().nodes()[1].up);
  EXPECT_EQ(host(1).count<Kill>(), 2U);
  round();
  EXPECT_EQ(state(next), JobState::starting);
  EXPECT_EQ(host(1).count<Start>(), 2U) << "those of the first job";
  for (std::int32_t rank : {2, 3}) end(key(job, 1, rank), 1);
  EXPECT_EQ(host(1).count<Start>(), 4U);
  EXPECT_EQ(host(1).kept.size(), 2U);
}

TEST_F(LostNodeTest, AServerThatStartedAnewKnowsOneThatRetired) {
  disconnect(1);
  pass(lost_after(std::chrono::minutes{15}));
  tell(NodesRetired{{NodeId{1}}});
  restart_server();
  connect(0);
  connect(1);
  EXPECT_EQ(world.state().nodes().size(), 2U);
  EXPECT_TRUE(world.state().nodes()[1].up);
  EXPECT_EQ(world.state().slots_ever(), 4);
}

TEST_F(LostNodeTest, ItsWorkersAreLostAtOnceWhereItsOperatorSaysThatItIsOff) {
  const JobId job = run("4");
  EXPECT_EQ(engine->count_off(host(1).node.name, "root").error().code, ErrorCode::conflict);
  EXPECT_EQ(engine->count_off("nobody", "root").error().code, ErrorCode::not_found);
  disconnect(1);
  ASSERT_TRUE(engine->count_off(host(1).node.name, "root"));
  run_until_quiet();
  EXPECT_EQ(state(job), JobState::stopping);
  const auto ends = told_of<WorkerEnded>();
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends.front().ending.cause, Cause::node_lost);
  EXPECT_EQ(ends.front().ending.message, "root said that node " + host(1).node.name + " is off");
  EXPECT_FALSE(world.state().nodes()[1].up) << "it is not waited for";
  connect(1);
  EXPECT_EQ(host(1).count<Kill>(), 2U) << "it wasn't, and is back";
}

// The word is in the journal, once, however often it is said: a server that starts anew says it again.
TEST_F(LostNodeTest, ThatItIsOffIsToldOnceUntilItIsHeardAgain) {
  const std::string name = host(1).node.name;
  const auto words = [this] { return told_of<NodeOff>(); };
  disconnect(1);
  ASSERT_TRUE(engine->count_off(name, "root"));
  ASSERT_TRUE(engine->count_off(name, "ann"));
  run_until_quiet();
  EXPECT_EQ(words(), std::vector({NodeOff{NodeId{1}, "root"}}));
  EXPECT_EQ(world.state().nodes()[1].off_by, "root");
  tell(NodesRetired{{NodeId{1}}});
  restart_server();
  ASSERT_TRUE(engine->count_off(name, "root"));
  run_until_quiet();
  EXPECT_EQ(words().size(), 1U);
  connect(1);
  EXPECT_EQ(world.state().nodes()[1].off_by, "");
  disconnect(1);
  ASSERT_TRUE(engine->count_off(name, "ann"));
  run_until_quiet();
  EXPECT_EQ(words().size(), 2U);
}

TEST_F(LostNodeTest, OneThatLeftCountsAsDownAtOnce) {
  const std::string name = host(1).node.name;
  const auto is_up = [this] { return world.state().nodes()[1].up; };
  disconnect(1);
  ASSERT_TRUE(is_up()) << "it may be back in a moment";
  engine->left(name);
  run_until_quiet();
  EXPECT_FALSE(is_up());
  connect(1);
  EXPECT_TRUE(is_up()) << "it joined anew";
  disconnect(1);
  EXPECT_TRUE(is_up());
  connect(1);
  engine->left(name);
  run_until_quiet();
  EXPECT_TRUE(is_up()) << "its connection has yet to end";
  disconnect(1);
  EXPECT_FALSE(is_up());
  engine->left(name);
  engine->left("nobody");
  run_until_quiet();
  EXPECT_EQ(told_of<NodeDown>().size(), 2U);
}

// Of seed 20022013: what a server that is always down again after a moment starts there, nobody ever hears of.
TEST_F(LostNodeTest, OneThatLeftIsDownForAServerThatStartsAnewBeforeAnythingIsDecided) {
  disconnect(1);
  restart_server();
  ASSERT_TRUE(world.state().nodes()[1].up);
  engine->left(host(1).node.name);
  run_until_quiet();
  EXPECT_FALSE(world.state().nodes()[1].up);
}

TEST_F(LostNodeTest, AWorkerNeverSentToANodeThatIsDownIsNotWaitedFor) {
  const JobId job = world.submit("4");
  engine->disconnected(machines[1].session);
  machines[1].agent->disconnected();
  round();
  EXPECT_EQ(state(job), JobState::starting);
  pass(seconds{5});
  EXPECT_EQ(told_of<WorkerEnded>().size(), 2U);
  EXPECT_EQ(state(job), JobState::stopping);
}

// ---- what a node may say ----

// Two nodes of two slots, with a job on each. The second is another's by now, and says whatever it
// likes.
class StrangeNodeTest : public AgentsEngineTest {
 protected:
  StrangeNodeTest() : AgentsEngineTest("2x2 cpu") {
    connect(0);
    connect(1);
    others = run("2");
    own = run("2");
    engine->disconnected(std::exchange(machines[1].session, {}));
    greet({});
  }

  void greet(std::vector<Claim> claims) {
    session = Session{++sessions};
    number = 0;
    engine->connected(session);
    say(Hello{host(1).node, "boot-1", std::move(claims)});
  }
  // As its frame is read.
  void say(const AgentMessage& message) {
    const auto read = decode_agent_frame(encode({session, number + 1, 0, 0, message, clock.now()}));
    if (!read) return;
    ++number;
    engine->receive(*read);
    run_until_quiet();
  }
  WorkerReport report(const ProcessKey& process) {
    return {process, 99, clock.now(), 1'000, {}, {}, {}, {}, {}, {}, {}, {{"accuracy", 1.0}}};
  }
  // All that is told of the other node's job.
  std::size_t told_of_others() {
    return static_cast<std::size_t>(std::ranges::count_if(told, [&](const Event& event) {
      const auto job = [](const auto& e) -> std::optional<JobId> {
        if constexpr (requires { e.job; })
          return e.job;
        else if constexpr (requires { e.worker; })
          return e.worker.job;
        else
          return std::nullopt;
      };
      return std::visit(job, event) == others;
    }));
  }

  JobId others, own;
  Session session;
  std::uint64_t number = 0;
};

TEST_F(StrangeNodeTest, IsNotHeardAboutTheWorkersOfOthers) {
  const ProcessKey foreign = key(others, 1, 0);
  greet({{foreign, 4711, {}, false, {0}}});  // as if it held its claim
  told.clear();
  say(report(foreign));
  say(CheckpointSeen{foreign, 100, clock.now(), "/evil.pt", 1'000, {}});
  say(ModelSeen{foreign, 100, clock.now(), "/evil.pt", "", {}, {}, {}});
  say(WorkerWarning{foreign, Warning::no_rendezvous, true});
  say(WorkerRuns{foreign, 4712});
  say(WorkerGone{foreign, Cause::exited, 0, 0, "", clock.now()});
  EXPECT_EQ(told_of_others(), 0U);
  EXPECT_TRUE(points.empty());
  EXPECT_EQ(state(others), JobState::running);
  EXPECT_FALSE(world.job(others).checkpoint);
}

TEST_F(StrangeNodeTest, EndsNoWorkerForATimeThatNobodyLimited) {
  const ProcessKey process = key(own, 1, 0);
  greet({{process, 4711, {}, false, {0}}, {key(own, 1, 1), 4712, {}, false, {1}}});
  say(WorkerGone{process, Cause::timed_out, {}, 0, "", clock.now()});
  say(WorkerGone{key(own, 1, 1), Cause::signalled, {}, 9, "", clock.now()});
  EXPECT_NE(state(own), JobState::timeout);
}

// Whatever it says in whatever order: nothing of another node's changes, and the server lives.
TEST_F(StrangeNodeTest, WhateverItSaysLeavesOthersAlone) {
  const Job before = world.job(others);
  Rng rng(11);
  const auto process = [&] {
    return ProcessKey{JobId{static_cast<std::uint32_t>(rng.below(5))},
                      Generation{static_cast<std::uint32_t>(rng.below(4))},
                      static_cast<std::int32_t>(rng.between(-1, 3))};
  };
  const auto time = [&] { return clock.now() + seconds{rng.between(-100, 100)}; };
  const auto anything = [&]() -> AgentMessage {
    switch (rng.below(8)) {
      case 7:
        return ModelSeen{process(), rng.below(200), time(), "/evil.pt", "", {}, {}, {}};
      case 0:
        return WorkerRuns{process(), rng.between(-1, 9)};
      case 1:
        return report(process());
      case 2:
        return CheckpointSeen{process(), rng.below(200), time(), "/evil.pt", {}, {}};
      case 3:
        return WorkerWarning{process(), Warning::no_rendezvous, rng.chance(0.5)};
      case 4:
        return WorkerGone{
            process(),
            static_cast<Cause>(rng.below(static_cast<std::uint64_t>(Cause::missing) + 1)),
            static_cast<std::int32_t>(rng.between(-1, 300)),
            static_cast<std::int32_t>(rng.between(-1, 70)),
            "because",
            time()};
      case 5: {
        NodeSpec node = host(1).node;
        node.slots.resize(rng.below(4));
        return NodeChanged{std::move(node)};
      }
      default:
        return Hello{host(1).node, "boot-2", {{process(), 1, {}, false, {0, 1, 2}}}};
    }
  };
  for (int i = 0; i < 3'000; ++i) {
    if (rng.chance(0.05)) greet({{process(), 1, {}, true, {7}}});
    say(anything());
    if (rng.chance(0.1)) round();
    if (is_over(state(own))) own = world.submit("2 retry=3");
    if (rng.chance(0.02)) pass(seconds{40});
  }
  EXPECT_EQ(state(others), JobState::running);
  EXPECT_EQ(world.job(others).current, before.current);
  EXPECT_EQ(world.job(others).progress, before.progress);
  EXPECT_FALSE(world.job(others).checkpoint);
}

TEST(LocalLinkTest, CarriesAGreetingBothWays) {
  World world("1x4 cpu");
  ManualClock clock(world.now());
  NotingHost host;
  host.node = world.state().nodes()[0].spec;
  AgentsEngine engine(clock, [](JobId) { return LaunchSpec{}; }, {});
  engine.act(world.state(), {});
  agent::Agent agent(host);
  agent.start();
  LocalLink link(engine, agent);
  int woken = 0;
  link.on_wake([&] { ++woken; });
  link.open();
  agent.step(clock.now());
  EXPECT_EQ(woken, 1);
  link.pump();
  EXPECT_EQ(engine.connected_nodes(), 1U);
  link.close();
  EXPECT_EQ(engine.connected_nodes(), 0U);
}

// ---- whatever happens to processes that go on ----

class RandomGangsTest : public AgentsEngineTest {
 protected:
  void step() {
    pass(seconds{1});
    if (is_over(state(job))) job = world.submit("1..4@2 elastic=restart retry=9");
    if (state(job) == JobState::pending) return begin_again();
    if (rng.chance(0.3)) return say_something();
    switch (rng.below(8)) {
      case 0:
        return change_agent();
      case 1:
        return change_server();
      case 2:
        return rng.chance(0.3) ? end_somebody() : pass(seconds{5});
      case 3:
      case 4:
        return leave();
      case 5:
      case 6:
        return change();
      default:
        return all_run();
    }
  }
  void say_something() {
    const auto current = world.job(job).current ? world.job(job).current->generation.value : 0;
    for (const ProcessKey& one : alive())
      if (rng.chance(0.7)) says(one, one.born.value, rng.chance(0.7) ? current : 0);
  }
  void begin_again() {
    pass(std::chrono::hours{1});
    world.start(job, 2);
    act();
    run_until_quiet();
  }
  void change_agent() {
    restart_agent();
    connect();
  }
  void change_server() {
    restart_server();
    connect();
  }
  [[nodiscard]] std::vector<ProcessKey> alive() {
    std::vector<ProcessKey> all;
    for (const auto& [process, claim] : host().kept)
      if (!claim.gone && claim.pid != 0) all.push_back(process);
    return all;
  }
  void end_somebody() {
    if (const auto all = alive(); !all.empty()) end(all[rng.below(all.size())]);
  }
  // Those that were told to.
  void leave() {
    for (const ProcessKey& process : alive()) {
      const bool is_to_go = host().kept.at(process).noticed || dismissed.contains(process);
      if (!is_to_go && !killed.contains(process)) continue;
      host().gone({process, Cause::signalled, {}, 15, "", agents_time()});
      run_until_quiet();
    }
  }
  void change() {
    if (state(job) != JobState::running) return;
    const Gang& gang = *world.job(job).current;
    std::vector<std::pair<std::uint32_t, std::optional<ProcessKey>>> fillers;
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      const auto& lease = world.state().slot({NodeId{0}, slot}).lease;
      const auto rank = lease ? gang.rank_of(lease->worker) : std::nullopt;
      if (rng.chance(rank ? 0.8 : 0.5))
        fillers.emplace_back(slot, rank ? std::optional(lease->worker) : std::nullopt);
    }
    for (std::size_t i = fillers.size(); i > 1; --i)
      std::swap(fillers[i - 1], fillers[rng.below(i)]);
    std::vector<std::uint32_t> slots;
    std::vector<Survivor> survivors;
    for (const auto& [slot, process] : fillers) {
      if (process) survivors.push_back({*process, static_cast<std::int32_t>(slots.size())});
      slots.push_back(slot);
    }
    if (survivors.empty()) return;
    try {
      resize_in_place(job, slots, survivors);
    } catch (const std::invalid_argument&) {
      return;
    }
    ++changes;
  }
  // Each process is started once, and one that is to go on is neither told to stop nor lost.
  void look() {
    for (; seen < host().actions.size(); ++seen) {
      const auto& action = host().actions[seen];
      if (const auto* kill = std::get_if<Kill>(&action)) killed.insert(kill->key);
      if (const auto* left = std::get_if<Dismiss>(&action)) dismissed.insert(left->key);
      const auto* start = std::get_if<Start>(&action);
      EXPECT_TRUE(!start || started.insert(start->worker.key).second) << "a second start";
    }
    const auto& gang = world.job(job).current;
    for (std::int32_t rank = 0; gang && rank < gang->size(); ++rank) {
      const Worker& worker = gang->workers[static_cast<std::size_t>(rank)];
      if (worker.state != WorkerState::running) continue;
      const ProcessKey process = gang->process(job, rank);
      ASSERT_TRUE(host().kept.contains(process));
      if (gang->stop) continue;
      EXPECT_FALSE(dismissed.contains(process));
      EXPECT_FALSE(host().kept.at(process).noticed);
      EXPECT_FALSE(killed.contains(process));
    }
    for (const auto& ended : told_of<WorkerEnded>())
      EXPECT_NE(ended.ending.cause, Cause::node_lost) << ended.ending.message;
    told.clear();
  }

  Rng rng{7};
  JobId job;
  std::size_t seen = 0;
  std::set<ProcessKey> started, killed, dismissed;
  int changes = 0;
};

TEST_F(RandomGangsTest, AreStartedOnceAndLeftAlone) {
  connect();
  job = run("1..4@2 elastic=restart");
  for (int i = 0; i < 5'000 && !HasFailure(); ++i) {
    step();
    look();
  }
  EXPECT_GT(changes, 60);
  world.cancel(job);
  act();
  run_until_quiet();
  all_run();
  for (int i = 0; i < 2; ++i) {
    look();
    leave();
  }
  EXPECT_TRUE(host().kept.empty());
}

}  // namespace
}  // namespace paceline
