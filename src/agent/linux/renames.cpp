#include "agent/linux/renames.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace paceline::agent {
namespace {

constexpr std::size_t kRenamedMax = 16'384;  // paths remembered
constexpr std::uint32_t kWatched = IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY | IN_CREATE | IN_DELETE |
                                   IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kUncertain = IN_Q_OVERFLOW | IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT;

}  // namespace

void Renames::begin_anew() {
  events_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  directories_.clear();
  renamed_.clear();
  named_ = 0;
}

void Renames::watch(const std::string& directory) {
  if (!events_) begin_anew();
  const int watch = ::inotify_add_watch(events_.get(), directory.c_str(), kWatched);
  if (watch < 0 || !directories_[watch].insert(directory).second) return;
  if (++named_ <= directories_max_) return;
  begin_anew();
  Renames::watch(directory);
}

void Renames::read() {
  alignas(inotify_event) std::array<char, 64 << 10> buffer{};
  for (ssize_t n = 0; (n = ::read(events_.get(), buffer.data(), buffer.size())) > 0;) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const char* name = buffer.data() + at + sizeof(event);
      if (!take(event.wd, event.mask, {name, ::strnlen(name, event.len)})) return begin_anew();
      at += sizeof(event) + event.len;
    }
  }
}

bool Renames::take(int watch, std::uint32_t what, std::string_view name) {
  if ((what & kUncertain) != 0) return false;
  for (const std::string& directory : directories_[watch]) {
    std::string path = directory + "/" + std::string(name);
    if ((what & IN_MOVED_TO) == 0)
      renamed_.erase(path);
    else if (renamed_.size() < kRenamedMax)
      renamed_.insert(std::move(path));
  }
  return true;
}

}  // namespace paceline::agent
