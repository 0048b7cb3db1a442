// Sends checkpoints that lie on a machine alone to the server when they are asked for, as
// app/checkpoint_sender.hpp does: what the way to the server refuses is tried again, until the machine's
// agent dies or a newer checkpoint of the job is asked for. Some can't be sent, or lie on a file system that
// all machines share.
#pragma once

#include <map>

#include "base/rng.hpp"
#include "faults/faulty_machine.hpp"
#include "faults/faulty_server.hpp"
#include "faults/world_habits.hpp"

namespace paceline::faults {

class FaultySender {
 public:
  // All outlive it, and what is put into the scene's queue.
  FaultySender(Scene& scene, FaultyServer& server, FaultyMachine& machine,
               const SenderHabits& habits, Rng rng);
  FaultySender(const FaultySender&) = delete;
  FaultySender& operator=(const FaultySender&) = delete;

 private:
  void send(const WantedCheckpoint& wanted);
  void try_after(Duration span, const WantedCheckpoint& wanted);
  void try_now(const WantedCheckpoint& wanted);
  KeptCheckpoint outcome(const WantedCheckpoint& wanted);

  Scene& scene_;
  FaultyServer& server_;
  FaultyMachine& machine_;
  const SenderHabits habits_;
  Rng rng_;
  std::map<JobId, std::pair<ProcessKey, std::uint64_t>> newest_;  // that was asked for
};

}  // namespace paceline::faults
