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

// "7" of a folder of logs, "7.2.0" of a claim.
void take_name(GivenNumbers& most, const std::string& name) {
  const char* const last = name.data() + name.size();
  std::uint32_t job = 0;
  std::uint32_t generation = 0;
  const char* end = std::from_chars(name.data(), last, job).ptr;
  if (end != last && *end == '.') end = std::from_chars(end + 1, last, generation).ptr;
  if (end != last && *end != '.') return;
  most.jobs = std::max(most.jobs, job);
  most.generation = std::max(most.generation, Generation{generation});
}

}  // namespace

GivenNumbers numbers_seen(const Path& dir) {
  GivenNumbers most;
  for (const auto* folder : {"logs", "agent/workers", "agent/damaged"}) {
    std::error_code error;
    std::filesystem::directory_iterator entry(dir / folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
      take_name(most, entry->path().filename().string());
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
