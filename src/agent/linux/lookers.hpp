// The lookers of an agent, one per user who waits for checkpoint files: started when needed, ended
// when idle, left behind when they hang. Users don't wait for each other.
//
//   Lookers lookers(io, [&](UniqueFd socket) { return nursery.raise_looker(std::move(socket)); });
//   lookers.look({uid, "*.pt", "/home/ann"}, [](std::optional<CheckpointSearch> found, Duration took) { … });
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "agent/linux/looker.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "files/fd.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline::agent {

class Lookers {
 public:
  // Nothing: there was no answer in time. `took`: as long as it took, for each look of the user that is due
  // by then, itself included: so one that is quick among slow ones counts little.
  using Done = std::function<void(std::optional<CheckpointSearch> found, Duration took)>;
  // Starts a process that runs run_looker() on the socket.
  using Raise = std::function<Result<void>(UniqueFd socket)>;

  // `patience`: how long an answer may take.
  Lookers(boost::asio::io_context& io, Raise raise,
          std::chrono::milliseconds patience = std::chrono::seconds{kLookSecondsMax + 1});
  ~Lookers();
  Lookers(const Lookers&) = delete;
  Lookers& operator=(const Lookers&) = delete;

  // Looks once those before of the same user are done. Calls `done` from a handler of `io`, but not
  // any more once the lookers are gone.
  void look(LookRequest request, Done done);

  // Processes of a user that hang; beyond, nothing more is looked for until one of them ends.
  static constexpr std::size_t kHangingMax = 4;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace paceline::agent
