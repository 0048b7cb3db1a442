// What waits to be sent over one connection, bounded in bytes.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace paceline {

// However far the other end is behind, an agent or a server keeps no more for it than this.
inline constexpr std::size_t kLineQueueBytesMax = std::size_t{64} << 20;

class LineQueue {
 public:
  explicit LineQueue(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Its end is put behind it. False: it would not fit, and is not queued.
  bool push(std::string line);
  // The next bytes to send, the same until some are sent; empty: there are none.
  [[nodiscard]] std::string_view next() const;
  // REQUIRES: no more than those of next().
  void sent(std::size_t bytes);
  void clear();

  [[nodiscard]] bool empty() const { return lines_.empty(); }

 private:
  std::deque<std::string> lines_;
  std::size_t sent_ = 0;  // of the first
  std::size_t bytes_ = 0;
  std::size_t bytes_max_;
};

}  // namespace paceline
