// What a server does with pilots beside deciding (app/pilots.hpp), on virtual time: it asks Slurm now and then,
// hands the answers to the program's PilotKeeper, and tells Slurm what that wants. Its settings outlive the
// server; somebody leaves Slurm and connects again.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "faults/faulty_slurm.hpp"
#include "faults/gate.hpp"
#include "faults/scene.hpp"
#include "pilots/pilot_keeper.hpp"

namespace paceline::faults {

class PilotDesk {
 public:
  // All outlive it.
  PilotDesk(Scene& scene, Gate& gate, FaultySlurm& slurm, PilotSettings settings, Rng rng);

  void begin();
  // Slurm is connected from now on.
  void calm();
  // The server came up, or went down with nullptr; after the gate's.
  void set_server(Controller* controller, Clock& clock);
  [[nodiscard]] ComingNodes coming() const;
  // Nothing of any pilot is left, as far as the server knows.
  [[nodiscard]] bool is_empty() const;

 private:
  void look();
  void take(const Result<std::vector<Pilot>>& listed);
  void send(const std::vector<PilotKeeper::Request>& requests);
  // `draining`: as FaultySlurm said when the request was made.
  PilotKeeper::Answer tell(const PilotKeeper::Request& request,
                           const std::set<std::uint64_t>& draining);
  void look_in(Duration span);
  void change_mind();
  void check_waiting();
  [[nodiscard]] std::int32_t slots_to_be_had(const Job& job) const;
  void connect();
  // Unless the server goes down before.
  void later(Duration span, std::function<void()> what);
  [[nodiscard]] Duration up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }

  Scene& scene_;
  Gate& gate_;
  FaultySlurm& slurm_;
  PilotSettings settings_;
  Rng rng_;
  bool connected_ = true, leaving_ = false;  // on the server's disk

  // ---- of the server that is up ----
  Controller* controller_ = nullptr;
  std::uint64_t life_ = 0;
  std::uint64_t looks_ = 0;  // what was put for an earlier one is void
  std::optional<PilotKeeper> keeper_;
};

}  // namespace paceline::faults
