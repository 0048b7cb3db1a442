// What befalls a FaultWorld until it heals.
#include <array>

#include "sim/fault_world.hpp"

namespace paceline::sim {

using namespace std::chrono_literals;

void FaultWorld::befall() {
  using Misfortune = void (FaultWorld::*)(std::size_t machine);
  static constexpr std::array<Misfortune, 11> kMisfortunes = {
      &FaultWorld::crash_server, &FaultWorld::crash_server,     &FaultWorld::crash_server,
      &FaultWorld::crash_agent,  &FaultWorld::restart_machine,  &FaultWorld::kill_supervisor,
      &FaultWorld::cut_link,     &FaultWorld::break_connection, &FaultWorld::fill_disk,
      &FaultWorld::set_clock,    &FaultWorld::change_devices};
  if (calm_) return;
  queue_.after(up_to(misfortune_every_), [this] { befall(); });
  const auto machine = rng_.below(machines_.size());
  (this->*kMisfortunes[rng_.below(kMisfortunes.size())])(machine);
}

void FaultWorld::crash_server(std::size_t) {
  if (!server_) return;
  switch (rng_.below(3)) {
    case 0:
      return store_.crash_at_next(CrashPoint::before_commit);
    case 1:
      return store_.crash_at_next(CrashPoint::after_commit);
    default:
      return stop_server();
  }
}

void FaultWorld::crash_agent(std::size_t i) {
  ledger_.note("agent crash");
  stop_agent(i, up_to(30s));
}

void FaultWorld::restart_machine(std::size_t i) {
  machines_[i].host->reboot();
  stop_agent(i, 5s + up_to(60s));
}

void FaultWorld::kill_supervisor(std::size_t i) { machines_[i].host->supervisor_died(); }

void FaultWorld::break_connection(std::size_t i) {
  ledger_.note("connection broken");
  machines_[i].link->break_connection();
}

// Sometimes the connection survives it.
void FaultWorld::cut_link(std::size_t i) {
  ledger_.note("link cut");
  machines_[i].link->cut(true);
  const bool breaks = rng_.chance(0.5);
  queue_.after(up_to(20s), [this, i, breaks] {
    machines_[i].link->cut(false);
    if (breaks) machines_[i].link->break_connection();
  });
}

void FaultWorld::fill_disk(std::size_t) {
  if (!options_.disks_fill) return;
  ledger_.note("disk full");
  store_.set_full(true);
  queue_.after(up_to(20s), [this] { store_.set_full(false); });
}

// Forwards: a clock never goes back while somebody reads it.
void FaultWorld::set_clock(std::size_t) {
  ledger_.note("clock set");
  server_clock_.ahead += up_to(kClockErrorMax);
}

void FaultWorld::change_devices(std::size_t i) {
  machines_[i].host->change_devices();
  if (machines_[i].agent) machines_[i].agent->devices_changed();
}

}  // namespace paceline::sim
