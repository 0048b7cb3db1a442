#include "agent/linux/log_limit.hpp"

#include <algorithm>
#include <tuple>

#include "agent/linux/files.hpp"
#include "base/number.hpp"

namespace paceline::agent {

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
    for (const std::int32_t number : logs_of(directory_, JobId{*job})) look({JobId{*job}, number});
  }
}

// What takes no room needs no memory here either.
void LogLimit::look(const LogKey& key) {
  if (const auto room = room_of(log_path(directory_, key.first, key.second)))
    logs_[key] = *room;
  else
    logs_.erase(key);
}

void LogLimit::give_back(std::uint32_t uid, std::uint64_t excess,
                         const std::map<LogKey, std::uint64_t>& in_use) {
  for (const LogKey& key : of_user(uid, in_use)) {
    const auto used = in_use.find(key);
    const std::uint64_t last = used == in_use.end() ? kLogEnd : used->second;
    const std::uint64_t removed =
        remove_bytes(log_path(directory_, key.first, key.second), {excess, 0, last}).room;
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
