// Where the server is: --server, $PACELINE_DIR, /run/paceline, then the user's own data folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace paceline {

inline constexpr std::string_view kSocketName = "paceline.sock";

// The path of the socket to use. With `server` (a socket, or a directory that has one) or
// PACELINE_DIR only that; else the first of the usual places where a server answers. Errors:
// unavailable, forbidden.
Result<std::string> find_server(const std::optional<std::string>& server,
                                const Environment& environment);

// The directory that 'paceline up' uses when none is named: $PACELINE_DIR, else
// $XDG_DATA_HOME/paceline, else ~/.local/share/paceline. Errors: invalid (no HOME either).
Result<std::string> default_directory(const Environment& environment);

}  // namespace paceline
