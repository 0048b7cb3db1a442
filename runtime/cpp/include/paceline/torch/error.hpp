// How a training ends before its time.
#pragma once

#include <stdexcept>

namespace paceline {

// Something that the program's author or user can mend; the message says how. What breaks among the
// ranks is a GroupError (runtime.hpp).
class PacelineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by Job::step() where this worker makes room, and where the next batch is asked for of a gang that
// goes on without it: the process is to end with this code. Where nobody catches it, it does.
struct Exit {
  int code;
};

}  // namespace paceline
