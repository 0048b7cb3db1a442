// Ctrl-C (SIGINT) and SIGTERM as something to look at: commands that follow a job leave cleanly
// and say how to come back. Without an Interrupt in scope both signals end the process as usual.
#pragma once

#include "base/time.hpp"

namespace paceline {

class Interrupt {
 public:
  // Takes both signals over until destroyed. REQUIRES: no other Interrupt is alive.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // The signal that arrived, or 0.
  static int pending();
  // Readable once a signal arrived; -1 where no Interrupt is alive. For poll().
  static int fd();
  // Waits. False: a signal arrived before the time was up.
  static bool sleep(Duration duration);
  // As if `signal` had arrived. REQUIRES: an Interrupt is alive.
  static void raise(int signal);
};

}  // namespace paceline
