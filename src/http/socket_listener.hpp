// HTTP over plain sockets of the kernel: unix sockets, whose peers the kernel knows, and the
// loopback device.
#pragma once

#include <filesystem>
#include <memory>

#include "files/fd.hpp"
#include "http/transport.hpp"
#include "http/unix_socket.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline {

// Listens on a unix socket at `path` from open() on; close() removes the file. REQUIRES: as for
// listen_unix(); `io` outlives it and its streams.
std::unique_ptr<Listener> listen_at_path(boost::asio::io_context& io, std::filesystem::path path,
                                         SocketAccess access);

// Takes what connects to `listening`, a bound, listening socket of any family.
std::unique_ptr<Listener> listen_on(boost::asio::io_context& io, UniqueFd listening);

// A stream over a connected stream socket of any family. Errors: unavailable: the machine lacks
// what that takes.
Result<std::shared_ptr<ServerStream>> serve_socket(boost::asio::io_context& io, UniqueFd connected);

}  // namespace paceline
