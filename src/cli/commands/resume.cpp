#include "cli/commands/kinds.hpp"

namespace paceline {

Command resume_command() {
  return request_command(
      {"resume", "", "Jobs", "Let paused and held jobs go on", "paceline resume 7", {}}, "resume");
}

}  // namespace paceline
