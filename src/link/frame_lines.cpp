#include "link/frame_lines.hpp"

#include <fmt/format.h>

#include <utility>

namespace paceline {

Result<void> FrameLines::feed(std::string_view bytes, const Take& take) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const auto piece = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (auto fits = check_size(piece.size()); !fits) return fits;
    // What a long line took is given back with it.
    const auto line = std::exchange(begun_, {}).append(piece);
    if (!take(line)) return {};
  }
  if (auto fits = check_size(bytes.size()); !fits) return fits;
  begun_ += bytes;
  return {};
}

Result<void> FrameLines::check_size(std::size_t more) const {
  if (begun_.size() + more <= line_bytes_max_) return {};
  return fail(ErrorCode::too_large, fmt::format("A line has over {} bytes.", line_bytes_max_));
}

}  // namespace paceline
