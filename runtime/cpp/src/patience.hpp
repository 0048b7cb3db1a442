// How long an operation waits without progress, counted in time in which this process ran: a process
// that was stopped, or whose machine slept, is not late when it goes on.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <span>

namespace paceline::runtime {

// While something else than a descriptor may end a wait, and where nobody listens yet.
inline constexpr std::chrono::milliseconds kLookEvery{100}, kDialAgain{20};

class Patience {
 public:
  // Zero: waits for ever.
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) {}

  // Until one of them is ready, or so long. False: the patience is at its end.
  bool wait(std::span<pollfd> descriptors, std::optional<std::chrono::milliseconds> at_most = {});
  // There was progress.
  void refresh() { waited_ = {}; }
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }

 private:
  std::chrono::milliseconds limit_;
  std::chrono::nanoseconds waited_{};
};

}  // namespace paceline::runtime
