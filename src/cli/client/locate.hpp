// Where the server of this machine is: --server, $PACELINE_DIR, the machine's (/run/paceline), then the user's own
// data folder.
#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/words/console.hpp"

namespace paceline {

inline constexpr std::string_view kSocketName = "paceline.sock";
// Among contexts (cli/client/contexts.hpp), and as --server: this machine's server.
inline constexpr std::string_view kLocalContext = "local";

// The server of a machine that everybody uses, which is root's: where it serves, and what it keeps.
inline constexpr std::string_view kSystemSockets = "/run/paceline";
inline constexpr std::string_view kSystemState = "/var/lib/paceline";
// Of a machine that lends its slots to another one's server: what its agent keeps.
inline constexpr std::string_view kSystemAgent = "/var/lib/paceline-agent";

// What a variable says; nothing: it is not there, or empty.
std::optional<std::string> value_of(const Environment& environment, const std::string& name);

// Where the machine's server is; elsewhere in tests.
struct MachinePlaces {
  std::string sockets{kSystemSockets};
  std::string state{kSystemState};
};

// The path of the socket to use. With `server` (a socket, or a directory that has one) or
// PACELINE_DIR only that; else the first of the usual places where a server answers. Errors:
// unavailable, forbidden; where the machine has a server, none of them advises another one.
Result<std::string> find_server(const std::optional<std::string>& server,
                                const Environment& environment, const MachinePlaces& machine = {});

// The directory that 'paceline up' uses when none is named: $PACELINE_DIR, else root's is
// kSystemState and other people's their data folder. Errors: as data_folder().
Result<std::string> default_directory(const Environment& environment, uid_t user = ::geteuid());

// The directory that 'paceline agent' uses when none is named: root's is kSystemAgent, other people's
// stands beside their data folder. Errors: as data_folder().
Result<std::string> agent_directory(const Environment& environment, uid_t user = ::geteuid());

// $XDG_DATA_HOME/paceline, else ~/.local/share/paceline. Errors: invalid (no HOME either).
Result<std::string> data_folder(const Environment& environment);

// The same where no variable tells, in the home of the account: a service has no HOME. Nothing: there
// is no such account.
std::optional<std::string> data_folder_of(uid_t user);

}  // namespace paceline
