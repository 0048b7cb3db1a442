// Reads what a stream says until it ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/transport.hpp"

namespace paceline {

struct TextBounds {
  std::size_t bytes_max = 0;
  std::chrono::milliseconds within{};
};

// Tells it once, later. Errors: too_large; unavailable: it did not end in time. REQUIRES: `io`, whose
// thread calls this, outlives what is told.
void read_text(boost::asio::io_context& io, std::shared_ptr<ServerStream> stream, TextBounds bounds,
               std::function<void(Result<std::string>)> told);

}  // namespace paceline
