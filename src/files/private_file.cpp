#include "files/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "files/fd.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

using Path = std::filesystem::path;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

tl::unexpected<Error> cannot(std::string_view what, const Path& file, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("'{}' can't be {}: {}.", file.string(), what, std::strerror(reason)),
              std::string(remedy(reason)));
}

tl::unexpected<Error> unsafe(const Path& file, std::string_view how, std::string hint) {
  return fail(ErrorCode::forbidden, fmt::format("'{}' {}.", file.string(), how), std::move(hint));
}

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(fd) == 0;
}

bool sync_directory(const Path& file) {
  const Path parent = file.has_parent_path() ? file.parent_path() : Path(".");
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && ::fsync(directory.get()) == 0;
}

Result<void> check_private(const Path& file, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return unsafe(file, "is no file", "Move it away.");
  if (info.st_uid != ::geteuid())
    return unsafe(file, "belongs to somebody else", "Move it away; it may have been forged.");
  if ((info.st_mode & kOthers) == 0) return {};
  return unsafe(
      file, "can be read or written by others",
      fmt::format("It holds secrets: if nobody can have read it, close it with 'chmod 600 "
                  "{}'; otherwise move it away.",
                  file.string()));
}

}  // namespace

Result<void> write_private(const Path& file, std::string_view text) {
  const Path aside = fmt::format("{}.{}.part", file.string(), ::getpid());
  ::unlink(aside.c_str());  // of an earlier process of this number
  const UniqueFd fresh(
      ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fresh) return cannot("written", file, errno);
  if (!write_whole(fresh.get(), text) || ::rename(aside.c_str(), file.c_str()) != 0) {
    const int reason = errno;
    ::unlink(aside.c_str());
    return cannot("written", file, reason);
  }
  if (!sync_directory(file)) return cannot("written", file, errno);
  return {};
}

Result<std::optional<std::string>> read_private(const Path& file, std::size_t bytes_max) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd && errno == ELOOP) return unsafe(file, "is a link", "Put the file itself there.");
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot("read", file, errno);
  if (auto ok = check_private(file, info); !ok) return fail(std::move(ok.error()));
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", file, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > bytes_max)
    return fail(ErrorCode::data, fmt::format("'{}' is over {} bytes.", file.string(), bytes_max),
                "It is not what Paceline wrote: restore it from a backup, or move it away.");
  text.resize(size);
  return text;
}

}  // namespace paceline
