// What a machine may lack when a worker is started or ended, and whose fault an error is. One table
// for every host: agent/linux/ asks it about the errors it gets, the simulated host about those it
// makes up.
//
//   blame(StartStep::server, ENOSPC) == Cause::refused        the machine's: requeued, no retry spent
//   blame(StartStep::job, ENOENT)    == Cause::launch_failed  the job's own
#pragma once

#include <span>
#include <string_view>

#include "model/job_state.hpp"

namespace paceline::agent {

// Whose things a step of a start or an end works on.
enum class StartStep {
  server,  // claim, log, ports, sockets, control group, supervisor, processes, descriptors
  job,     // its directory, its program
};

struct Want {
  int error_number = 0;
  bool of_the_job = false;  // the machine's fault on the job's own things, too
  std::string_view remedy;  // what an administrator does about it
};

std::span<const Want> wants();

// The want that the error tells of; nullptr: none.
const Want* find_want(int error_number);

// Cause::refused, or Cause::launch_failed.
Cause blame(StartStep step, int error_number);

}  // namespace paceline::agent
