// Two machines of one name, as a copied disk or a forgotten setting makes them: the second comes and
// goes. Once it is calm either is reached while the other is not, and what they hold is taken from
// both.
#pragma once

#include "faults/faulty_machine.hpp"
#include "faults/scene.hpp"

namespace paceline::faults {

class Twin {
 public:
  // Both outlive it. It is away at first.
  Twin(Scene& scene, FaultyMachine& first, FaultyMachine& second);

 private:
  void come();
  void go();
  void reach(bool reached);
  void reach(FaultyMachine& machine, bool reached);

  Scene& scene_;
  FaultyMachine& first_;
  FaultyMachine& second_;
};

}  // namespace paceline::faults
