// Programs on a world's machines that are no job's. They take ports that gangs may be given: now and
// then for a while, and a few for good. By a sequence of chance of their own.
#pragma once

#include <deque>

#include "base/rng.hpp"
#include "faults/faulty_machine.hpp"
#include "faults/scene.hpp"

namespace paceline::faults {

class Strangers {
 public:
  // All outlive them. REQUIRES: there is a machine when they begin.
  Strangers(Scene& scene, std::deque<FaultyMachine>& machines, Rng rng)
      : scene_(scene), machines_(machines), rng_(rng) {}

  void begin();

 private:
  enum class Stay { for_a_while, for_good };
  void come();
  void take_port(Stay stay);

  Scene& scene_;
  std::deque<FaultyMachine>& machines_;
  Rng rng_;
};

}  // namespace paceline::faults
