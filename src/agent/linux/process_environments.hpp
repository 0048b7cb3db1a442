// The environments of processes, read on the agent's loop. A process can keep whoever reads its own waiting for
// ever (memory_files.hpp), so that is waited for once: one that doesn't show it is asked again a second later,
// for a moment, and then each time after twice as long.
//
//   ProcessEnvironments environments;
//   const auto read = environments.read(pids, [&](pid_t pid, const MemoryFile& environment) {
//     if (environment.error == ETIMEDOUT) …  // whatever it may hold
//   });
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "agent/linux/memory_files.hpp"
#include "base/result.hpp"

namespace paceline::agent {

class ProcessEnvironments {
 public:
  using Take = std::function<void(pid_t pid, const MemoryFile& environment)>;

  // Hands over each of them, in any order; ETIMEDOUT: it isn't shown now. New processes, too, that keep it
  // waiting hold it up for a quarter of the time at most, and for half a second at once. Errors: storage,
  // where nobody can be asked.
  Result<void> read(const std::vector<pid_t>& pids, const Take& take);

 private:
  using Steady = std::chrono::steady_clock;
  struct Silence {
    std::uint64_t start_time = 0;  // of the process
    Steady::duration pause{};
    Steady::time_point ask_at;
  };

  Result<void> ask(const std::vector<pid_t>& pids, MemoryPatience patience, const Take& take);
  void note(pid_t pid, bool silent);

  std::map<pid_t, Silence> silent_;
  // Last:
  Steady::time_point waited_;
  Steady::time_point asked_again_;
  Steady::time_point warned_;
};

}  // namespace paceline::agent
