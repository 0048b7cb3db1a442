// The supervisor of one worker: a small process that outlives agent and server. It starts the
// worker, obeys its control channel, reaps every descendant (it is their subreaper, so double forks
// and new sessions stay below it), and is over only when nothing of the tree is left. It holds the
// claim's lock and the machine-wide locks of the worker's devices and ports meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "files/fd.hpp"

namespace paceline::agent {

// What a supervisor is born with.
struct Inheritance {
  UniqueFd claim;              // the claim, locked
  UniqueFd listener;           // of the control channel
  std::vector<UniqueFd> held;  // locks of devices and ports, and what holds the status port
};

// Supervises until the worker is gone. Returns the exit status of the process that called it.
// REQUIRES: a single-threaded process of its own, which leads its session.
int supervise(Inheritance inheritance);

// The hidden sub-command `paceline supervise`: the nursery (nursery.hpp), which forks the
// supervisors of one agent and ends with it. Takes the whole command line.
int supervise_main(int argc, char** argv);

}  // namespace paceline::agent
