// The all-in-one: one process that is the server and this machine's agent, joined by the same
// protocol that joins two machines.
#pragma once

#include <memory>
#include <string>

#include "app/build.hpp"
#include "base/result.hpp"
#include "cli/cli.hpp"

namespace paceline {

class Box {
 public:
  // Opens the directory, recovers the state, finds the machine's slots, adopts what still trains,
  // and listens. Errors: conflict (another server has the directory), storage, data, invalid.
  static Result<std::unique_ptr<Box>> open(const UpOptions& options, const Build& build);
  ~Box();

  // What it found and the next command to type.
  [[nodiscard]] std::string greeting() const;
  // Serves until it is told to leave.
  void run();
  // What goes on without it, and how to come back.
  [[nodiscard]] std::string farewell() const;

 private:
  struct Impl;
  explicit Box(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
