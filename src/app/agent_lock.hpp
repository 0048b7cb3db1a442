// One agent per directory: holds DIR/agent.lock for as long as it lives. The kernel lets go of it when
// the process ends, however it ends.
//
//   auto lock = AgentLock::take(dir);
//   if (!lock) return fail(lock.error());   // "An agent already runs on …/paceline-agent (pid 4711)."
//
// REQUIRES: children of the process exec() something.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline {

class AgentLock {
 public:
  // Makes the directory where there is none. Errors: conflict: another agent or a server has it;
  // forbidden, storage.
  static Result<AgentLock> take(const std::filesystem::path& dir);

 private:
  explicit AgentLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace paceline
