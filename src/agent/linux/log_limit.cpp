#include "agent/linux/log_limit.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <tuple>

#include "agent/linux/files.hpp"
#include "agent/linux/log_file.hpp"
#include "base/number.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kStatBlock = 512;
constexpr std::uint64_t kHoleBlock = 4096;
constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

// "rank12.log"
std::optional<std::int32_t> rank_of_log(std::string_view name) {
  if (!name.starts_with("rank") || !name.ends_with(".log")) return std::nullopt;
  return parse_number<std::int32_t>(name.substr(4, name.size() - 8));
}

std::uint64_t room_of(const struct stat& info) {
  return static_cast<std::uint64_t>(info.st_blocks) * kStatBlock;
}

// Where in the file so many bytes from its first byte on end; in whole blocks, and before `last`.
std::uint64_t end_of_oldest(int fd, std::uint64_t bytes, std::uint64_t last) {
  std::uint64_t at = 0;
  while (bytes > 0 && at < last) {
    const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
    if (hole <= data) break;
    const auto length = static_cast<std::uint64_t>(hole - data);
    at = static_cast<std::uint64_t>(data) + std::min(length, bytes);
    bytes -= std::min(length, bytes);
  }
  const std::uint64_t end = (at + kHoleBlock - 1) / kHoleBlock * kHoleBlock;
  return end <= last ? end : last / kHoleBlock * kHoleBlock;
}

// How many bytes the file takes less than before.
std::uint64_t remove_oldest(const std::string& path, std::uint64_t bytes, std::uint64_t last) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat before {
  }, after{};
  if (!fd || ::fstat(fd.get(), &before) != 0 || !S_ISREG(before.st_mode)) return 0;
  const std::uint64_t end = end_of_oldest(fd.get(), bytes, last);
  if (end == 0) return 0;
  if (::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(end)) != 0) {
    spdlog::warn(
        "{}", system_error("The oldest bytes of '" + path + "' can't be removed", errno).message);
    return 0;
  }
  if (::fstat(fd.get(), &after) != 0) return 0;
  return room_of(before) - std::min(room_of(before), room_of(after));
}

}  // namespace

void LogLimit::hold(const std::map<LogKey, std::uint64_t>& in_use, const std::set<LogKey>& begun) {
  if (bytes_max_ == 0) return;
  if (!std::exchange(found_all_, true)) find_all();
  std::set<LogKey> grown = std::exchange(used_before_, {});
  grown.insert(begun.begin(), begun.end());
  for (const auto& [key, read] : in_use) {
    grown.insert(key);
    used_before_.insert(key);
  }
  for (const LogKey& key : grown) look(key);
  std::map<std::uint32_t, std::uint64_t> users;
  for (const auto& [key, log] : logs_) users[log.uid] += log.bytes;
  for (const auto& [uid, bytes] : users)
    if (bytes > bytes_max_) give_back(uid, bytes - bytes_max_, in_use);
}

void LogLimit::find_all() {
  for (const std::string& folder : list_directory(directory_ + "/logs")) {
    const auto job = parse_number<std::uint32_t>(folder);
    if (!job) continue;
    for (const std::string& name : list_directory(directory_ + "/logs/" + folder))
      if (const auto rank = rank_of_log(name)) look({JobId{*job}, *rank});
  }
}

// What takes no room needs no memory here either.
void LogLimit::look(const LogKey& key) {
  struct stat info {};
  const std::string path = log_path(directory_, key.first, key.second);
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_blocks == 0)
    return static_cast<void>(logs_.erase(key));
  logs_[key] = {info.st_uid, room_of(info),
                std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

void LogLimit::give_back(std::uint32_t uid, std::uint64_t excess,
                         const std::map<LogKey, std::uint64_t>& in_use) {
  for (const LogKey& key : of_user(uid, in_use)) {
    const auto used = in_use.find(key);
    const std::uint64_t last = used == in_use.end() ? kWhole : used->second;
    const std::uint64_t removed =
        remove_oldest(log_path(directory_, key.first, key.second), excess, last);
    look(key);
    if (removed >= excess) return;
    excess -= removed;
  }
}

// In the order in which they give.
std::vector<LogKey> LogLimit::of_user(std::uint32_t uid,
                                      const std::map<LogKey, std::uint64_t>& in_use) const {
  std::vector<LogKey> all;
  for (const auto& [key, log] : logs_)
    if (log.uid == uid) all.push_back(key);
  std::ranges::sort(all, {}, [&](const LogKey& key) {
    return std::tuple{in_use.contains(key), logs_.at(key).written_ns, key};
  });
  return all;
}

}  // namespace paceline::agent
