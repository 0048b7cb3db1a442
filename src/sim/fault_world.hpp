// The whole control plane in one thread on virtual time: server, agents, machines, network, people,
// and everything that can go wrong with them, from one seed. The same seed gives the same digest.
//
//   MemoryStore disk;
//   FaultWorld world({.seed = 7}, disk, make_engine);
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
#include "policy/registry.hpp"
#include "scheduler/controller.hpp"
#include "sim/event_queue.hpp"
#include "sim/faulty_store.hpp"
#include "sim/ledger.hpp"
#include "sim/people.hpp"
#include "sim/sim_host.hpp"
#include "sim/sim_link.hpp"
#include "wire/agent_link.hpp"

namespace paceline::sim {

// The engine under test: one object with two faces.
struct EngineUnderTest {
  std::unique_ptr<Engine> engine;
  ServerEnd* end = nullptr;
};
using MakeEngine = std::function<EngineUnderTest(Clock&, std::function<Result<LaunchSpec>(JobId)>)>;

struct FaultOptions {
  std::uint64_t seed = 1;
  Duration faults_for = std::chrono::minutes{10};
  Duration calm_for_max = std::chrono::hours{6};  // by then everything is over
  bool disks_fill = true;
};

struct FaultReport {
  std::vector<std::string> faults;
  std::uint64_t digest = 0;
  std::map<std::string, std::uint64_t> happened;  // how often
  std::size_t jobs = 0;
  Duration took{};
};

inline constexpr Duration kClockErrorMax = std::chrono::minutes{1};

class FaultWorld {
 public:
  FaultWorld(const FaultOptions& options, Store& disk, MakeEngine make_engine);
  ~FaultWorld();

  // Called once.
  FaultReport run();

 private:
  struct Machine {
    std::unique_ptr<SimHost> host;
    std::unique_ptr<SimLink> link;
    std::unique_ptr<agent::Agent> agent;
    std::uint64_t life = 0;  // of the agent; what was put for an earlier one is void
    bool step_put = false;
    std::optional<Time> timer;
  };
  // What the server takes for the time: wrong by as much as it was set wrong.
  struct ServerClock final : Clock {
    explicit ServerClock(EventQueue& queue) : time(queue) {}
    Time now() override { return time.now() + ahead; }
    EventQueue& time;
    Duration ahead{};
  };
  struct Server {
    EngineUnderTest parts;
    std::unique_ptr<Controller> controller;
  };

  void build_machines();
  // ---- driving ----
  void start_server();
  void stop_server();
  void wake_server();
  void step_server();
  void set_server_timer();
  void start_agent(std::size_t i);
  void stop_agent(std::size_t i, Duration back_after);
  void wake_agent(std::size_t i);
  void step_agent(std::size_t i);
  void set_agent_timer(std::size_t i);
  void reconnect(std::size_t i);
  // ---- what goes wrong (misfortunes.cpp) ----
  void befall();
  void crash_server(std::size_t);
  void crash_agent(std::size_t i);
  void restart_machine(std::size_t i);
  void kill_supervisor(std::size_t i);
  void break_connection(std::size_t i);
  void cut_link(std::size_t i);
  void fill_disk(std::size_t);
  void set_clock(std::size_t);
  void change_devices(std::size_t i);
  // ---- the end ----
  void heal();
  [[nodiscard]] bool at_rest() const;
  void check_rest();
  Duration up_to(Duration most);

  FaultOptions options_;
  EventQueue queue_;
  Rng rng_;
  Ledger ledger_;
  FaultyStore store_;
  ServerClock server_clock_{queue_};
  MakeEngine make_engine_;
  PolicyRegistry policies_;
  std::uint64_t sessions_ = 0;
  std::vector<Machine> machines_;
  std::optional<Server> server_;
  std::uint64_t server_life_ = 0;
  bool server_step_put_ = false;
  std::optional<Time> server_timer_;
  std::optional<People> people_;
  Duration misfortune_every_{};
  bool calm_ = false;
  FaultReport report_;
};

}  // namespace paceline::sim
