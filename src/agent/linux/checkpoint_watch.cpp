#include "agent/linux/checkpoint_watch.hpp"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "agent/linux/files.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kMatchesMax = 10'000;
constexpr std::size_t kEntriesMax = 4'096;
constexpr int kDepthMax = 8;
constexpr std::string_view kUnfinished[] = {".tmp", ".part", ".partial", ".incomplete"};
constexpr std::int64_t kClockGrainNs = 20'000'000;  // file times are that much coarser than clocks

// The calling thread alone sees files as another user would: glibc's own calls would change the
// whole process.
class ThreadIdentity {
 public:
  explicit ThreadIdentity(std::uint32_t uid) : changed_(::geteuid() == 0 && uid != 0) {
    if (!changed_) return;
    passwd account{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer{};
    ::getpwuid_r(uid, &account, buffer.data(), buffer.size(), &found);
    std::array<gid_t, 256> groups{};
    int count = 0;
    if (found != nullptr) {
      count = static_cast<int>(groups.size());
      if (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0)
        count = static_cast<int>(groups.size());
    }
    ::syscall(SYS_setgroups, count, groups.data());
    ::syscall(SYS_setfsgid, found != nullptr ? found->pw_gid : uid);
    ::syscall(SYS_setfsuid, uid);
  }
  ~ThreadIdentity() {
    if (!changed_) return;
    ::syscall(SYS_setfsuid, 0);
    ::syscall(SYS_setfsgid, 0);
    ::syscall(SYS_setgroups, 0, nullptr);
  }
  ThreadIdentity(const ThreadIdentity&) = delete;
  ThreadIdentity& operator=(const ThreadIdentity&) = delete;

 private:
  bool changed_;
};

bool is_being_written(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with('.') || name.ends_with('~')) return true;
  return std::any_of(std::begin(kUnfinished), std::end(kUnfinished),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::int64_t to_ns(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

bool measure(const std::string& path, int depth, std::size_t& entries, CheckpointMatch& into) {
  struct stat info {};
  if (++entries > kEntriesMax || ::stat(path.c_str(), &info) != 0) return false;
  into.modified_ns = std::max(into.modified_ns, to_ns(info.st_mtim));
  if (!S_ISDIR(info.st_mode)) {
    into.size += static_cast<std::uint64_t>(info.st_size);
    return S_ISREG(info.st_mode);
  }
  if (depth == kDepthMax) return true;
  for (const std::string& name : list_directory(path))
    measure(path + "/" + name, depth + 1, entries, into);
  return true;
}

}  // namespace

std::vector<CheckpointMatch> find_checkpoints(const std::string& pattern,
                                              const std::string& directory, std::uint32_t uid) {
  const ThreadIdentity identity(uid);
  const std::string full = pattern.starts_with('/') ? pattern : directory + "/" + pattern;
  std::vector<CheckpointMatch> matches;
  glob_t found{};
  if (::glob(full.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t i = 0; i < std::min<std::size_t>(found.gl_pathc, kMatchesMax); ++i) {
      CheckpointMatch match{found.gl_pathv[i], 0, 0};
      std::size_t entries = 0;
      if (!is_being_written(match.path) && measure(match.path, 0, entries, match))
        matches.push_back(std::move(match));
    }
  ::globfree(&found);
  return matches;
}

CheckpointWatch::CheckpointWatch(std::int64_t started_us, std::int64_t newest_ns)
    : newest_ns_(std::max(newest_ns, started_us * 1'000 - kClockGrainNs)) {}

std::optional<std::string> CheckpointWatch::look(const std::vector<CheckpointMatch>& matches,
                                                 bool final) {
  const CheckpointMatch* best = nullptr;
  std::map<std::string, CheckpointMatch> now;
  for (const CheckpointMatch& match : matches) {
    if (match.modified_ns <= newest_ns_) continue;
    const auto before = last_.find(match.path);
    const bool same = before != last_.end() && before->second.size == match.size &&
                      before->second.modified_ns == match.modified_ns;
    const bool newer = best == nullptr || match.modified_ns > best->modified_ns ||
                       (match.modified_ns == best->modified_ns && match.path > best->path);
    if ((same || final) && newer) best = &match;
    now.emplace(match.path, match);
  }
  last_ = std::move(now);
  if (best == nullptr) return std::nullopt;
  newest_ns_ = best->modified_ns;
  return best->path;
}

}  // namespace paceline::agent
