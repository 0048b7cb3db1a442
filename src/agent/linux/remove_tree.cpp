#include "agent/linux/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "files/fd.hpp"

namespace paceline::agent {
namespace {

constexpr int kMoveTries = 16;
constexpr std::size_t kFullAtOnce = 10'000;  // directories kept in mind
constexpr int kTreeDirectory = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Of a directory that its owner may not read this thread, as the owner, makes one that it may.
UniqueFd open_tree(int at, const char* name) {
  UniqueFd fd(::openat(at, name, O_RDONLY | kTreeDirectory));
  if (!fd && errno == EACCES) {
    const UniqueFd place(::openat(at, name, O_PATH | kTreeDirectory));
    const std::string link = fmt::format("/proc/self/fd/{}", place.get());
    if (place && ::chmod(link.c_str(), 0700) == 0)
      fd.reset(::openat(at, name, O_RDONLY | kTreeDirectory));
  }
  if (!fd) return fd;
  static_cast<void>(::fchown(fd.get(), ::geteuid(), static_cast<gid_t>(-1)) != 0);
  static_cast<void>(::fchmod(fd.get(), 0700) != 0);
  return fd;
}

// Takes a tree apart without going deeper than one directory: what is in a directory is removed, and
// a directory in it that has something in it is moved up to the top.
class TreeEmptier {
 public:
  TreeEmptier(UniqueFd top, std::uint64_t steps) : top_(std::move(top)), steps_(steps) {}

  Removal run() {
    for (std::uint64_t before = done_;; before = done_) {
      const Content content = take_out(open_tree(top_.get(), "."));
      if (content.read && content.kept == 0) return Removal::done;
      for (const std::string& name : content.full) flatten(name.c_str());
      if (steps_ == 0) return Removal::more;
      if (done_ == before) return Removal::stuck;
    }
  }

 private:
  struct Content {
    bool read = false;
    std::size_t kept = 0;           // entries that are still there
    std::vector<std::string> full;  // directories among them
  };

  // False: there are none left.
  bool take_step() {
    if (steps_ == 0) return false;
    --steps_;
    return true;
  }

  Content take_out(UniqueFd directory) {
    Content content;
    const int fd = directory.get();
    const std::unique_ptr<DIR, CloseStream> stream(fd < 0 ? nullptr : ::fdopendir(fd));
    if (!stream) return content;
    static_cast<void>(directory.release());
    errno = 0;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != ".." && !take_out(fd, name, content)) return content;
      errno = 0;
    }
    content.read = errno == 0;
    return content;
  }

  bool take_out(int fd, std::string_view name, Content& content) {
    if (!take_step()) return false;
    const char* text = name.data();
    const bool removed = ::unlinkat(fd, text, 0) == 0 || ::unlinkat(fd, text, AT_REMOVEDIR) == 0;
    done_ += removed ? 1 : 0;
    content.kept += removed ? 0 : 1;
    const bool full = !removed && (errno == ENOTEMPTY || errno == EEXIST);
    if (full && content.full.size() < kFullAtOnce) content.full.emplace_back(name);
    return true;
  }

  void flatten(const char* name) {
    if (steps_ == 0) return;
    for (const std::string& inner : take_out(open_tree(top_.get(), name)).full)
      move_up(open_tree(top_.get(), name), inner);
  }

  void move_up(UniqueFd directory, const std::string& name) {
    for (int i = 0; i < kMoveTries && take_step(); ++i) {
      const std::string up = fmt::format(".paceline-{}", ++moved_);
      const bool moved =
          ::renameat2(directory.get(), name.c_str(), top_.get(), up.c_str(), RENAME_NOREPLACE) == 0;
      done_ += moved ? 1 : 0;
      if (moved || (errno != EEXIST && errno != EACCES)) return;
      // Its own mode may forbid that it is moved.
      if (errno == EACCES) open_tree(directory.get(), name.c_str());
    }
  }

  UniqueFd top_;
  std::uint64_t steps_;  // left
  std::uint64_t done_ = 0;
  std::uint64_t moved_ = 0;
};

bool remove_name(const std::string& path) {
  return std::remove(path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

Removal empty_tree(const std::string& path, std::uint64_t steps_max) {
  UniqueFd top = open_tree(AT_FDCWD, path.c_str());
  if (!top) return errno == ENOENT ? Removal::done : Removal::stuck;
  return TreeEmptier(std::move(top), steps_max).run();
}

Removal remove_tree(const std::string& path, std::uint64_t steps_max) {
  if (remove_name(path)) return Removal::done;
  const Removal emptied = empty_tree(path, steps_max);
  if (emptied != Removal::done) return emptied;
  return remove_name(path) ? Removal::done : errno == ENOTEMPTY ? Removal::more : Removal::stuck;
}

}  // namespace paceline::agent
