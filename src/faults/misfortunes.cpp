// What befalls a FaultWorld until it heals.
#include <array>

#include "agent/wants.hpp"
#include "faults/fault_world.hpp"

namespace paceline::faults {

using namespace std::chrono_literals;

void FaultWorld::befall() {
  using Misfortune = void (FaultWorld::*)(std::size_t machine);
  static constexpr std::array<Misfortune, 20> kMisfortunes = {&FaultWorld::crash_server,
                                                              &FaultWorld::crash_server,
                                                              &FaultWorld::crash_server,
                                                              &FaultWorld::crash_server,
                                                              &FaultWorld::restart_server_machine,
                                                              &FaultWorld::crash_agent,
                                                              &FaultWorld::restart_machine,
                                                              &FaultWorld::lose_machine_for_long,
                                                              &FaultWorld::kill_supervisor,
                                                              &FaultWorld::remove_claim,
                                                              &FaultWorld::cut_link,
                                                              &FaultWorld::cut_one_way,
                                                              &FaultWorld::cut_network,
                                                              &FaultWorld::break_connection,
                                                              &FaultWorld::fill_disk,
                                                              &FaultWorld::leave_commit_in_doubt,
                                                              &FaultWorld::put_in_want,
                                                              &FaultWorld::set_clock,
                                                              &FaultWorld::set_machine_clock,
                                                              &FaultWorld::change_devices};
  if (calm_) return;
  queue_.after(up_to(misfortune_every_), [this] { befall(); });
  const auto machine = rng_.below(machines_.size());
  (this->*kMisfortunes[rng_.below(kMisfortunes.size())])(machine);
}

void FaultWorld::crash_server(std::size_t) {
  if (!server_) return;
  const auto point = rng_.below(kCrashPoints + 1);
  if (point == kCrashPoints) return stop_server();
  store_.crash_at_next(static_cast<CrashPoint>(point), rng_.below(4));
}

void FaultWorld::restart_server_machine(std::size_t) {
  if (!server_) return;
  ledger_.note("machine died", "of the server");
  stop_server();
  server_clock_.reboot();
  ledger_.stands_still(server_clock_.boot()->id);
}

void FaultWorld::crash_agent(std::size_t i) {
  ledger_.note("agent crash", machines_[i].name);
  stop_agent(i, up_to(30s));
}

void FaultWorld::restart_machine(std::size_t i) { take_machine(i, 5s + up_to(60s)); }

void FaultWorld::lose_machine_for_long(std::size_t i) {
  if (!rng_.chance(0.2)) return;
  ledger_.note("machine away for long", machines_[i].name);
  take_machine(i, 1min + up_to(10min));
}

// Nothing of it is left but its disk.
void FaultWorld::take_machine(std::size_t i, Duration back_after) {
  Machine& machine = machines_[i];
  if (!machine.agent) return;
  machine.host->reboot();
  ledger_.away(machine.id, queue_.now() + back_after);
  stop_agent(i, back_after);
  machine.clock->reboot();
  machine.clock->set_wrong(draw_clock_error());
}

void FaultWorld::kill_supervisor(std::size_t i) { machines_[i].host->supervisor_died(); }

void FaultWorld::remove_claim(std::size_t i) {
  if (!server_ || rng_.chance(0.5)) return;
  machines_[i].host->claim_lost([&](const ProcessKey& key) {
    const auto& gang = server_->controller->state().job(key.job).current;
    const auto rank = gang ? gang->rank_of(key) : std::nullopt;
    return rank && gang->workers[static_cast<std::size_t>(*rank)].pid != 0;
  });
}

void FaultWorld::break_connection(std::size_t i) {
  ledger_.note("connection broken", machines_[i].name);
  machines_[i].link->break_connection();
}

void FaultWorld::cut_link(std::size_t i) { cut_for(i, kBothWays, up_to(20s)); }

void FaultWorld::cut_one_way(std::size_t i) {
  const bool to_agent = rng_.chance(0.5);
  ledger_.count("link cut one way");
  cut_for(i, {to_agent, !to_agent}, up_to(20s));
}

void FaultWorld::cut_network(std::size_t) {
  ledger_.note("network cut");
  const Duration span = up_to(20s);
  for (std::size_t i = 0; i < machines_.size(); ++i) cut_for(i, kBothWays, span);
}

// Sometimes the connection survives it.
void FaultWorld::cut_for(std::size_t i, FaultyLink::Cut cut, Duration span) {
  ledger_.note("link cut", machines_[i].name);
  machines_[i].link->cut(cut);
  const bool breaks = rng_.chance(0.5);
  queue_.after(span, [this, i, breaks] {
    machines_[i].link->cut({});
    if (breaks) machines_[i].link->break_connection();
  });
}

void FaultWorld::fill_disk(std::size_t) {
  if (!options_.disks_fill) return;
  ledger_.note("disk full", "of the server");
  store_.set_full(true);
  queue_.after(up_to(20s), [this] { store_.set_full(false); });
}

void FaultWorld::leave_commit_in_doubt(std::size_t) {
  ledger_.note("commit in doubt", "of the server");
  store_.leave_next_in_doubt();
  if (rng_.chance(0.5)) return;
  queue_.after(up_to(2s), [this, life = server_life_] {
    if (server_ && life == server_life_) stop_server();
  });
}

void FaultWorld::put_in_want(std::size_t i) {
  const auto wants = agent::wants();
  const auto& want = wants[rng_.below(wants.size())];
  ledger_.note("machine in want", machines_[i].name);
  machines_[i].host->set_want(want.error_number);
  const Duration span = rng_.chance(0.2) ? up_to(5min) : up_to(20s);
  queue_.after(span, [this, i] { machines_[i].host->set_want({}); });
}

void FaultWorld::set_clock(std::size_t) {
  ledger_.note("clock set", "of the server");
  server_clock_.set_wrong(draw_clock_error());
  if (server_) wake_server();
}

void FaultWorld::set_machine_clock(std::size_t i) {
  ledger_.note("clock set", machines_[i].name);
  machines_[i].clock->set_wrong(draw_clock_error());
}

void FaultWorld::change_devices(std::size_t i) {
  machines_[i].host->change_devices();
  if (machines_[i].agent) machines_[i].agent->devices_changed();
}

}  // namespace paceline::faults
