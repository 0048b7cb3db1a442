// Joins a connection to the server with a socket of this machine: a worker's terminal.
#pragma once

#include "http/transport.hpp"

namespace paceline {

// Passes bytes on, both ways, until either ends or `interrupted` can be read; what was read before the
// end is handed on, as long as it is taken within seconds. Blocks. REQUIRES: `socket` doesn't block.
void splice(ClientStream& server, int socket, int interrupted);

}  // namespace paceline
