// Slurm by its own commands (squeue, sbatch, scancel), as any user of a cluster has them. Each is a child
// process that is given a bounded time, whose answer is bounded, and that ends with this program.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "slurm/provider.hpp"

namespace paceline {

struct SlurmAnswer {
  int exit_code = 0;  // 128 + the signal where it died by one
  std::string output, errors;
};

// Runs a program of $PATH with `input`. Errors: not_found: there is no such program; unavailable: it took
// longer than `patience`, said more than `bytes_max`, or can't be started.
struct SlurmCall {
  std::vector<std::string> words;  // the first is the program
  std::string input = {};
  std::vector<std::string> environment = {};  // "NAME=value", beside this process's
  std::chrono::milliseconds patience = std::chrono::seconds{30};
  std::size_t bytes_max = 8 << 20;
};
Result<SlurmAnswer> run_slurm(const SlurmCall& call);

class SlurmCommands final : public NodeProvider {
 public:
  Result<std::vector<Pilot>> list(std::string_view server) override;
  Result<std::uint64_t> ask(const std::string& name, const std::string& script) override;
  Result<void> give_back(std::uint64_t job) override;
  Result<void> try_out(const std::string& script) override;
  Result<bool> prove(const PilotSettings& settings, const PilotCall& call) override;
};

}  // namespace paceline
