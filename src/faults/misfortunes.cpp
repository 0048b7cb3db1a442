#include "faults/misfortunes.hpp"

#include <array>

#include "agent/wants.hpp"

namespace paceline::faults {

using namespace std::chrono_literals;

void Misfortunes::befall() {
  using Misfortune = void (Misfortunes::*)(FaultyMachine & machine);
  static constexpr std::array<Misfortune, 20> kAll = {&Misfortunes::crash_server,
                                                      &Misfortunes::crash_server,
                                                      &Misfortunes::crash_server,
                                                      &Misfortunes::crash_server,
                                                      &Misfortunes::restart_server_machine,
                                                      &Misfortunes::crash_agent,
                                                      &Misfortunes::restart_machine,
                                                      &Misfortunes::lose_machine_for_long,
                                                      &Misfortunes::kill_supervisor,
                                                      &Misfortunes::remove_claim,
                                                      &Misfortunes::cut_link,
                                                      &Misfortunes::cut_one_way,
                                                      &Misfortunes::cut_network,
                                                      &Misfortunes::break_connection,
                                                      &Misfortunes::fill_disk,
                                                      &Misfortunes::leave_commit_in_doubt,
                                                      &Misfortunes::put_in_want,
                                                      &Misfortunes::set_clock,
                                                      &Misfortunes::set_machine_clock,
                                                      &Misfortunes::change_devices};
  if (scene_.calm) return;
  scene_.queue.after(scene_.up_to(habits_.every), [this] { befall(); });
  FaultyMachine& machine = machines_[scene_.rng.below(machines_.size())];
  (this->*kAll[scene_.rng.below(kAll.size())])(machine);
}

void Misfortunes::crash_server(FaultyMachine&) {
  if (server_.controller() == nullptr) return;
  const auto point = scene_.rng.below(kCrashPoints + 1);
  if (point == kCrashPoints) return server_.stop();
  server_.store().crash_at_next(static_cast<CrashPoint>(point), scene_.rng.below(4));
}

void Misfortunes::restart_server_machine(FaultyMachine&) {
  if (server_.controller() != nullptr) server_.restart_machine();
}

void Misfortunes::crash_agent(FaultyMachine& machine) { machine.crash_agent(scene_.up_to(30s)); }

void Misfortunes::restart_machine(FaultyMachine& machine) {
  machine.restart(5s + scene_.up_to(60s));
}

void Misfortunes::lose_machine_for_long(FaultyMachine& machine) {
  if (!scene_.rng.chance(0.2)) return;
  scene_.ledger.note("machine away for long", machine.name());
  machine.restart(1min + scene_.up_to(10min));
}

void Misfortunes::kill_supervisor(FaultyMachine& machine) { machine.host().supervisor_died(); }

void Misfortunes::remove_claim(FaultyMachine& machine) {
  const Controller* server = server_.controller();
  if (server == nullptr || scene_.rng.chance(0.5)) return;
  machine.host().claim_lost([&](const ProcessKey& key) {
    const auto& gang = server->state().job(key.job).current;
    const auto rank = gang ? gang->rank_of(key) : std::nullopt;
    return rank && gang->workers[static_cast<std::size_t>(*rank)].pid != 0;
  });
}

void Misfortunes::break_connection(FaultyMachine& machine) {
  scene_.ledger.note("connection broken", machine.name());
  machine.link().break_connection();
}

void Misfortunes::cut_link(FaultyMachine& machine) {
  machine.cut_for(kBothWays, scene_.up_to(20s));
}

void Misfortunes::cut_one_way(FaultyMachine& machine) {
  const bool to_agent = scene_.rng.chance(0.5);
  scene_.ledger.count("link cut one way");
  machine.cut_for({to_agent, !to_agent}, scene_.up_to(20s));
}

void Misfortunes::cut_network(FaultyMachine&) {
  scene_.ledger.note("network cut");
  const Duration span = scene_.up_to(20s);
  for (FaultyMachine& machine : machines_) machine.cut_for(kBothWays, span);
}

void Misfortunes::fill_disk(FaultyMachine&) {
  if (!habits_.disks_fill) return;
  scene_.ledger.note("disk full", "of the server");
  server_.store().set_full(true);
  scene_.queue.after(scene_.up_to(20s), [this] { server_.store().set_full(false); });
}

void Misfortunes::leave_commit_in_doubt(FaultyMachine&) {
  scene_.ledger.note("commit in doubt", "of the server");
  server_.store().leave_next_in_doubt();
  if (scene_.rng.chance(0.5)) return;
  server_.stop_after(scene_.up_to(2s));
}

void Misfortunes::put_in_want(FaultyMachine& machine) {
  const auto wants = agent::wants();
  const auto& want = wants[scene_.rng.below(wants.size())];
  scene_.ledger.note("machine in want", machine.name());
  machine.host().set_want(want.error_number);
  const Duration span = scene_.rng.chance(0.2) ? scene_.up_to(5min) : scene_.up_to(20s);
  scene_.queue.after(span, [&machine] { machine.host().set_want({}); });
}

void Misfortunes::set_clock(FaultyMachine&) { server_.set_clock(); }

void Misfortunes::set_machine_clock(FaultyMachine& machine) { machine.set_clock(); }

void Misfortunes::change_devices(FaultyMachine& machine) { machine.change_devices(); }

}  // namespace paceline::faults
