// Where the other nodes of a gang reach the workers of this machine.
//
//   host_options.address = gang_address(options.advertise, options.listen);
#pragma once

#include <optional>
#include <string>

#include "http/tcp_socket.hpp"

namespace paceline {

// The address from which this machine would speak to another one, a number; no byte is sent. Empty:
// there is no way there.
std::string source_address(const std::string& far);

// What the owner said; else where the server listens for other machines; where it does so on all
// addresses, that of the default route. 127.0.0.1: nobody else is meant to reach it.
std::string gang_address(const std::optional<std::string>& said,
                         const std::optional<TcpAddress>& listen);

}  // namespace paceline
