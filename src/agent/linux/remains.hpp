// What is left of a worker whose supervisor died: found by the control group and by the marker in
// the environment, killed, and only then counted as gone. REQUIRES: both are this worker's own
// (Marks::are_on()).
#pragma once

#include <string>

#include "agent/linux/cgroups.hpp"
#include "agent/linux/process.hpp"

namespace paceline::agent {

class Remains {
 public:
  Remains(CgroupPlan plan, std::string marker)
      : group_(std::move(plan)), marker_(std::move(marker)) {}

  // Freezes, kills and thaws everything found. True once nothing is left, control group included, and no
  // process either that doesn't show whose it is; call again until then. Reads all of /proc: some
  // milliseconds on a busy machine.
  [[nodiscard]] bool sweep() const;
  // The same, but kills nobody: true once everything found has ended by itself.
  [[nodiscard]] bool have_ended() const;

 private:
  [[nodiscard]] MarkedProcesses find() const;

  WorkerGroup group_;
  std::string marker_;
};

}  // namespace paceline::agent
