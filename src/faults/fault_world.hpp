// The whole control plane in one thread on virtual time: server, agents, machines, network, people,
// and everything that can go wrong with them, from one seed. The same seed gives the same digest.
//
//   MemoryStore disk;
//   FaultWorld world({.seed = 7}, {disk, make_engine, policies, scripts});
//   FaultReport report = world.run();
//   report.faults    → empty, or one sentence for each thing that must not happen
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "base/rng.hpp"
#include "engine/engine.hpp"
#include "faults/event_queue.hpp"
#include "faults/faulty_host.hpp"
#include "faults/faulty_link.hpp"
#include "faults/faulty_store.hpp"
#include "faults/ledger.hpp"
#include "faults/people.hpp"
#include "faults/set_clock.hpp"
#include "policy/registry.hpp"
#include "scheduler/controller.hpp"
#include "wire/agent_link.hpp"

namespace paceline::faults {

// The engine under test: one object with two faces.
struct EngineUnderTest {
  std::unique_ptr<Engine> engine;
  ServerEnd* end = nullptr;
};
// What the engine holds to, as AgentsEngine::Options says.
struct EngineBounds {
  std::optional<Duration> lost_after;
  std::size_t news_max = 10'000;
};
using MakeEngine = std::function<EngineUnderTest(Clock&, std::function<Result<LaunchSpec>(JobId)>,
                                                 const EngineBounds&)>;

// What the world is made of; all of it outlives the world.
struct FaultParts {
  Store& disk;  // empty
  const MakeEngine& make_engine;
  const MakeClock& make_clock;
  const PolicyRegistry& policies;
  const std::vector<std::string>& scripts;  // texts of policies that people bring
};

// The server dies once, at its n-th commit, counted from 1. `effects`: frames sent by
// then, for CrashPoint::between_effects.
struct PlannedCrash {
  std::uint64_t commit = 1;
  CrashPoint point = CrashPoint::before_commit;
  std::uint64_t effects = 0;
};

struct FaultOptions {
  std::uint64_t seed = 1;
  Duration faults_for = std::chrono::minutes{10};
  Duration calm_for_max = std::chrono::hours{6};  // by then everything is over
  bool misfortunes = true;                        // false: only the network is bad
  bool disks_fill = true;
  std::optional<PlannedCrash> crash;
  std::optional<int> jobs;  // that people submit; else as many as chance wants
  // Called with one line for each thing that happens, and its time since the beginning.
  std::function<void(Duration since, std::string_view line)> story;
};

struct FaultReport {
  std::vector<std::string> faults;
  std::uint64_t digest = 0;
  Happened happened;
  std::uint64_t commits = 0;
  std::size_t jobs = 0;
  Duration took{};
};

inline constexpr Duration kClockErrorMax = std::chrono::hours{24 * 10};
// Of a run: more of them mean that it goes in circles.
inline constexpr std::uint64_t kEventsMax = 1'000'000;

class FaultWorld {
 public:
  FaultWorld(FaultOptions options, const FaultParts& parts);
  ~FaultWorld();

  // Called once.
  FaultReport run();

 private:
  struct Machine {
    std::string name;
    std::string id;  // its own, where another one has its name
    std::unique_ptr<SetClock> clock;
    std::unique_ptr<FaultyHost> host;
    std::unique_ptr<FaultyLink> link;
    std::unique_ptr<agent::Agent> agent;
    Time heard;              // when frames went through its connection last
    std::uint64_t life = 0;  // of the agent; what was put for an earlier one is void
    bool step_put = false;
    std::optional<Time> timer;
  };
  struct Server {
    EngineUnderTest parts;
    std::unique_ptr<Controller> controller;
  };

  // ---- the beginning ----
  void build();
  static void keep_all_points(Limits& limits);
  void draw_bounds();
  void draw_more_bounds(Rng& rng);
  void draw_forgetting();
  NodeSpec draw_node(std::uint64_t number);
  void build_machine(const LinkHabits& link, NodeSpec node);
  void build_twin(const LinkHabits& link);
  void run_events();
  // ---- driving the server ----
  void start_server();
  Server build_server();
  void listen_to(Server& server);
  bool recover();
  void arm_crash();
  void stop_server();
  void wake_server();
  void step_server();
  void work_in_the_shadow();
  void set_server_timer();
  // ---- driving agents (fault_agents.cpp) ----
  void start_agent(std::size_t i);
  void stop_agent(std::size_t i, Duration back_after);
  void wake_agent(std::size_t i);
  void step_agent(std::size_t i);
  void set_agent_timer(std::size_t i);
  void reconnect(std::size_t i);
  void twin_comes();
  void twin_goes();
  void reach_twin(bool reached);
  // ---- what goes wrong (misfortunes.cpp) ----
  void befall();
  void crash_server(std::size_t);
  void restart_server_machine(std::size_t);
  void crash_agent(std::size_t i);
  void restart_machine(std::size_t i);
  void lose_machine_for_long(std::size_t i);
  void kill_supervisor(std::size_t i);
  void remove_claim(std::size_t i);
  void break_connection(std::size_t i);
  void cut_link(std::size_t i);
  void cut_one_way(std::size_t i);
  void cut_network(std::size_t);
  void fill_disk(std::size_t);
  void leave_commit_in_doubt(std::size_t);
  void put_in_want(std::size_t i);
  void set_clock(std::size_t);
  void set_machine_clock(std::size_t i);
  void change_devices(std::size_t i);
  void take_machine(std::size_t i, Duration back_after);
  void cut_for(std::size_t i, FaultyLink::Cut cut, Duration span);
  // ---- the end ----
  void heal();
  [[nodiscard]] bool at_rest() const;
  void check_reasons();
  void note_passed_over();
  void note_passed_over(JobId job);
  void note_forgotten(std::span<const Entry> entries);
  void check_rest();
  FaultReport report();
  Duration up_to(Duration most);
  Duration draw_clock_error();

  FaultOptions options_;
  const FaultParts parts_;
  EventQueue queue_;
  Rng rng_;
  Ledger ledger_;
  FaultyStore store_;
  SetClock server_clock_;
  Controller::Options server_options_;
  EngineBounds bounds_;
  int shadow_work_max_ = 0;
  std::size_t unstored_max_ = agent::kUnstoredMax;
  std::uint64_t sessions_ = 0;
  std::vector<Machine> machines_;
  std::optional<Server> server_;
  std::uint64_t server_life_ = 0;
  bool server_step_put_ = false;
  std::optional<Time> server_timer_;
  std::optional<People> people_;
  Duration misfortune_every_{};
  bool crash_every_commit_ = false;
  std::uint64_t crashes_armed_ = 0;
  std::optional<std::uint64_t> reasons_seen_;  // as of this entry
  bool calm_ = false;
};

}  // namespace paceline::faults
