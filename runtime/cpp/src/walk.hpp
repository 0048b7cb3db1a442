// Memory in several places, gone through from the first byte to the last as if it lay side by side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace paceline::runtime {

class Walk {
 public:
  using Piece = std::span<std::byte>;

  // REQUIRES: the pieces outlive it.
  explicit Walk(std::span<const Piece> pieces) : pieces_(pieces) {}

  // The next bytes, out of the pieces. REQUIRES: so many are left, here and below.
  void read(std::span<std::byte> into) {
    go(into.size(), [&](std::byte* piece, std::size_t at, std::size_t count) {
      std::memcpy(into.data() + at, piece, count);
    });
  }
  // Into them.
  void write(std::span<const std::byte> from) {
    go(from.size(), [&](std::byte* piece, std::size_t at, std::size_t count) {
      std::memcpy(piece, from.data() + at, count);
    });
  }
  // Past them.
  void skip(std::size_t count) {
    go(count, [](std::byte* /*piece*/, std::size_t /*at*/, std::size_t /*count*/) {});
  }
  // Calls use(piece, at, n) for parts of them, from the first to the last, of at most `longest` bytes
  // each: n bytes at `piece`, before which lie `at` of the `count`.
  template <class Use>
  void go(std::size_t count, Use use, std::size_t longest = SIZE_MAX) {
    for (std::size_t at = 0; at < count;) {
      if (rest_.empty()) {
        rest_ = pieces_.front();
        pieces_ = pieces_.subspan(1);
        continue;
      }
      const std::size_t step = std::min({count - at, rest_.size(), longest});
      use(rest_.data(), at, step);
      rest_ = rest_.subspan(step);
      at += step;
    }
  }

 private:
  std::span<const Piece> pieces_;
  Piece rest_;  // of the piece that it is in
};

}  // namespace paceline::runtime
