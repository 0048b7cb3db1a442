#include "agent/linux/checkpoint_search.hpp"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

namespace paceline::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kEntriesOfAMatchMax = 4'096;
constexpr int kDepthOfAMatchMax = 8;
constexpr std::size_t kEntriesBetweenClocks = 128;
constexpr Duration kEntryTime = std::chrono::microseconds{5};
constexpr std::string_view kUnfinished[] = {".tmp", ".part", ".partial", ".incomplete"};

bool is_being_written(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with('.') || name.ends_with('~')) return true;
  return std::any_of(std::begin(kUnfinished), std::end(kUnfinished),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::int64_t to_ns(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

bool is_wild(std::string_view part) { return part.find_first_of("*?[") != std::string_view::npos; }

std::string without_escapes(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '\\' && i + 1 < part.size()) ++i;
    text.push_back(part[i]);
  }
  return text;
}

std::vector<std::string> parts_of(std::string_view pattern) {
  std::vector<std::string> parts;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    if (end > 0) parts.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return parts;
}

class Search {
 public:
  Search(std::string_view pattern, std::int64_t newer_than_ns, const SearchLimits& limits)
      : parts_(parts_of(pattern)),
        directories_only_(pattern.ends_with('/')),
        newer_than_ns_(newer_than_ns),
        limits_(limits),
        end_(Steady::now() + limits.time) {}

  CheckpointSearch run(const std::string& directory) {
    found_.cut = parts_.size() > limits_.depth;
    if (!parts_.empty() && !found_.cut) walk(directory, 0);
    return std::move(found_);
  }

 private:
  // What matches the parts from `index` on, below `directory`.
  void walk(const std::string& directory, std::size_t index) {
    if (index == parts_.size()) return take(directory);
    if (index + 1 == parts_.size() && found_.directories.size() < limits_.directories)
      found_.directories.push_back(directory);
    if (!is_wild(parts_[index]))
      return walk(directory + "/" + without_escapes(parts_[index]), index + 1);
    each_entry(directory, [&](const dirent& entry) {
      const bool deeper = index + 1 < parts_.size();
      if (deeper && entry.d_type == DT_REG) return true;
      if (::fnmatch(parts_[index].c_str(), entry.d_name, FNM_PERIOD) == 0)
        walk(directory + "/" + entry.d_name, index + 1);
      return true;
    });
  }

  // Until `visit` answers false.
  template <class Visit>
  void each_entry(const std::string& directory, Visit visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
    if (!stream) return;
    while (const dirent* entry = ::readdir(stream.get())) {
      if (!count()) return;
      const std::string_view name = entry->d_name;
      if (name != "." && name != ".." && !visit(*entry)) return;
    }
  }

  void take(const std::string& path) {
    CheckpointMatch match{path};
    std::size_t entries = 0;
    if (is_being_written(path) || !measure(path, 0, entries, match)) return;
    if (match.modified_ns <= newer_than_ns_) return;
    path_bytes_ += path.size();
    if (path_bytes_ > limits_.path_bytes)
      found_.cut = true;
    else
      found_.matches.push_back(std::move(match));
  }

  bool measure(const std::string& path, int depth, std::size_t& entries, CheckpointMatch& into) {
    struct stat info {};
    if (++entries > kEntriesOfAMatchMax || !count() || ::stat(path.c_str(), &info) != 0)
      return false;
    if (depth == 0 && directories_only_ && !S_ISDIR(info.st_mode)) return false;
    into.modified_ns = std::max(into.modified_ns, to_ns(info.st_mtim));
    if (!S_ISDIR(info.st_mode)) {
      into.size += static_cast<std::uint64_t>(info.st_size);
      return S_ISREG(info.st_mode);
    }
    if (depth == kDepthOfAMatchMax) return true;
    each_entry(path, [&](const dirent& entry) {
      measure(path + "/" + entry.d_name, depth + 1, entries, into);
      return entries <= kEntriesOfAMatchMax;
    });
    return true;
  }

  // False once a limit is reached.
  bool count() {
    if (found_.cut || ++entries_ > limits_.entries ||
        (entries_ % kEntriesBetweenClocks == 0 && Steady::now() > end_))
      found_.cut = true;
    return !found_.cut;
  }

  std::vector<std::string> parts_;
  bool directories_only_;
  std::int64_t newer_than_ns_;
  SearchLimits limits_;
  Steady::time_point end_;
  std::size_t entries_ = 0;
  std::size_t path_bytes_ = 0;
  CheckpointSearch found_;
};

}  // namespace

SearchLimits search_limits(std::size_t entries) {
  SearchLimits limits;
  limits.entries = entries;
  limits.time = std::max<Duration>(limits.time, static_cast<std::int64_t>(entries) * kEntryTime);
  return limits;
}

CheckpointSearch find_checkpoints(const std::string& pattern, const std::string& directory,
                                  std::int64_t newer_than_ns, const SearchLimits& limits) {
  return Search(pattern, newer_than_ns, limits).run(pattern.starts_with('/') ? "" : directory);
}

}  // namespace paceline::agent
