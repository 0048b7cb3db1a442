#include "files/log_times_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace paceline {

LogTimesReader::LogTimesReader(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat there {};
  if (!fd_ || ::fstat(fd_.get(), &there) != 0 || !S_ISREG(there.st_mode)) return;
  count_ = std::min<std::size_t>(static_cast<std::size_t>(there.st_size) / sizeof(LogTime),
                                 kLogTimesMax);
}

std::vector<LogTime> LogTimesReader::read(std::size_t first, std::size_t count) const {
  std::vector<LogTime> times(std::min(count, count_ - std::min(first, count_)));
  const auto bytes = ::pread(fd_.get(), times.data(), times.size() * sizeof(LogTime),
                             static_cast<off_t>(first * sizeof(LogTime)));
  times.resize(bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(LogTime) : 0);
  return times;
}

std::vector<LogTime> LogTimesReader::after(std::uint64_t offset, std::size_t count) const {
  std::size_t first = 0;
  for (std::size_t last = count_; first < last;) {
    const auto middle = first + (last - first) / 2;
    const auto time = read(middle, 1);
    if (time.empty()) return {};
    if (time.front().length > offset)
      last = middle;
    else
      first = middle + 1;
  }
  return first < count_ ? read(first, count) : std::vector<LogTime>();
}

// The clock may have been set back in between, so that all are looked at.
std::uint64_t LogTimesReader::length_at(WallTime at) const {
  std::uint64_t length = 0;
  if (count_ == 0) return length;
  for (const auto& time : read(0, count_))
    if (time.at_us <= to_us(at)) length = time.length;
  return length;
}

}  // namespace paceline
