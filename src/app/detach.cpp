#include "app/detach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent/linux/files.hpp"
#include "files/write_all.hpp"

namespace paceline {
namespace {

constexpr off_t kLogMax = off_t{16} << 20;  // beyond it the log before is put aside

Error cannot(const char* what) {
  return {
      ErrorCode::storage, fmt::format("{}: {}.", what, std::strerror(errno)), {}, Retry::may_help};
}

UniqueFd open_log(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && info.st_size > kLogMax)
    ::rename(path.c_str(), (path + ".1").c_str());
  return UniqueFd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

}  // namespace

Result<bool> Detached::begin() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(cannot("The server can't be detached"));
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  std::fflush(nullptr);
  server_ = ::fork();
  if (server_ < 0) return fail(cannot("The server can't be detached"));
  news_ = server_ > 0 ? std::move(reading) : std::move(writing);
  if (server_ == 0) ::setsid();
  return server_ > 0;
}

int Detached::wait() {
  std::string greeting;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; (n = ::read(news_.get(), piece.data(), piece.size())) != 0;) {
    if (n > 0) greeting.append(piece.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  if (!greeting.empty()) {
    fmt::print("{}", greeting);
    return 0;
  }
  int status = 0;
  while (::waitpid(server_, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

Result<void> Detached::serve(const std::string& log, const std::string& greeting) {
  const UniqueFd file = open_log(log);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!file || !nothing) return fail(cannot("The server's log can't be opened"));
  static_cast<void>(write_all(news_.get(), greeting));  // nobody may be left to read it
  std::fflush(nullptr);
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
  news_.reset();
  return {};
}

}  // namespace paceline
