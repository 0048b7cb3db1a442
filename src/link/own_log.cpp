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

std::optional<OwnLog::Piece> OwnLog::read(std::uint64_t from, std::size_t bytes_max) const {
  const auto end = size();
  if (from >= end) return std::nullopt;
  Piece piece;
  piece.offset = seek(from, SEEK_DATA, end);
  auto last = std::min(seek(piece.offset, SEEK_HOLE, end), time_ends(piece.offset, piece.at));
  last = std::min({last, end, piece.offset + bytes_max});
  piece.bytes.resize(last - piece.offset);
  const auto count =
      ::pread(fd_.get(), piece.bytes.data(), piece.bytes.size(), static_cast<off_t>(piece.offset));
  piece.bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (piece.bytes.empty() && piece.offset < end) return std::nullopt;
  // Removed while they were read: the next look tells.
  const auto data = seek(piece.offset, SEEK_DATA, end);
  const auto hole = seek(piece.offset, SEEK_HOLE, end);
  if (data > piece.offset || hole < piece.offset + piece.bytes.size()) return std::nullopt;
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
