// Cuts what a connection brings into lines. A line is one frame (wire/agent_protocol.hpp); an empty
// one says that its sender is there.
//
//   FrameLines lines;
//   auto read = lines.feed(bytes, [&](std::string_view line) { return take(line); });
//   if (!read) return fail(read.error());   // what comes there are no frames
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline {

class FrameLines {
 public:
  // Takes one line, without its end. False: no further one is wanted.
  using Take = std::function<bool(std::string_view line)>;

  explicit FrameLines(std::size_t line_bytes_max = kFrameBytesMax)
      : line_bytes_max_(line_bytes_max) {}

  // Hands on every line that is whole by now, in order. Errors: too_large: a line has more bytes
  // than it may; nothing can be fed after that.
  Result<void> feed(std::string_view bytes, const Take& take);

 private:
  [[nodiscard]] Result<void> check_size(std::size_t more) const;

  std::size_t line_bytes_max_;
  std::string begun_;  // the line that has no end yet
};

}  // namespace paceline
