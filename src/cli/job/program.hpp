// Whether a command can be started at all, found out at submission instead of on a leased slot.
#pragma once

#include <string>

#include "base/result.hpp"

namespace paceline {

struct ProgramQuery {
  std::string name;       // argv[0]
  std::string directory;  // that the job runs in
  std::string path;       // the job's PATH
};

// As execvpe() would look for it. Errors: not_found (nowhere, or may not be executed).
Result<void> find_program(const ProgramQuery& query);

}  // namespace paceline
