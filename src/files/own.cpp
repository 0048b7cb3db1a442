#include "files/own.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view kElsewhere = "choose another directory with --dir";

std::string name_of(uid_t uid) {
  passwd account{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  ::getpwuid_r(uid, &account, buffer.data(), buffer.size(), &found);
  return found == nullptr ? fmt::format("user {}", uid) : std::string(found->pw_name);
}

tl::unexpected<Error> cannot_look(const Path& path, int reason) {
  return fail(
      ErrorCode::storage,
      fmt::format("The directory {} can't be used: {}.", path.string(), std::strerror(reason)),
      std::string(remedy(reason)));
}

tl::unexpected<Error> refused(std::string message, std::string hint) {
  return fail(ErrorCode::forbidden, std::move(message), std::move(hint));
}

bool writable_for_others(const struct stat& info) {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// Could somebody else put another directory in the place of the one in it?
bool replaceable_in(const struct stat& info) {
  const bool root = ::geteuid() == 0;
  if (root && info.st_uid != 0) return true;
  if ((info.st_mode & S_ISVTX) != 0) return false;
  const bool by_its_group = root && (info.st_mode & S_IWGRP) != 0 && info.st_gid != 0;
  return by_its_group || (info.st_mode & S_IWOTH) != 0;
}

Result<void> check_above(const Path& dir) {
  for (Path above = dir.parent_path(); above != above.parent_path(); above = above.parent_path()) {
    struct stat info {};
    if (::stat(above.c_str(), &info) != 0) return cannot_look(above, errno);
    if (!replaceable_in(info)) continue;
    return refused(
        fmt::format(
            "The directory {} is not safe: {} above it is {}, so others may put another "
            "directory in its place.",
            dir.string(), above.string(),
            ::geteuid() == 0 && info.st_uid != 0 ? name_of(info.st_uid) + "'s" : "open to others"),
        fmt::format("Start the server as that user, or {}.", kElsewhere));
  }
  return {};
}

// On the way to the directory: the owner of a link decides where it leads.
Result<void> check_links(const Path& dir) {
  for (Path part = dir; part != part.parent_path(); part = part.parent_path()) {
    struct stat info {};
    if (::lstat(part.c_str(), &info) != 0) return cannot_look(part, errno);
    if (!S_ISLNK(info.st_mode) || info.st_uid == 0 || info.st_uid == ::geteuid()) continue;
    return refused(fmt::format("{} is a link of {}.", part.string(), name_of(info.st_uid)),
                   fmt::format("Name the directory itself, or {}.", kElsewhere));
  }
  return {};
}

// Without a trailing slash.
Path tidied(const Path& dir) {
  Path tidy = std::filesystem::absolute(dir).lexically_normal();
  return tidy.has_filename() ? tidy : tidy.parent_path();
}

// From the uppermost one that is missing down to `dir` itself.
std::vector<Path> missing_down_to(const Path& dir) {
  std::vector<Path> missing;
  struct stat info {};
  for (Path part = dir; ::lstat(part.c_str(), &info) != 0 && errno == ENOENT;
       part = part.parent_path())
    missing.insert(missing.begin(), part);
  return missing;
}

}  // namespace

std::string_view remedy(int reason) {
  switch (reason) {
    case ENOSPC:
    case EDQUOT:
      return "Make room on that disk, or choose a directory on another one with --dir.";
    case EROFS:
      return "Mount that disk writable, or choose a directory on another one with --dir.";
    case ENOTDIR:
    case ENOENT:
    case ENAMETOOLONG:
    case ELOOP:
      return "Choose another directory with --dir.";
    default:
      return "Give it to the user that runs Paceline, or choose another directory with --dir.";
  }
}

Result<void> check_own_directory(const Path& given) {
  const Path dir = tidied(given);
  struct stat info {};
  if (::stat(dir.c_str(), &info) != 0) return cannot_look(dir, errno);
  if (!S_ISDIR(info.st_mode)) return cannot_look(dir, ENOTDIR);
  if (info.st_uid != ::geteuid()) {
    return refused(
        fmt::format("The directory {} belongs to {}.", dir.string(), name_of(info.st_uid)),
        fmt::format("Start the server as that user, or {}.", kElsewhere));
  }
  if (writable_for_others(info)) {
    return refused(fmt::format("Others may write the directory {}.", dir.string()),
                   fmt::format("Close it with 'chmod go-w {}' once you know that nobody put "
                               "anything into it, or {}.",
                               dir.string(), kElsewhere));
  }
  if (auto links = check_links(dir); !links) return links;
  std::error_code error;
  const Path real = std::filesystem::canonical(dir, error);
  if (error) return cannot_look(dir, error.value());
  return check_above(real);
}

Result<void> make_own_directory(const Path& given, mode_t mode) {
  const Path dir = tidied(given);
  for (const Path& part : missing_down_to(dir)) {
    if (::mkdir(part.c_str(), part == dir ? mode : 0755) != 0 && errno != EEXIST)
      return cannot_look(dir, errno);
    const bool exact = part == dir || ::geteuid() == 0;
    if (exact && ::chmod(part.c_str(), part == dir ? mode : 0755) != 0)
      return cannot_look(dir, errno);
  }
  return check_own_directory(dir);
}

Result<void> check_own_file(const Path& file, mode_t type) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail(ErrorCode::storage,
                fmt::format("{} can't be looked at: {}.", file.string(), std::strerror(errno)),
                "Choose another directory with --dir.");
  }
  const auto away = fmt::format("Move it away, or {}.", kElsewhere);
  if ((info.st_mode & S_IFMT) != type) {
    return refused(fmt::format("{} is {} instead of a {}.", file.string(),
                               S_ISLNK(info.st_mode) ? "a link" : "something else",
                               type == S_IFSOCK ? "socket" : "file"),
                   away);
  }
  if (info.st_uid != ::geteuid())
    return refused(fmt::format("{} belongs to {}.", file.string(), name_of(info.st_uid)), away);
  if (type == S_IFREG && writable_for_others(info)) {
    return refused(fmt::format("Others may write {}.", file.string()),
                   fmt::format("Close it with 'chmod go-w {}' once you know that nobody wrote it, "
                               "or {}.",
                               file.string(), kElsewhere));
  }
  return {};
}

}  // namespace paceline
