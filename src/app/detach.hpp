// `paceline up --detach`: the command ends once the server serves, and the server goes on without its
// terminal.
//
//   Detached detached;
//   if (detached.begin()) return detached.wait();   // the process that was typed
//   …                                               // the server: what fails is still said there
//   detached.serve("/srv/paceline/server.log", greeting);
#pragma once

#include <string>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline {

class Detached {
 public:
  // Splits the process in two: true in the one that was typed. REQUIRES: one thread. Errors: storage
  // (no process, no pipe).
  Result<bool> begin();
  // Prints the greeting. The exit code: 0, or the server's where it ended before it served.
  int wait();
  // The server serves: from here on it says to the file what it says. Errors: storage.
  Result<void> serve(const std::string& log, const std::string& greeting);

 private:
  UniqueFd news_;  // the greeting, then its end
  int server_ = 0;
};

}  // namespace paceline
