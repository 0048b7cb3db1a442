// How a machine of a world joins: what its program keeps on the disk, asks the server and does with the
// answers (app/joined_server.hpp, app/agent_box.hpp). What decides is in joining/entrance.hpp.
#pragma once

#include <optional>
#include <string>

#include "faults/faulty_machine.hpp"
#include "faults/gate.hpp"
#include "joining/entrance.hpp"

namespace paceline::faults {

class Joiner {
 public:
  struct Habits {
    Duration look_every{};  // for a certificate that runs out
  };
  // All outlive it.
  Joiner(Scene& scene, Gate& gate, FaultyMachine& machine, const Habits& habits);

  void begin() { look(); }
  [[nodiscard]] FaultyMachine& machine() { return machine_; }

  // Somebody pastes the line of an invitation: the agent ends, and joins by it when it begins again.
  void paste(std::string token);
  // Its disk is that of another machine.
  void copy(const Joiner& of);

  // Its agent is there, and the server hears it.
  [[nodiscard]] bool serves() const { return machine_.runs() && machine_.link().carries(); }
  // Nothing goes on by itself: somebody has to let it join. Nothing: it does; else why not.
  [[nodiscard]] std::optional<Error> stuck() const;
  [[nodiscard]] bool joins() const { return token_.has_value(); }

 private:
  bool enter();
  void ask();
  void hear(const Result<Paper>& answer);
  bool accept(const Paper& paper);
  void look();
  void renew();
  void note_end();
  [[nodiscard]] Newcomer as();
  [[nodiscard]] std::optional<KeptIdentity> kept() const;

  Scene& scene_;
  Gate& gate_;
  FaultyMachine& machine_;
  const Habits habits_;

  // ---- on its disk ----
  std::optional<Paper> paper_;
  std::optional<std::string> asking_;  // the key that a certificate is asked for

  std::optional<std::string> token_;
  std::optional<Error> problem_;  // of its entrance
  bool entering_ = false, renewing_ = false;
  std::uint64_t asked_ = 0;          // for another certificate than the one that it has
  std::optional<Time> there_since_;  // its agent, without a break, with the certificate that it has
};

}  // namespace paceline::faults
