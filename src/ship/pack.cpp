#include "ship/pack.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "base/utf8.hpp"
#include "files/fd.hpp"
#include "ship/ignore_rules.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::uint64_t kIgnoreFileMax = 1 << 20;
constexpr std::string_view kGit = ".git";
constexpr int kOpenFile = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr std::chrono::seconds kLeasePatience{5};  // that file servers take to give one up
constexpr std::chrono::milliseconds kLeasePause{10};

tl::unexpected<Error> cannot_pack(const fs::path& path, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("'{}' can't be read: {}.", to_utf8(path.string()),
                          reason == EWOULDBLOCK ? "a process holds a lease on it (fcntl F_SETLEASE)"
                                                : std::strerror(reason)),
              "Make it readable, or name it in .pacelineignore.");
}

PathParts joined(const PathParts& folder, const std::string& name) {
  PathParts path = folder;
  path.push_back(name);
  return path;
}

bool is_prefix(const PathParts& short_one, const PathParts& long_one) {
  return short_one.size() <= long_one.size() &&
         std::equal(short_one.begin(), short_one.end(), long_one.begin());
}

std::string text_of_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kIgnoreFileMax) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Lists the names and sizes; digests come later.
class Walk {
 public:
  explicit Walk(const Packing& packing)
      : top_(packing.directory.lexically_normal()),
        ignores_(packing.ignores),
        bytes_max_(packing.bytes_max) {
    for (const auto& path : packing.paths) wanted_.push_back(path_parts(path));
  }

  Result<Manifest> run() {
    if (ignores_) enter_above();
    if (auto walked = walk({}); !walked) return fail(std::move(walked.error()));
    return std::move(manifest_);
  }

 private:
  // The ignore files of the folders above, down from that with .git. Without one, none of them counts.
  void enter_above() {
    std::error_code error;
    fs::path root = top_;
    while (!fs::exists(root / kGit, error) && root != root.parent_path()) root = root.parent_path();
    if (!fs::exists(root / kGit, error)) return;
    PathParts below = path_parts(top_.lexically_relative(root).string());
    if (below == PathParts{"."}) below.clear();
    fs::path folder = root;
    for (const auto& part : below) {
      enter(folder, above_);
      folder /= part;
      above_.push_back(part);
    }
  }

  void enter(const fs::path& folder, const PathParts& parts) {
    for (const auto* name : {".gitignore", ".pacelineignore"})
      if (const auto text = text_of_file(folder / name); !text.empty()) rules_.enter(parts, text);
  }

  PathParts from_above(const PathParts& path) const {
    PathParts whole = above_;
    whole.insert(whole.end(), path.begin(), path.end());
    return whole;
  }

  [[nodiscard]] bool is_on_the_way(const PathParts& path) const {
    return std::ranges::any_of(wanted_, [&](const auto& each) { return is_prefix(path, each); });
  }
  [[nodiscard]] bool is_wanted(const PathParts& path) const {
    return wanted_.empty() || is_on_the_way(path) ||
           std::ranges::any_of(wanted_, [&](const auto& each) { return is_prefix(each, path); });
  }

  Result<void> walk(const PathParts& folder) {
    const auto path = top_ / joined_path(folder);
    const auto rules = rules_.size();
    if (ignores_) enter(path, from_above(folder));
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator it(path, error); !error && it != fs::directory_iterator();
         it.increment(error))
      names.push_back(it->path().filename().string());
    if (error) return cannot_pack(path, error.value());
    std::ranges::sort(names);
    const auto before = count();
    for (const auto& name : names)
      if (auto taken = take(joined(folder, name)); !taken) return taken;
    if (count() == before && !folder.empty()) manifest_.directories.push_back(joined_path(folder));
    rules_.leave(rules);
    return {};
  }

  [[nodiscard]] std::size_t count() const {
    return manifest_.files.size() + manifest_.links.size() + manifest_.directories.size();
  }

  Result<void> take(const PathParts& path) {
    const auto name = joined_path(path);
    struct stat info {};
    if (::lstat((top_ / name).c_str(), &info) != 0) return cannot_pack(name, errno);
    const bool directory = S_ISDIR(info.st_mode);
    if (path.back() == kGit || !is_wanted(path)) return {};
    const bool named = !wanted_.empty() && is_on_the_way(path);
    if (!named &&
        rules_.ignores(from_above(path), directory ? EntryKind::directory : EntryKind::file))
      return {};
    if (directory) return walk(path);
    if (S_ISREG(info.st_mode))
      manifest_.files.push_back(
          {name, info.st_mode & 0777U, static_cast<std::uint64_t>(info.st_size), {}});
    if (S_ISLNK(info.st_mode)) {
      std::error_code error;
      const auto target = fs::read_symlink(top_ / name, error);
      if (error) return cannot_pack(name, error.value());
      manifest_.links.push_back({name, target.string()});
    }
    return check_bounds();
  }

  // Before anything is read of what doesn't fit.
  Result<void> check_bounds() {
    bytes_ += manifest_.files.size() > counted_ ? manifest_.files.back().bytes : 0;
    counted_ = manifest_.files.size();
    if (count() > kShipEntriesMax)
      return fail(ErrorCode::too_large,
                  fmt::format("'{}' holds more than {} files, which no ship does.",
                              to_utf8(top_.string()), kShipEntriesMax),
                  "Name what the job doesn't need in .pacelineignore.");
    if (bytes_ > bytes_max_)
      return fail(
          ErrorCode::too_large,
          fmt::format("'{}' is larger than {} GiB, which no ship is.", to_utf8(top_.string()),
                      bytes_max_ >> 30),
          "Name data in .pacelineignore, and put it on a file system that the nodes share.");
    return {};
  }

  fs::path top_;
  bool ignores_;
  std::uint64_t bytes_max_;
  std::vector<PathParts> wanted_;
  PathParts above_;  // from the folder with .git down to the top
  IgnoreRules rules_;
  Manifest manifest_;
  std::uint64_t bytes_ = 0;
  std::size_t counted_ = 0;
};

Result<void> check_paths(const Packing& packing) {
  std::error_code error;
  if (!fs::is_directory(packing.directory, error))
    return fail(ErrorCode::not_found,
                fmt::format("There is no directory '{}'.", to_utf8(packing.directory.string())),
                "Name another one with --workdir.");
  for (const auto& path : packing.paths) {
    const auto parts = path_parts(path);
    const bool out = path.starts_with('/') || std::ranges::count(parts, "..") > 0;
    if (out || !fs::exists(fs::symlink_status(packing.directory / path, error)))
      return fail(ErrorCode::not_found,
                  fmt::format("There is nothing '{}' in '{}' to ship.", to_utf8(path),
                              to_utf8(packing.directory.string())),
                  "Name files and folders of the job's directory, from there on.");
  }
  return {};
}

bool is_regular(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The first try asks whoever has a lease on it to give that up.
UniqueFd open_file(const fs::path& path) {
  const auto until = std::chrono::steady_clock::now() + kLeasePatience;
  for (;;) {
    UniqueFd fd(::open(path.c_str(), kOpenFile));
    if (fd || errno != EWOULDBLOCK || !is_regular(path)) return fd;
    if (std::chrono::steady_clock::now() >= until) return fd;
    std::this_thread::sleep_for(kLeasePause);
  }
}

Result<void> add_digest(const fs::path& directory, ShipFile& file) {
  Sha256Sum sum;
  for (std::uint64_t at = 0; at < file.bytes;) {
    const auto bytes = pack_piece(directory, file, at, kReadBytes);
    if (!bytes) return fail(bytes.error());
    sum.add(*bytes);
    at += bytes->size();
  }
  file.sha256 = to_hex(sum.finish());
  return {};
}

}  // namespace

Result<Manifest> pack(const Packing& packing) {
  if (auto there = sha256_library(); !there) return fail(std::move(there.error()));
  if (auto sound = check_paths(packing); !sound) return fail(std::move(sound.error()));
  Packing tidy{packing.directory, {}, packing.ignores, packing.bytes_max};
  for (const auto& path : packing.paths) {
    const auto normal = fs::path(path).lexically_normal();
    if (normal == ".") {
      tidy.paths.clear();
      break;
    }
    tidy.paths.push_back(normal.string());
  }
  auto manifest = Walk(tidy).run();
  if (!manifest) return manifest;
  for (auto& file : manifest->files)
    if (auto added = add_digest(packing.directory, file); !added)
      return fail(std::move(added.error()));
  if (auto tidied = tidy_manifest(*manifest); !tidied) return fail(std::move(tidied.error()));
  return manifest;
}

Result<std::string> pack_piece(const fs::path& directory, const ShipFile& file, std::uint64_t from,
                               std::size_t max) {
  const auto path = directory / file.path;
  const UniqueFd fd = open_file(path);
  if (!fd) return cannot_pack(file.path, errno);
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(max, file.bytes - from)),
                    '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const auto count = ::pread(fd.get(), bytes.data() + size, bytes.size() - size,
                               static_cast<off_t>(from + size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_pack(file.path, errno);
    if (count > 0) {
      size += static_cast<std::size_t>(count);
      continue;
    }
    return fail(ErrorCode::conflict,
                fmt::format("'{}' changed while it was shipped.", to_utf8(file.path)),
                "Submit again once nothing writes it, or name it in .pacelineignore.");
  }
  return bytes;
}

}  // namespace paceline
