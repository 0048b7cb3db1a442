// Room for what a stream brings that is silent for most of its life: small, until a read fills it;
// then as large as a TLS record, until a read leaves it nearly empty.
//
//   ReadBuffer buffer;
//   const auto count = co_await stream.read_some(buffer.room(), failure);
//   use(buffer.took(count));
#pragma once

#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

namespace paceline {

class ReadBuffer {
 public:
  static constexpr std::size_t kSmallBytes = 512;
  static constexpr std::size_t kLargeBytes = 16 << 10;

  // For the next read; what took() answered before is gone. REQUIRES: none is under way.
  boost::asio::mutable_buffer room() {
    if (bytes_.size() != wanted_) bytes_ = std::vector<char>(wanted_);
    return boost::asio::buffer(bytes_);
  }
  // What a read brought.
  std::string_view took(std::size_t count) {
    if (count == bytes_.size()) wanted_ = kLargeBytes;
    if (count < kSmallBytes) wanted_ = kSmallBytes;
    return {bytes_.data(), count};
  }

 private:
  std::vector<char> bytes_;
  std::size_t wanted_ = kSmallBytes;
};

}  // namespace paceline
