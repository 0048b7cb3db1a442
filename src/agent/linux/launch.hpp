// Starts a program as a worker: in the group, as the owner, in the directory, with the log as its
// output; or says in one sentence why that can't be.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "agent/linux/claim.hpp"
#include "base/result.hpp"

namespace paceline::agent {

struct LaunchedProgram {
  std::vector<std::string> command;
  int log = -1;  // stdout and stderr, opened for appending
  int terminal =
      -1;  // >= 0: the slave of a pseudo terminal, which becomes stdin, stdout and stderr instead
};

// Forks and execs `program` with user, directory, umask and environment of `order`, inside `group`.
// The new process leads a session of its own and dies with its parent. Blocks only until the exec
// has happened. REQUIRES: a single-threaded caller, which is the program's supervisor. Errors:
// invalid, whose message is for the owner of the job; storage, where trying again can help: the
// machine lacks something.
Result<pid_t> launch(const WorkerOrder& order, const WorkerGroup& group,
                     const LaunchedProgram& program);

}  // namespace paceline::agent
