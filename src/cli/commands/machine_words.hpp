// What `up` and `agent` are both told of the machine that they run on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/commands/hooks.hpp"
#include "cli/commands/options.hpp"

namespace paceline {

struct MachineWords {
  std::optional<std::string> slots, memory, node, rack, network_switch, advertise, health_check,
      log_level;
  std::vector<std::string> labels, limits;
};

void declare(Options& options, MachineWords& typed);
// No command goes to --server here. Errors: invalid: it is named; `option` says what is meant.
Result<void> refuse_server(const std::optional<std::string>& server, std::string_view option);
// Errors: invalid, too_large: with the option in front.
Result<MachineOptions> read_machine(const MachineWords& typed);

// `error`, with the option that it is about in front.
tl::unexpected<Error> refused_option(std::string_view option, Error error);
// "/srv/p/" and "p" as "/srv/p". Errors: invalid.
Result<std::string> absolute_directory(std::string_view option, const std::string& directory);

}  // namespace paceline
