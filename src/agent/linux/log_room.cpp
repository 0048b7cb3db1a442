#include "agent/linux/log_room.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/linux/files.hpp"
#include "files/fd.hpp"
#include "files/log_names.hpp"
#include "files/log_times_writer.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kStatBlock = 512;
constexpr std::uint64_t kHoleBlock = 4096;

std::uint64_t blocks_down(std::uint64_t at) { return at / kHoleBlock * kHoleBlock; }
std::uint64_t blocks_up(std::uint64_t at) { return blocks_down(at + kHoleBlock - 1); }

// Where in the file so many bytes that take room, counted from `begin` on, end; in whole blocks, and
// before `last`.
std::uint64_t end_of_oldest(int fd, std::uint64_t begin, const OldBytes& old) {
  std::uint64_t at = begin;
  for (std::uint64_t bytes = old.bytes; bytes > 0 && at < old.last;) {
    const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
    if (hole <= data) break;
    const auto length = std::min(static_cast<std::uint64_t>(hole - data), bytes);
    at = static_cast<std::uint64_t>(data) + length;
    bytes -= length;
  }
  const std::uint64_t end = blocks_up(at);
  return end <= old.last ? end : blocks_down(old.last);
}

// What is removed is not written: the file's time stays.
bool punch(int fd, std::uint64_t begin, std::uint64_t end, const timespec& written) {
  if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin)) != 0)
    return false;
  const timespec times[] = {{0, UTIME_OMIT}, written};
  ::futimens(fd, times);
  return true;
}

// Answers the room that they took.
std::uint64_t remove_times(const std::string& log) {
  const std::string path = times_path(log);
  struct stat info {};
  const bool removed = ::lstat(path.c_str(), &info) == 0 && ::unlink(path.c_str()) == 0;
  return removed ? room_in(info) : 0;
}

}  // namespace

std::uint64_t room_in(const struct stat& info) {
  return static_cast<std::uint64_t>(info.st_blocks) * kStatBlock;
}

std::vector<std::int32_t> logs_of(const std::string& server_directory, JobId job) {
  std::vector<std::int32_t> numbers;
  for (const std::string& name :
       list_directory(fmt::format("{}/logs/{}", server_directory, job.value)))
    if (const auto number = log_number_in(name)) numbers.push_back(*number);
  return numbers;
}

std::optional<LogRoom> room_of(const std::string& log) {
  struct stat info {};
  struct stat times {};
  if (::lstat(log.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const bool noted = ::lstat(times_path(log).c_str(), &times) == 0;
  const std::uint64_t bytes = room_in(info) + (noted ? room_in(times) : 0);
  if (bytes == 0) return std::nullopt;
  return LogRoom{info.st_uid, bytes,
                 std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

RemovedBytes remove_bytes(const std::string& log, const OldBytes& old) {
  const UniqueFd fd(::open(log.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::uint64_t before = room_in(info);
  const std::uint64_t begin = blocks_up(old.from);
  const std::uint64_t end = end_of_oldest(fd.get(), begin, old);
  if (end > begin && !punch(fd.get(), begin, end, info.st_mtim)) {
    spdlog::warn("{}",
                 system_error("The oldest bytes of '" + log + "' can't be removed", errno).message);
    return {.refused = true};
  }
  if (::fstat(fd.get(), &info) != 0) return {};
  RemovedBytes removed{begin, std::max(begin, end), before - std::min(before, room_in(info))};
  if (info.st_blocks == 0 && old.last == kLogEnd) removed.room += remove_times(log);
  return removed;
}

}  // namespace paceline::agent
