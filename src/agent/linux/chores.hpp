// File work that may take long, or for ever on a file system that hangs, on one thread of its own:
// the agent's thread never waits for it.
#pragma once

#include <functional>
#include <memory>

namespace paceline::agent {

class Chores {
 public:
  Chores();
  // Waits for the chore under way, but not for long: one that hangs is left behind.
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  // Done in order; what has not begun when the chores end is dropped. Must not throw.
  void add(std::function<void()> chore);

 private:
  void begin();

  struct State;
  std::shared_ptr<State> state_;
  bool begun_ = false;
};

}  // namespace paceline::agent
