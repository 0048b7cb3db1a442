#include "api/log_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/utf8.hpp"
#include "files/log_times_reader.hpp"
#include "files/log_times_writer.hpp"

namespace paceline {
namespace {

constexpr auto kRanks = static_cast<std::int32_t>(kLogRanksMax);
constexpr std::size_t kLineEndSearch = 64 << 10;

// Bytes of a character that began before.
std::size_t rest_of_character(std::string_view text) {
  constexpr std::size_t kMost = 3;
  std::size_t count = 0;
  while (count < std::min(text.size(), kMost) &&
         (static_cast<unsigned char>(text[count]) >> 6U) == 2)
    ++count;
  return count;
}

// A plain file opened for reading.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    struct stat there {};
    const bool plain = fd_ >= 0 && ::fstat(fd_, &there) == 0 && S_ISREG(there.st_mode);
    if (!plain) return;
    size_ = static_cast<std::uint64_t>(there.st_size);
    written_us_ = std::int64_t{there.st_mtim.tv_sec} * 1'000'000 + there.st_mtim.tv_nsec / 1'000;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::int64_t written_us() const { return written_us_; }

  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t bytes_max) const {
    if (offset >= size_) return {};
    std::string bytes(std::min<std::uint64_t>(bytes_max, size_ - offset), '\0');
    const auto count = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

  // The first byte from there on that is not in a hole, or in one; the size if there is none.
  [[nodiscard]] std::uint64_t next_data(std::uint64_t offset) const {
    return seek(offset, SEEK_DATA);
  }
  [[nodiscard]] std::uint64_t next_hole(std::uint64_t offset) const {
    return seek(offset, SEEK_HOLE);
  }

 private:
  [[nodiscard]] std::uint64_t seek(std::uint64_t offset, int what) const {
    const off_t found = ::lseek(fd_, static_cast<off_t>(offset), what);
    if (found < 0) return errno == ENXIO ? size_ : what == SEEK_DATA ? offset : size_;
    return std::min(static_cast<std::uint64_t>(found), size_);
  }

  int fd_;
  std::uint64_t size_ = 0;
  std::int64_t written_us_ = 0;
};

// How much of `bytes` is whole lines; all of it where a single line fills it.
std::size_t whole_lines(std::string_view bytes, std::size_t bytes_max) {
  const auto end = bytes.find_last_of("\r\n");
  if (end != std::string_view::npos) return end + 1;
  return bytes.size() < bytes_max ? 0 : bytes.size() - utf8_unfinished(bytes);
}

// How much of `bytes` goes with its first `length`: the lines that end there, else the first that
// ends behind. Nothing: none ends.
std::optional<std::size_t> lines_near(std::string_view bytes, std::size_t length) {
  auto end = bytes.substr(0, length).find_last_of("\r\n");
  if (end == std::string_view::npos) end = bytes.find_first_of("\r\n", length);
  if (end == std::string_view::npos) return {};
  return end + 1;
}

// In the place of a hole.
LogChunk removed(const File& file, std::int32_t rank, std::uint64_t offset, std::uint64_t next) {
  const bool in_a_line =
      offset > 0 && file.next_data(offset - 1) < offset && file.read(offset - 1, 1) != "\n";
  return {rank, offset, next,
          fmt::format("{}--- {} bytes were removed ---\n", in_a_line ? "\n" : "", next - offset)};
}

}  // namespace

LogFiles::LogFiles(const std::filesystem::path& directory, JobId job, LogKind kind)
    : folder_(directory / "logs" / fmt::format("{}", job.value)), kind_(kind) {}

std::filesystem::path LogFiles::path_of(std::int32_t rank) const {
  return folder_ / log_name(log_number(rank, kind_));
}

std::vector<std::int32_t> LogFiles::ranks() const {
  std::vector<std::int32_t> ranks;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto number = log_number_in(entry->path().filename().string());
    if (!number || is_timeline(*number) != (kind_ == LogKind::timeline)) continue;
    if (const auto rank = process_of(*number); rank < kRanks) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::uint64_t LogFiles::size(std::int32_t rank) const {
  struct stat there {};
  const bool plain = ::lstat(path_of(rank).c_str(), &there) == 0 && S_ISREG(there.st_mode);
  return plain ? static_cast<std::uint64_t>(there.st_size) : 0;
}

std::optional<LogChunk> LogFiles::read(std::int32_t rank, std::uint64_t offset,
                                       const Piece& piece) const {
  const File file(path_of(rank));
  if (file.size() <= offset) return {};
  if (const auto data = file.next_data(offset); data > offset)
    return removed(file, rank, offset, data);
  const auto end = file.next_hole(offset);
  const auto bytes_max = std::min<std::uint64_t>(piece.bytes_max, end - offset);
  const auto wanted = std::max(piece.end, offset + 1) - offset;
  if (wanted < bytes_max) {
    const auto length = static_cast<std::size_t>(wanted);
    for (const std::size_t behind : {std::size_t{0}, kLineEndSearch}) {
      auto bytes = file.read(offset, std::min<std::uint64_t>(bytes_max, wanted + behind));
      if (const auto lines = lines_near(bytes, length))
        return LogChunk{rank, offset, offset + *lines, to_utf8(bytes.substr(0, *lines))};
    }
  }
  auto bytes = file.read(offset, bytes_max);
  const bool more = offset + bytes.size() < file.size();
  const bool before_hole = end < file.size() && offset + bytes.size() == end;
  if (piece.cut == LogCut::lines && !before_hole) {
    bytes.resize(whole_lines(bytes, piece.bytes_max));
  } else if (more && !before_hole) {
    bytes.resize(bytes.size() - utf8_unfinished(bytes));
  }
  if (bytes.empty()) return {};
  return LogChunk{rank, offset, offset + bytes.size(), to_utf8(bytes)};
}

std::uint64_t LogFiles::begin(std::int32_t rank, const LogStart& start) const {
  const File file(path_of(rank));
  std::uint64_t begin = 0;
  if (start.tail_bytes) begin = file.size() - std::min(file.size(), *start.tail_bytes);
  if (start.since) {
    const LogTimesReader times(times_path(path_of(rank).string()));
    const bool older = file.written_us() < to_us(*start.since);
    begin = std::max(begin, older ? file.size() : times.length_at(*start.since));
  }
  if (begin == 0 || begin >= file.size()) return std::min(begin, file.size());
  const auto text = file.read(begin - 1, kLineEndSearch);
  const auto newline = text.find('\n');
  const bool in_last_line = newline == std::string::npos || begin + newline >= file.size();
  if (!in_last_line || !start.tail_bytes)
    return newline == std::string::npos ? begin : begin + newline;
  return begin + rest_of_character(std::string_view(text).substr(1));
}

std::vector<LogTime> LogFiles::times(std::int32_t rank, std::uint64_t offset,
                                     std::size_t count) const {
  const LogTimesReader times(times_path(path_of(rank).string()));
  if (!times.known()) return {};
  auto found = times.after(offset, count);
  if (found.size() == count) return found;
  const File file(path_of(rank));
  if (found.empty() || found.back().length < file.size())
    found.push_back({file.written_us(), std::numeric_limits<std::uint64_t>::max()});
  return found;
}

}  // namespace paceline
