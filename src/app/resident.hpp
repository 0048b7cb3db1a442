// A program that stays until it is told to leave: `up` and `agent`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace paceline {

class Resident {
 public:
  virtual ~Resident() = default;

  // What it found and the next command to type.
  [[nodiscard]] virtual std::string greeting() const = 0;
  // Returns once it is told to leave.
  virtual void run() = 0;
  // What goes on without it, and how to come back.
  [[nodiscard]] virtual std::string farewell() const = 0;
};

struct Residence {
  bool detach = false;  // go on in the background once it is there
  std::string log;      // where it says then what it has to say
  std::function<Result<std::unique_ptr<Resident>>()> open;
  std::function<int(ErrorCode)> exit_code;  // where it can't be opened
};

// Opens and runs it, tells whoever started it, and returns the exit code.
int reside(const Residence& residence);
// On standard error. Returns the exit code of the residence.
int complain(const Residence& residence, const Error& error);

}  // namespace paceline
