// Work that may take long, or for ever on a file system or a name service that hangs, on one thread of its
// own: whoever asks for it never waits.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace paceline {

class Chores {
 public:
  // `patience` is that of its end.
  explicit Chores(std::chrono::milliseconds patience = std::chrono::seconds{1});
  // Waits for the chore under way, but not for long: one that hangs is left behind.
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  // Done in order; what has not begun when the chores end is dropped. Must not throw.
  void add(std::function<void()> chore);
  // Where there could be no thread, tries again, as the next add() does.
  void begin();

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::chrono::milliseconds patience_;
  bool begun_ = false;
};

}  // namespace paceline
