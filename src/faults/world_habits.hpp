// What one world is like, drawn from its seed: how many people, machines and misfortunes, and the
// bounds that its server and machines are given. Small bounds are met often.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rng.hpp"
#include "faults/fault_options.hpp"
#include "scheduler/controller.hpp"
#include "slurm/settings.hpp"

namespace paceline::faults {

// In all; the ports that all machines have in common are enough for any gang nevertheless.
inline constexpr int kPortsTakenForGood = 2;

// Worlds of these seeds and those above know machines that join, renew, are removed and are copied, and
// pilots of Slurm. Those below are as they were counted before.
inline constexpr std::uint64_t kJoiningSeeds = 20'000'000;

// Of a world to which Slurm brings nodes.
struct PilotHabits {
  Rng rng;  // of all that is drawn for it
  PilotSettings settings;
  std::uint32_t hosts = 1;  // of Slurm's, each for one pilot at a time
};

// How machines send checkpoints that lie on one of them alone.
struct SenderHabits {
  Duration takes{};     // at most
  bool shared = false;  // it turns out that all machines see them
  double unkept = 0;    // the part that can't be sent
};
// Of a world whose machines do.
struct CopyHabits {
  Rng rng;              // of all that is drawn for it
  double machines = 1;  // the part of them that does
  SenderHabits sender = {};
};

// Of a world whose machines join.
struct JoiningHabits {
  Rng rng;                   // of all that is drawn for it
  bool own_machine = false;  // the first one is the server's own, and doesn't join
  bool copy = false;         // of the first that joins there is a copy
  std::uint64_t more = 0;    // machines, beside the others
  Duration lifetime{};       // of certificates
  std::optional<PilotHabits> pilots = {};
  std::optional<CopyHabits> copies = {};
};

struct WorldHabits {
  int jobs = 0;      // that people submit
  Duration every{};  // at most, between two deeds of people and between two misfortunes
  bool crash_every_commit = false;
  Controller::Options server;
  EngineBounds engine;
  int shadow_work_max = 0;       // pieces of it after a step
  std::size_t unstored_max = 0;  // reports that a machine tells before one is stored
  bool frames_as_text = false;   // they travel as JSON, not as values
  std::uint64_t machines = 1;
  std::optional<Duration> lease;  // of each
  std::string patience;           // of the policies that people choose; empty: as a policy has it
  std::optional<Rng>
      ports;          // what the ports of machines are drawn from; nothing: they tell of none
  bool twin = false;  // another machine bears the first one's name
  std::optional<JoiningHabits> joining;
  bool passes_over = false;          // the server keeps only so many points
  std::optional<Rng> log_mischance;  // of the removal of logs, where jobs are kept for a while only
};

// A range of a few blocks, which meets any other one of the world in most of them.
PortRange draw_ports(Rng& rng, bool joining);

// `rng`: the world's own, which is drawn from further on.
WorldHabits draw_world(const FaultOptions& options, Rng& rng);

}  // namespace paceline::faults
