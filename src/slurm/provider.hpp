// Who brings nodes: a list of what was asked for, asking, and giving back. Slurm does it by its
// commands (commands/slurm_commands.hpp). Every call waits for Slurm, and may be made on any thread,
// one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "slurm/pilot.hpp"
#include "slurm/settings.hpp"

namespace paceline {

class NodeProvider {
 public:
  virtual ~NodeProvider() = default;

  // All pilots of the server, also those that were over a moment ago. Errors: unavailable: nothing is
  // known now; data.
  virtual Result<std::vector<Pilot>> list(std::string_view server) = 0;
  // Asks for one under this name. Errors: conflict: Slurm doesn't want it, in its own words;
  // unavailable: whether it was taken, list() will tell.
  virtual Result<std::uint64_t> ask(const std::string& name, const std::string& script) = 0;
  // It ends; one that is over stays so. Errors: unavailable.
  virtual Result<void> give_back(std::uint64_t job) = 0;
  // Would Slurm ever run such a script? Nothing is asked for. Errors: conflict, not_found: there is no
  // Slurm here; unavailable.
  virtual Result<void> try_out(const std::string& script) = 0;
  // From a node of Slurm's: is the program there, and does the server's address answer? False: no node is
  // free to look from now. Errors: conflict: it isn't, and what to do; not_found.
  virtual Result<bool> prove(const PilotSettings& settings, const PilotCall& call) = 0;
};

}  // namespace paceline
