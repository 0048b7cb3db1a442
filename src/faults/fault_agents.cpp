// The agents of a FaultWorld.
#include <utility>

#include "faults/fault_world.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAgentStepDelay = 100us;  // from a wake-up to the step
// After so much of the time after which its workers count as lost a machine ends them by itself.
constexpr std::int64_t kPartOfLost = 2;

constexpr Duration kTwinStays = 20s, kTwinIsAway = 40s;  // at most
constexpr Duration kTwinTakesTurns = 5min;               // with the first one, once it is calm

}  // namespace

void FaultWorld::start_agent(std::size_t i) {
  Machine& machine = machines_[i];
  ledger_.note("agent starts", machine.name);
  machine.clock->start_process();
  machine.agent = std::make_unique<agent::Agent>(*machine.host);
  machine.step_put = false;
  machine.timer.reset();
  machine.agent->on_send([this, &machine](const AgentFrame& frame) {
    ledger_.sent(frame);
    machine.link->send(frame);
  });
  machine.agent->on_wake([this, i] { wake_agent(i); });
  machine.agent->start();
  machine.link->set_agent(machine.agent.get());
  wake_agent(i);
}

void FaultWorld::stop_agent(std::size_t i, Duration back_after) {
  Machine& machine = machines_[i];
  if (!machine.agent) return;
  ++machine.life;
  machine.host->agent_died();
  machine.link->set_agent(nullptr);
  machine.agent.reset();
  queue_.after(back_after, [this, i] { start_agent(i); });
}

void FaultWorld::wake_agent(std::size_t i) {
  if (std::exchange(machines_[i].step_put, true)) return;
  queue_.after(kAgentStepDelay, [this, i, life = machines_[i].life] {
    if (life == machines_[i].life) step_agent(i);
  });
}

void FaultWorld::step_agent(std::size_t i) {
  machines_[i].step_put = false;
  machines_[i].agent->step(machines_[i].clock->now());
  set_agent_timer(i);
}

void FaultWorld::set_agent_timer(std::size_t i) {
  Machine& machine = machines_[i];
  auto due = machine.agent->next_due();
  if (due) due = machine.clock->true_time(*due);
  if (!due || (machine.timer && *machine.timer <= *due && *machine.timer > queue_.now())) return;
  machine.timer = due;
  queue_.at(*due, [this, i, life = machine.life] {
    if (life == machines_[i].life) wake_agent(i);
  });
}

void FaultWorld::reconnect(std::size_t i) {
  Machine& machine = machines_[i];
  machine.link->connect();
  const Time now = queue_.now();
  if (machine.link->carries()) machine.heard = now;
  if (bounds_.lost_after && now - machine.heard > *bounds_.lost_after / kPartOfLost)
    machine.host->end_by_itself();
  queue_.after(100ms + up_to(1s), [this, i] { reconnect(i); });
}

// Once it is calm either is reached while the other is not: what they hold is taken from both.
void FaultWorld::twin_comes() {
  reach_twin(true);
  queue_.after(calm_ ? kTwinTakesTurns : up_to(kTwinStays), [this] { twin_goes(); });
}

void FaultWorld::twin_goes() {
  reach_twin(false);
  queue_.after(calm_ ? kTwinTakesTurns : up_to(kTwinIsAway), [this] { twin_comes(); });
}

void FaultWorld::reach_twin(bool reached) {
  Machine& twin = machines_.back();
  if (reached) ledger_.note("machine of the same name", twin.name);
  const auto set = [this](Machine& machine, bool is_reached) {
    machine.link->cut(is_reached ? FaultyLink::Cut{} : kBothWays);
    if (is_reached) return;
    machine.link->break_connection();
    if (calm_) ledger_.away(machine.id, queue_.now() + kTwinTakesTurns);
  };
  set(twin, reached);
  if (calm_) set(machines_.front(), !reached);
}

}  // namespace paceline::faults
