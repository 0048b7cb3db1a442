#include "trust/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "files/fd.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSecretBytesMax = 64 << 10;

tl::unexpected<Error> cannot(const fs::path& file, std::string_view what, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("{} can't be {}: {}.", file.string(), what, std::strerror(reason)),
              std::string(remedy(reason)));
}

bool write_all_of(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

// 0, or why not.
int write_aside(const fs::path& aside, std::string_view text) {
  ::unlink(aside.c_str());  // what an earlier try left
  const UniqueFd fd(
      ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool whole =
      fd && ::fchmod(fd.get(), 0600) == 0 && write_all_of(fd.get(), text) && ::fsync(fd.get()) == 0;
  return whole ? 0 : errno;
}

Result<std::string> read_all_of(const fs::path& file, int fd) {
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    const auto count = ::read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot(file, "read", errno);
    if (count == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
    if (text.size() <= kSecretBytesMax) continue;
    return fail(ErrorCode::data, fmt::format("{} is over 64 KiB.", file.string()),
                "It is not what Paceline wrote: restore it from a backup, or move it away.");
  }
}

}  // namespace

Result<void> write_secret(const fs::path& file, std::string_view text) {
  const fs::path aside = file.string() + ".new";
  int reason = write_aside(aside, text);
  if (reason == 0 && ::rename(aside.c_str(), file.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(aside.c_str());
    return cannot(file, "written", reason);
  }
  if (!sync_folder(file.parent_path())) return cannot(file, "written", errno);
  return {};
}

Result<std::optional<std::string>> read_secret(const fs::path& file) {
  if (auto own = check_own_file(file, S_IFREG); !own) return fail(std::move(own.error()));
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return std::nullopt;
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot(file, "read", errno);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorCode::forbidden, fmt::format("Others may read {}.", file.string()),
                fmt::format("It holds a secret key: if nobody can have read it, close it with "
                            "'chmod 600 {}'; otherwise move it away, and let all machines join "
                            "again.",
                            file.string()));
  }
  auto text = read_all_of(file, fd.get());
  if (!text) return fail(std::move(text.error()));
  return std::move(*text);
}

}  // namespace paceline
