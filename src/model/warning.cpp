#include "model/warning.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace paceline {

std::string sentence(Warning warning, std::int32_t workers, std::int32_t slots) {
  switch (warning) {
    case Warning::no_rendezvous:
      return fmt::format(
          "none of its {0} workers has opened MASTER_PORT since they started: a script that "
          "doesn't "
          "read RANK and WORLD_SIZE trains the same model {0} times (one worker that sees all "
          "slots: "
          "--slots-per-worker {1})",
          workers, slots);
    case Warning::no_directory:
      return "what travels with it has not come to all of its nodes yet: one of them lacks room "
             "for it, "
             "or "
             "the server's connection to it is cut or hangs; no retry is spent";
  }
  check(false, "a warning is one of its enumerators");
  return {};
}

}  // namespace paceline
