// The place on disk for the word how a worker ended, reserved when its supervisor starts: a worker
// that fills the disk must not end without a trace.
#pragma once

#include "agent/linux/claim.hpp"
#include "agent/linux/fd.hpp"

namespace paceline::agent {

class EndingFile {
 public:
  // Reserves the room in the claim's directory; where even that fails, write() tries with what
  // there is.
  explicit EndingFile(int claim);
  // Writes the claim's file `status` so that it is there whole or not at all.
  void write(const WorkerEnding& ending);

 private:
  int claim_;
  UniqueFd fd_;
};

}  // namespace paceline::agent
