#include "store/sqlite/left_behind.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "files/own.hpp"

namespace paceline {
namespace {

using Path = std::filesystem::path;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Error> cannot_bind(const Path& file) {
  const int reason = errno;
  return fail(ErrorCode::storage,
              fmt::format("{} can't be written: {}.", file.string(), std::strerror(reason)),
              std::string(remedy(reason)), Retry::may_help);
}

}  // namespace

std::uint32_t jobs_seen(const Path& dir) {
  std::uint32_t most = 0;
  for (const auto* folder : {"logs", "agent/workers"}) {
    std::error_code error;
    std::filesystem::directory_iterator entry(dir / folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const auto name = entry->path().filename().string();
      std::uint32_t id = 0;
      const auto* end = std::from_chars(name.data(), name.data() + name.size(), id).ptr;
      if (end == name.data() + name.size() || *end == '.') most = std::max(most, id);
    }
  }
  return most;
}

Result<void> bind_logs(const Path& dir, const std::string& identity) {
  const Path logs = dir / "logs", name = logs / "journal";
  if (::mkdir(logs.c_str(), 0700) != 0 && errno != EEXIST) return cannot_bind(name);
  if (auto ours = check_own_file(name, S_IFREG); !ours) return ours;
  const File file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  std::array<char, 64> text{};
  const auto size = file.get() < 0 ? -1 : ::pread(file.get(), text.data(), text.size(), 0);
  if (size < 0) return cannot_bind(name);
  const auto wanted = identity + "\n";
  if (size == 0) {
    const bool written = ::pwrite(file.get(), wanted.data(), wanted.size(), 0) ==
                         static_cast<ssize_t>(wanted.size());
    return written && ::fsync(file.get()) == 0 ? Result<void>{} : cannot_bind(name);
  }
  if (wanted == std::string_view(text.data(), static_cast<std::size_t>(size))) return {};
  return fail(ErrorCode::data,
              fmt::format("The logs in {} belong to another journal.", logs.string()),
              "Put back the database that wrote them, or move them away.");
}

}  // namespace paceline
