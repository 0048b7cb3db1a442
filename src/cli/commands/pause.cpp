#include "cli/commands/kinds.hpp"

namespace paceline {

Command pause_command() {
  return request_command(
      {"pause", "", "Jobs", "Freeze running jobs where they are", "paceline pause 7", {}}, "pause");
}

}  // namespace paceline
