// Unix-domain sockets at paths of any length: a name over 107 bytes does not fit an address, so the
// address goes through /proc/self/fd/<the folder>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline {

// Who may connect, as the mode of the socket file.
enum class SocketAccess {
  owner,     // 0600
  everyone,  // 0666: who it is, the peer credentials say
};

// A listening, non-blocking socket at `path`; a socket file left there by a dead server is
// replaced. REQUIRES: the caller holds the lock of the folder, so that no living server listens
// there. Errors: conflict (something else than a socket is there), storage.
Result<UniqueFd> listen_unix(const std::filesystem::path& path, SocketAccess access);

// A socket connected to `path`. Errors: unavailable (nobody listens there), forbidden (this user may
// not connect).
enum class Connecting { blocking, non_blocking };
Result<UniqueFd> connect_unix(const std::filesystem::path& path, Connecting kind);

}  // namespace paceline
