// What befalls a world, now and then, until it is calm: machines, disks, connections and clocks fail,
// drawn by chance.
#pragma once

#include <deque>

#include "faults/faulty_machine.hpp"
#include "faults/faulty_server.hpp"
#include "faults/scene.hpp"

namespace paceline::faults {

class Misfortunes {
 public:
  struct Habits {
    Duration every{};  // at most, between two of them
    bool disks_fill = true;
  };
  // All of them outlive it. REQUIRES: there is a machine when it begins.
  Misfortunes(Scene& scene, FaultyServer& server, std::deque<FaultyMachine>& machines,
              const Habits& habits)
      : scene_(scene), server_(server), machines_(machines), habits_(habits) {}

  void begin() { befall(); }

 private:
  void befall();
  void crash_server(FaultyMachine&);
  void restart_server_machine(FaultyMachine&);
  void crash_agent(FaultyMachine& machine);
  void restart_machine(FaultyMachine& machine);
  void lose_machine_for_long(FaultyMachine& machine);
  void kill_supervisor(FaultyMachine& machine);
  void remove_claim(FaultyMachine& machine);
  void break_connection(FaultyMachine& machine);
  void cut_link(FaultyMachine& machine);
  void cut_one_way(FaultyMachine& machine);
  void cut_network(FaultyMachine&);
  void fill_disk(FaultyMachine&);
  void leave_commit_in_doubt(FaultyMachine&);
  void put_in_want(FaultyMachine& machine);
  void set_clock(FaultyMachine&);
  void set_machine_clock(FaultyMachine& machine);
  void change_devices(FaultyMachine& machine);

  Scene& scene_;
  FaultyServer& server_;
  std::deque<FaultyMachine>& machines_;
  const Habits habits_;
};

}  // namespace paceline::faults
