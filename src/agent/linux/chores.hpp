// File work that may take long, or for ever on a file system that hangs, on one thread of its own:
// the agent's thread never waits for it.
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace paceline::agent {

class Chores {
 public:
  // What is left to do on the thread of `io` when a chore is done; may be empty.
  using Rest = std::function<void()>;

  explicit Chores(boost::asio::io_context& io);
  // Waits for the chore under way, but not for long: one that hangs is left behind.
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  // Done in order; what has not begun when the chores end is dropped, rests included. Must not
  // throw.
  void add(std::function<Rest()> chore);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace paceline::agent
