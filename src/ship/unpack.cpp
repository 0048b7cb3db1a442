#include "ship/unpack.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "files/fd.hpp"
#include "ship/ignore_rules.hpp"
#include "ship/store.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

constexpr std::size_t kCopyBytes = 256 << 10;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kFolderMode = 0755, kTopMode = 0700;

tl::unexpected<Error> cannot_unpack(std::string_view path, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("The shipped '{}' can't be written: {}.", path, std::strerror(reason)),
              "", Retry::may_help);
}

// The tree below a folder that nobody else can enter.
class Tree {
 public:
  Tree(UniqueFd top, std::optional<Unpacking::Owner> owner) : owner_(owner) {
    open_.push_back({{}, std::move(top)});
  }

  // Where the last part of the path belongs; the folders above it are made. -1: errno says why.
  int folder_of(const PathParts& path) { return folder(path, path.size() - 1); }
  int folder(const PathParts& path) { return folder(path, path.size()); }

  bool give(int at, const char* name) const {
    return !owner_ || ::fchownat(at, name, owner_->uid, owner_->gid, AT_SYMLINK_NOFOLLOW) == 0;
  }

 private:
  struct Open {
    std::string name;
    UniqueFd fd;
  };

  int folder(const PathParts& path, std::size_t depth) {
    std::size_t same = 0;
    while (same < depth && same + 1 < open_.size() && open_[same + 1].name == path[same]) ++same;
    open_.resize(same + 1);
    for (; same < depth; ++same)
      if (!enter(path[same])) return -1;
    return open_.back().fd.get();
  }

  bool enter(const std::string& name) {
    const int at = open_.back().fd.get();
    const bool made = ::mkdirat(at, name.c_str(), kFolderMode) == 0;
    if (!made && errno != EEXIST) return false;
    if (made && !give(at, name.c_str())) return false;
    UniqueFd fd(::openat(at, name.c_str(), kOpenFolder));
    if (!fd) return false;
    open_.push_back({name, std::move(fd)});
    return true;
  }

  std::optional<Unpacking::Owner> owner_;
  std::vector<Open> open_;  // from the top down
};

// Answers the digest of what it copied; nothing: errno says why.
std::optional<Sha256> copy_bytes(int from, int to) {
  Sha256Sum sum;
  std::string bytes(kCopyBytes, '\0');
  for (;;) {
    const auto count = ::read(from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return sum.finish();
    std::string_view left(bytes.data(), static_cast<std::size_t>(count));
    sum.add(left);
    while (!left.empty()) {
      const auto written = ::write(to, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return std::nullopt;
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  }
}

// False: it has to be copied.
bool give_away(const Unpacking& order, const Tree& tree, const ShipFile& file, int from, int at,
               const char* name) {
  struct stat info {};
  if (!order.fresh.contains(file.sha256) || ::fstat(from, &info) != 0 || info.st_nlink != 1)
    return false;
  const auto path = ship_file_path(order.store, order.uid, file.sha256);
  if (::linkat(AT_FDCWD, path.c_str(), at, name, 0) != 0) return false;
  if (tree.give(at, name) && ::fchmodat(at, name, file.mode, 0) == 0) return true;
  ::unlinkat(at, name, 0);
  return false;
}

Result<void> unpack_file(const Unpacking& order, Tree& tree, const ShipFile& file) {
  const auto from = open_ship_file(order.store, order.uid, file.sha256);
  if (!from) return fail(from.error());
  const auto parts = path_parts(file.path);
  const int at = tree.folder_of(parts);
  if (at < 0) return cannot_unpack(file.path, errno);
  const char* name = parts.back().c_str();
  if (give_away(order, tree, file, from->get(), at, name)) return {};
  const UniqueFd to(::openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const auto copied = to ? copy_bytes(from->get(), to.get()) : std::nullopt;
  if (!copied || !tree.give(at, name) || ::fchmod(to.get(), file.mode) != 0)
    return cannot_unpack(file.path, errno);
  if (to_hex(*copied) == file.sha256) return {};
  remove_ship_file(order.store, order.uid, file.sha256);
  return fail(ErrorCode::data, fmt::format("The shipped '{}' is damaged.", file.path),
              "Submit the job again.");
}

Result<void> unpack_link(Tree& tree, const ShipLink& link) {
  const auto parts = path_parts(link.path);
  const int at = tree.folder_of(parts);
  if (at < 0 || ::symlinkat(link.target.c_str(), at, parts.back().c_str()) != 0 ||
      !tree.give(at, parts.back().c_str()))
    return cannot_unpack(link.path, errno);
  return {};
}

Result<void> unpack_into(const Unpacking& order, const Manifest& manifest, Tree& tree) {
  for (const auto& file : manifest.files)
    if (auto done = unpack_file(order, tree, file); !done) return done;
  for (const auto& directory : manifest.directories)
    if (tree.folder(path_parts(directory)) < 0) return cannot_unpack(directory, errno);
  // From here on a name may be a link, which no step follows.
  for (const auto& link : manifest.links)
    if (auto done = unpack_link(tree, link); !done) return done;
  return {};
}

}  // namespace

Result<void> unpack_ship(const Unpacking& order) {
  const auto manifest = read_ship(order.store, order.uid, order.ship);
  if (!manifest) return fail(manifest.error());
  const auto aside = order.to.string() + ".part";
  std::error_code error;
  std::filesystem::remove_all(aside, error);
  if (::mkdir(aside.c_str(), kTopMode) != 0) return cannot_unpack(aside, errno);
  UniqueFd top(::open(aside.c_str(), kOpenFolder));
  const UniqueFd again(::dup(top.get()));
  Tree tree(std::move(top), order.owner);
  auto done = again ? unpack_into(order, *manifest, tree) : cannot_unpack(aside, errno);
  if (done && order.owner && ::fchown(again.get(), order.owner->uid, order.owner->gid) != 0)
    done = cannot_unpack(aside, errno);
  if (done && ::rename(aside.c_str(), order.to.c_str()) != 0) done = cannot_unpack(aside, errno);
  if (!done) std::filesystem::remove_all(aside, error);
  return done;
}

void restock_ships(const std::filesystem::path& store, std::uint32_t uid,
                   const std::set<std::string>& digests) {
  for (const auto& digest : digests) {
    const auto path = ship_file_path(store, uid, digest);
    const auto aside = path.string() + ".copy";
    struct stat given {};
    struct stat now {};
    const auto from = open_ship_file(store, uid, digest);
    if (!from || ::fstat(from->get(), &given) != 0 || given.st_nlink == 1) continue;
    const UniqueFd to(
        ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    const auto copied = to ? copy_bytes(from->get(), to.get()) : std::nullopt;
    const bool equal = copied && to_hex(*copied) == digest;
    const bool still = ::lstat(path.c_str(), &now) == 0 && now.st_ino == given.st_ino;
    if (equal && still && ::rename(aside.c_str(), path.c_str()) == 0) continue;
    ::unlink(aside.c_str());
    if (still) remove_ship_file(store, uid, digest);
  }
}

}  // namespace paceline
