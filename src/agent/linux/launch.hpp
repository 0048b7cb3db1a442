// Starts a program as a worker: in the group, as the owner, in the directory, with the log as its
// output; or says in one sentence why that can't be.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/linux/claim.hpp"
#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

// What to do about a directory or a program that is not on this machine.
inline constexpr std::string_view kWaysOut =
    " Put it there ('rsync'), or on a file system that the nodes share, or send it along: submit "
    "with "
    "--ship.";

struct LaunchedProgram {
  std::vector<std::string> command;
  int log = -1;  // stdout and stderr, opened for appending
  int terminal =
      -1;  // >= 0: the slave of a pseudo terminal, which becomes stdin, stdout and stderr instead
  int ipc = -1;  // >= 0: the namespace of System V IPC that it enters
};

// A program on its way: forked, and not yet known to run or to have failed.
struct Launch {
  pid_t pid = 0;
  UniqueFd report;  // readable once the exec has happened or failed
  std::vector<std::string> command;
};

// Forks, and in the child execs `program` with user, directory, umask, environment and /dev/shm of
// `order`, inside `group`. The new process leads a session of its own and dies with its parent.
// Doesn't wait for the exec, which takes as long as the file systems of directory and program do.
// REQUIRES: a single-threaded caller, which is the program's supervisor. Errors: storage (the
// machine lacks something).
Result<Launch> launch(const WorkerOrder& order, const WorkerGroup& group, LaunchedProgram program);

// What became of it: nothing where the program runs, or ended before it could. REQUIRES: its report
// is readable, or its process has ended. Errors: not_found (its directory or its program) and invalid,
// whose message is for the owner of the job; storage, where trying again can help: the machine lacks something;
// unavailable: the same, but on the job's own directory or program, whose file system may be its owner's.
Result<void> outcome(const WorkerOrder& order, const Launch& launch);

}  // namespace paceline::agent
