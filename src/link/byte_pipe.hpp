// Two ends of one connection within this process: what is written to one is read from the other. So
// what a tunnel carries (Exchange::tunnel) can be spoken by the server itself, or joined to another
// tunnel.
//
//   auto [far, own] = make_byte_pipe(io);
//   exchange->tunnel("paceline-bytes", far);
//   … co_await own->read_some(…)
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>

#include "http/transport.hpp"

namespace paceline {

// Bytes on their way in one direction; whoever writes more waits until they are read.
inline constexpr std::size_t kPipeBytes = 256 << 10;

struct BytePipe {
  std::shared_ptr<ServerStream> far;
  std::shared_ptr<ServerStream> own;
};

// REQUIRES: `io` outlives both ends; one thread at a time uses and destroys them, that of `io`.
BytePipe make_byte_pipe(boost::asio::io_context& io);

}  // namespace paceline
