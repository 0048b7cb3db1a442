// Beside a training: takes the signal that asks this worker to make room, and asks Paceline whether to
// stop.
#pragma once

#include <signal.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "descriptor.hpp"
#include "failure.hpp"
#include "generations.hpp"

namespace paceline::runtime {

// One at a time in a process, since there is one SIGTERM.
class Attendant {
 public:
  // `socket`: the worker socket's path; empty: there is none.
  static Outcome<std::unique_ptr<Attendant>> open(std::string socket);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  // Until here SIGTERM ends the process: there is nothing to save. From now on it is noted.
  void begin();
  // From now on asks once a second, where there is a worker socket.
  void ask();
  // The signal that asks this worker to make room; 0: none has come.
  [[nodiscard]] int notice() const;
  // From now on hears of the gang's generations, where there is a worker socket.
  void hear();
  // nullptr: it hears nothing.
  [[nodiscard]] Generations* generations() const { return generations_.get(); }
  // The model is good enough.
  [[nodiscard]] bool should_stop() const { return should_stop_; }

 private:
  explicit Attendant(std::string socket);
  void work();

  std::string socket_;
  Descriptor ended_;  // readable once this one ends
  struct sigaction before_ {};
  std::atomic<bool> should_stop_ = false;
  std::thread asks_;
  std::unique_ptr<Generations> generations_;
};

}  // namespace paceline::runtime
