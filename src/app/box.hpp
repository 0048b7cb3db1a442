// The all-in-one: one process that is the server and this machine's agent, joined by the same
// protocol that joins two machines.
#pragma once

#include <memory>
#include <string>

#include "app/build.hpp"
#include "app/resident.hpp"
#include "base/result.hpp"
#include "cli/cli.hpp"

namespace paceline {

class Box final : public Resident {
 public:
  // Opens the directory, recovers the state, finds the machine's slots, adopts what still trains,
  // and listens. Errors: conflict (another server has the directory), storage, data, invalid.
  static Result<std::unique_ptr<Resident>> open(const UpOptions& options, const Build& build);
  ~Box() override;

  [[nodiscard]] std::string greeting() const override;
  void run() override;
  [[nodiscard]] std::string farewell() const override;

 private:
  struct Impl;
  explicit Box(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
