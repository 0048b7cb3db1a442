// A log of this node, read on while its worker writes it: piece by piece, and of those that were
// removed meanwhile (holes, agent/linux/log_room.hpp) how many.
//
//   OwnLog log("/var/lib/paceline-agent/logs/7/rank0.log");
//   auto piece = log.read(from, 256 << 10);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "files/fd.hpp"

namespace paceline {

class OwnLog {
 public:
  explicit OwnLog(const std::string& path);

  // Is there such a file, and is it one?
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] std::uint64_t size() const;

  struct Piece {
    std::uint64_t offset = 0;  // what lies before it, from where reading was to begin, was removed
    std::string bytes;
    WallTime at;  // when they were there at the latest
  };
  // At most `bytes_max` bytes from there on, no further than their time is known to be right. Nothing:
  // there are none (yet). Where all that is left was removed: no bytes, at the end of the log.
  [[nodiscard]] std::optional<Piece> read(std::uint64_t from, std::size_t bytes_max) const;

 private:
  [[nodiscard]] std::optional<Piece> read_bytes(std::uint64_t offset, std::uint64_t end,
                                                std::size_t bytes_max) const;
  [[nodiscard]] std::uint64_t seek(std::uint64_t offset, int what, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t time_ends(std::uint64_t offset, WallTime& at) const;

  std::string path_;
  UniqueFd fd_;
};

}  // namespace paceline
