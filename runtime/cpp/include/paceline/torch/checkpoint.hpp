// Checkpoints: written whole or not at all, beside the training; the newest two are kept.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"

namespace paceline::detail {

// One that was written, or that could not be.
struct Written {
  std::filesystem::path path;
  std::uint64_t steps, samples;
  std::string why_not;  // empty: it is there
};

// Bytes of a checkpoint, and where they were found.
struct Found {
  std::filesystem::path path;
  std::string bytes;
};

// ---- files that are there whole or not at all ----
// Each of these returns why it could not be done; empty: it was.

inline std::string write_file(const std::filesystem::path& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return std::strerror(errno);
  std::string why;
  for (std::size_t done = 0; done < bytes.size() && why.empty();) {
    const auto count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR) why = std::strerror(errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (why.empty() && ::fsync(fd) != 0) why = std::strerror(errno);
  if (::close(fd) != 0 && why.empty()) why = std::strerror(errno);
  return why;
}

inline std::string sync_folder(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::strerror(errno);
  const std::string why = ::fsync(fd) != 0 ? std::strerror(errno) : "";
  ::close(fd);
  return why;
}

using FileTime = std::filesystem::file_time_type;

inline constexpr const char* kUnfinished = ".unfinished";  // ends its name until it is whole

// `newest`: its time is later, whatever the clock shows.
// REQUIRES: its folder is there.
inline std::string write_whole(const std::filesystem::path& path, const std::string& bytes,
                               FileTime newest = FileTime::min()) {
  const auto unfinished = path.parent_path() / ("." + path.filename().string() + kUnfinished);
  auto why = write_file(unfinished, bytes);
  std::error_code error;
  if (std::filesystem::last_write_time(unfinished, error) <= newest)  // not every one can be set
    std::filesystem::last_write_time(unfinished, newest + std::chrono::milliseconds(1), error);
  if (why.empty()) {
    std::filesystem::rename(unfinished, path, error);
    if (error) why = error.message();
  }
  if (why.empty()) why = sync_folder(path.parent_path());
  if (!why.empty()) std::filesystem::remove(unfinished, error);
  return why;
}

// Where a training keeps its checkpoints. Only one rank writes.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path) : path_(std::filesystem::absolute(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Makes it, and proves that it can be written to. Throws PacelineError.
  void prepare() const {
    std::error_code ignored;
    std::filesystem::create_directories(path_, ignored);
    const auto probe = path_ / (".writable-" + std::to_string(::getpid()));
    if (const auto why = write_file(probe, ""); !why.empty())
      throw PacelineError("Checkpoints can't be written to " + path_.string() + ": " + why +
                          ". Choose another folder.");
    std::filesystem::remove(probe, ignored);
  }

  // What to go on from: $PACELINE_CHECKPOINT, else the newest here. One of this folder that is gone made room
  // for newer ones: then it is the newest, too. Throws PacelineError.
  [[nodiscard]] std::optional<Found> newest() {
    const char* const given = std::getenv("PACELINE_CHECKPOINT");
    const auto there = newest_first();
    if (given == nullptr && there.empty()) return std::nullopt;
    std::filesystem::path path = given != nullptr ? given : there.front().second;
    if (!there.empty() && made_room(path)) {
      const auto& newest = there.front().second;
      std::cerr << "paceline: The checkpoint " + path.string() +
                       " is gone, and newer ones are in its folder: " + newest.filename().string() +
                       " is the newest."
                << std::endl;
      path = newest;
    }
    needed_ = path;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    if (!file || !(bytes << file.rdbuf()))
      throw PacelineError("The checkpoint " + path.string() +
                          " can't be read: " + std::strerror(errno) +
                          ". Name another one in PACELINE_CHECKPOINT, or unset it.");
    return Found{path, std::move(bytes).str()};
  }

  // Writes the bytes while the training goes on.
  // REQUIRES: no other one is being written.
  void begin(std::uint64_t steps, std::uint64_t samples, std::string bytes) {
    char name[64];
    std::snprintf(name, sizeof name, "ckpt-%012llu.pt", static_cast<unsigned long long>(samples));
    writing_ =
        std::async(std::launch::async, [this, written = Written{path_ / name, steps, samples, {}},
                                        bytes = std::move(bytes)]() mutable {
          written.why_not = write(written.path, bytes);
          return written;
        });
  }
  [[nodiscard]] bool is_writing() const { return writing_.valid(); }
  // What was begun, once it is written or has failed; `wait` for it. Paceline is told of it before the next
  // one is begun: until then all from the one before on stay.
  std::optional<Written> written(bool wait) {
    const auto limit = std::chrono::seconds(0);
    if (!writing_.valid()) return std::nullopt;
    if (!wait && writing_.wait_for(limit) != std::future_status::ready) return std::nullopt;
    auto written = writing_.get();
    if (written.why_not.empty()) needed_ = written.path;
    return written;
  }

 private:
  static constexpr std::size_t kKept = 2;

  [[nodiscard]] std::string write(const std::filesystem::path& path,
                                  const std::string& bytes) const {
    remove_unfinished();
    const auto there = newest_first();
    auto why = write_whole(path, bytes, there.empty() ? FileTime::min() : there.front().first);
    if (why.empty()) remove_older();
    return why;
  }

  static bool is_name(const std::string& name) {
    return name.starts_with("ckpt-") && name.ends_with(".pt");
  }
  [[nodiscard]] bool made_room(const std::filesystem::path& path) const {
    std::error_code ignored;
    return !std::filesystem::exists(path, ignored) && is_name(path.filename().string()) &&
           std::filesystem::equivalent(std::filesystem::absolute(path).parent_path(), path_,
                                       ignored);
  }

  using Timed = std::pair<FileTime, std::filesystem::path>;
  // By time, not by number: after going back to an older one, what was trained since then counts.
  [[nodiscard]] std::vector<Timed> newest_first() const {
    std::vector<Timed> found;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(path_, error)) {
      if (is_name(each.path().filename().string()))
        found.emplace_back(each.last_write_time(error), each.path());
    }
    std::sort(found.rbegin(), found.rend());
    return found;
  }

  // Keeps the newest, and all from what is needed on. Where that isn't there nothing is removed: a rank that
  // takes over the writing doesn't know yet what Paceline was told of by the one before it.
  void remove_older() const {
    const auto found = newest_first();
    std::error_code ignored;
    const auto needed = std::find_if(found.begin(), found.end(), [&](const auto& each) {
      return std::filesystem::equivalent(each.second, needed_, ignored);
    });
    const auto kept = static_cast<std::size_t>(needed - found.begin()) + 1;
    for (auto i = std::max(kKept, kept); i < found.size(); ++i)
      std::filesystem::remove(found[i].second, ignored);
  }

  // Of ranks that died, since one writes at a time.
  void remove_unfinished() const {
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(path_, ignored)) {
      const auto name = each.path().filename().string();
      if (name.starts_with(".ckpt-") && name.ends_with(kUnfinished))
        std::filesystem::remove(each.path(), ignored);
    }
  }

  std::filesystem::path path_;
  // What the next start may be given: what was told of last, before that what was gone on from.
  std::filesystem::path needed_;
  std::future<Written> writing_;
};

// What all ranks go on from; nothing: there is nothing yet. Makes the folder. Throws PacelineError, on
// every rank alike.
inline std::optional<Found> go_on(Group& group, Folder& folder) {
  std::optional<Found> found;
  std::string trouble;
  try {
    if (group.rank() == 0) folder.prepare();
    if (group.rank() == 0) found = folder.newest();
  } catch (const PacelineError& error) {
    trouble = error.what();
  }
  trouble = group.broadcast_bytes(trouble, 0);
  if (!trouble.empty()) throw PacelineError(trouble);
  const auto path = group.broadcast_bytes(found ? found->path.string() : "", 0);
  if (path.empty()) return std::nullopt;
  return Found{path, group.broadcast_bytes(found ? std::move(found->bytes) : "", 0)};
}

}  // namespace paceline::detail
