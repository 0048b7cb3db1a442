// Was a member of a gang stopped by somebody (SIGSTOP, Ctrl-Z)? The others wait for it, and can't tell
// it from one that computes. Watched is the process of the worker that waits for news of its gang; one that
// a debugger holds ('t') is not stopped.
//
//   StoppedWatch watch;
//   watch.watch(identify(peer.pid));
//   if (watch.look(now)) kill();
#pragma once

#include <chrono>
#include <optional>

#include "agent/linux/process.hpp"

namespace paceline::agent {

// So long a member may be stopped: the others hear of it within 2 s.
inline constexpr auto kStoppedMax = std::chrono::milliseconds{1500};

class StoppedWatch {
 public:
  using Steady = std::chrono::steady_clock;

  void watch(const ProcessId& process) { process_ = process; }
  // Paceline itself has it wait: the time begins anew.
  void excuse() { since_.reset(); }
  // True: each look found it stopped, for kStoppedMax by now. Looks four times a second. Where this
  // process did not look for a second, the time begins anew.
  bool look(Steady::time_point now);

 private:
  ProcessId process_;
  std::optional<Steady::time_point> since_, looked_;
};

}  // namespace paceline::agent
