// Which versions of server and agent talk with each other.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace paceline {

struct LinkVersions {
  std::string_view server, agent;  // of their programs: "0.1.0"
};

// Both have one major version, and minor versions that differ by one at most. Errors: conflict, with
// which of them to upgrade; invalid: one is no version.
Result<void> check_versions(LinkVersions versions);

}  // namespace paceline
