#include "cli/commands/kinds.hpp"

namespace paceline {

Command cancel_command() {
  return request_command(
      {"cancel", "", "Jobs", "End jobs: notice, grace, kill", "paceline cancel 7 8", {}}, "cancel");
}

}  // namespace paceline
