// Those who keep a world's machines: they invite them, paste lines, also old ones and once more, remove nodes
// and let them join again, and do what a machine that is stuck says. A copy of one comes and goes.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "faults/gate.hpp"
#include "faults/joiner.hpp"
#include "faults/scene.hpp"

namespace paceline::faults {

class Keepers {
 public:
  struct Habits {
    Duration every{};  // at most, between two deeds
  };
  // Both outlive them.
  Keepers(Scene& scene, Gate& gate, const Habits& habits, Rng rng)
      : scene_(scene), gate_(gate), habits_(habits), rng_(rng) {}

  // A machine that is to join; it outlives them.
  void add(Joiner& joiner) { wards_.push_back({joiner}); }
  // A copy of the first of them, which is made when it comes first. It outlives them.
  void add_copy(Joiner& copy) { copy_ = &copy; }

  void begin();
  // From now on they let every machine join, and copies are switched off for good.
  void calm();
  // Every machine is a node that is heard.
  [[nodiscard]] bool done() const;
  // REQUIRES: it was calm for long enough.
  void check_rest();

 private:
  struct Ward {
    Joiner& joiner;
    bool arrived = false;
    std::optional<Time> back_at = {};  // once it was removed
  };

  void act();
  void look_after(Ward& ward);
  void let_join(Ward& ward);
  void help(Ward& ward);
  void remove(Ward& ward);
  void remove_off(Ward& ward);
  void say_off(Ward& ward);
  void come_back(Ward& ward);
  void switch_off_copy_of(const std::string& name);
  void switch_off_copy();
  void paste_again(Ward& ward);
  std::optional<std::string> draw_token();
  void bring_copy();
  void take_copy();
  void watch_first();
  void note_absent();
  [[nodiscard]] Duration up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }

  Scene& scene_;
  Gate& gate_;
  const Habits habits_;
  Rng rng_;
  std::deque<Ward> wards_;
  Joiner* copy_ = nullptr;
  bool copied_ = false;
  std::optional<Time> cut_off_since_;  // the first one, whose workers run
  std::vector<std::string> tokens_;
};

}  // namespace paceline::faults
