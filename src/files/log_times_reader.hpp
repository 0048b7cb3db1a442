// What is known of when a log was written (files/log_times.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/time.hpp"
#include "files/fd.hpp"
#include "files/log_times.hpp"

namespace paceline {

// The notes of one log. Where there are none, nothing is known: an older version wrote the log.
class LogTimesReader {
 public:
  explicit LogTimesReader(const std::filesystem::path& path);

  [[nodiscard]] bool known() const { return count_ > 0; }
  // The first notes of more than `offset` bytes, at most `count`.
  [[nodiscard]] std::vector<LogTime> after(std::uint64_t offset, std::size_t count) const;
  // How long the log was at the last note that is not after `at`; 0: there is none.
  [[nodiscard]] std::uint64_t length_at(WallTime at) const;

 private:
  [[nodiscard]] std::vector<LogTime> read(std::size_t first, std::size_t count) const;

  UniqueFd fd_;
  std::size_t count_ = 0;
};

}  // namespace paceline
