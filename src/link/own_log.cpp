#include "link/own_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "files/log_times_reader.hpp"
#include "files/log_times_writer.hpp"

namespace paceline {

OwnLog::OwnLog(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat info {};
  if (fd_ && (::fstat(fd_.get(), &info) != 0 || !S_ISREG(info.st_mode))) fd_.reset();
}

std::uint64_t OwnLog::size() const {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// Only zeros can be of a hole: others need no look for one, which may take long.
std::optional<OwnLog::Piece> OwnLog::read(std::uint64_t from, std::size_t bytes_max) const {
  const auto end = size();
  if (from >= end) return std::nullopt;
  auto piece = read_bytes(from, end, bytes_max);
  if (piece && piece->bytes.find('\0') == std::string::npos) return piece;
  const auto data = seek(from, SEEK_DATA, end);
  if (data == end) return Piece{end, {}, piece ? piece->at : WallTime{}};
  piece = read_bytes(data, seek(data, SEEK_HOLE, end), bytes_max);
  if (!piece) return std::nullopt;
  // Removed while they were read: the next look tells.
  const auto behind = data + piece->bytes.size();
  if (seek(data, SEEK_DATA, end) > data || seek(data, SEEK_HOLE, end) < behind) return std::nullopt;
  return piece;
}

std::optional<OwnLog::Piece> OwnLog::read_bytes(std::uint64_t offset, std::uint64_t end,
                                                std::size_t bytes_max) const {
  Piece piece{offset, {}, {}};
  const auto last = std::min({end, offset + bytes_max, time_ends(offset, piece.at)});
  piece.bytes.resize(last - offset);
  const auto count =
      ::pread(fd_.get(), piece.bytes.data(), piece.bytes.size(), static_cast<off_t>(offset));
  if (count <= 0) return std::nullopt;
  piece.bytes.resize(static_cast<std::size_t>(count));
  return piece;
}

std::uint64_t OwnLog::seek(std::uint64_t offset, int what, std::uint64_t end) const {
  const off_t found = ::lseek(fd_.get(), static_cast<off_t>(offset), what);
  if (found >= 0) return std::min(static_cast<std::uint64_t>(found), end);
  const bool nothing_there = errno == ENXIO;
  return what == SEEK_DATA && !nothing_there ? offset : end;
}

// Beyond the last note it is when the log was written to last.
std::uint64_t OwnLog::time_ends(std::uint64_t offset, WallTime& at) const {
  const auto notes = LogTimesReader(times_path(path_)).after(offset, 1);
  if (!notes.empty()) {
    at = wall_from_us(notes.front().at_us);
    return notes.front().length;
  }
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0)
    at = wall_from_us(std::int64_t{info.st_mtim.tv_sec} * 1'000'000 + info.st_mtim.tv_nsec / 1'000);
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace paceline
