#include "agent/linux/memory_files.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/signals.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatienceMin{10};
constexpr std::chrono::milliseconds kEndPatience{1000};  // of a child that was killed
constexpr std::chrono::milliseconds kAtOnce{5};
constexpr std::size_t kHeardAtOnce = std::size_t{64} << 10;
constexpr int kOut = STDIN_FILENO;  // the child's only descriptor

// What the child says: bytes of the file under way; 0: it is whole; less: it can't be read, and why.
using ChunkSize = std::int32_t;

struct Chunk {
  ChunkSize size = 0;
  std::array<char, 16384> bytes{};
};

// ---- the child's side: nothing but system calls, the parent has other threads ----

void say(const Chunk& chunk) {
  const auto* at = reinterpret_cast<const char*>(&chunk);
  std::size_t left = sizeof chunk.size + static_cast<std::size_t>(std::max(chunk.size, 0));
  while (left > 0) {
    const ssize_t written = ::write(kOut, at, left);
    if (written < 0) ::_exit(1);
    at += written;
    left -= static_cast<std::size_t>(written);
  }
}

void tell_file(const char* path, Chunk& chunk) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : 1;
  for (std::size_t told = 0; got > 0 && told < kMemoryFileMax; told += chunk.bytes.size()) {
    got = ::read(fd, chunk.bytes.data(), chunk.bytes.size());
    chunk.size = static_cast<ChunkSize>(got);
    if (got > 0) say(chunk);
  }
  chunk.size = got < 0 ? -errno : 0;
  say(chunk);
  if (fd >= 0) ::close(fd);
}

[[noreturn]] void tell_files(std::span<const std::string> paths, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::dup2(out, kOut) != kOut) ::_exit(1);
  ::close_range(kOut + 1, ~0U, 0);
  Chunk chunk;
  for (const std::string& path : paths) tell_file(path.c_str(), chunk);
  ::_exit(0);
}

// ---- the parent's ----

class Child {
 public:
  Child() = default;
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // 0, or errno.
  int start(std::span<const std::string> paths) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    in_.reset(ends[0]);
    const UniqueFd out(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) tell_files(paths, out.get());
    return pid_ < 0 ? errno : 0;
  }

  // After one that is not whole there is no next.
  MemoryFile next(std::chrono::milliseconds patience) {
    MemoryFile file;
    const auto until = Steady::now() + patience;
    while (!take_chunk(file)) {
      if (const int error = hear(until); error != 0) {
        end();
        return {{}, error};
      }
    }
    return file;
  }

  [[nodiscard]] bool lives() const { return pid_ > 0; }

 private:
  // True: the file is whole, or can't be read.
  bool take_chunk(MemoryFile& file) {
    ChunkSize size = 0;
    while (said_.size() - taken_ >= sizeof size) {
      std::memcpy(&size, said_.data() + taken_, sizeof size);
      const auto bytes = static_cast<std::size_t>(std::max(size, 0));
      if (said_.size() - taken_ < sizeof size + bytes) return false;
      file.text.append(said_, taken_ + sizeof size, bytes);
      taken_ += sizeof size + bytes;
      if (size <= 0) file.error = -size;
      if (size <= 0) return true;
    }
    return false;
  }

  // 0, or errno. One that ends before all is told was killed, for want of memory as it seems.
  int hear(Steady::time_point until) {
    pollfd in{in_.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    const int ready = ::poll(&in, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0) return errno == EINTR ? 0 : errno;
    if (ready == 0) return ETIMEDOUT;
    said_.erase(0, std::exchange(taken_, 0));
    const std::size_t had = said_.size();
    said_.resize(had + kHeardAtOnce);
    const ssize_t got = ::read(in_.get(), said_.data() + had, kHeardAtOnce);
    const int error = got < 0 && errno != EINTR ? errno : 0;
    said_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got == 0 ? ENOMEM : error;
  }

  // One that can't even be killed is left behind.
  void end() {
    if (!lives()) return;
    send_signal(std::span<const pid_t>(&pid_, 1), SIGKILL);
    const auto until = Steady::now() + kEndPatience;
    while (hear(until) == 0) {
    }
    pollfd in{in_.get(), POLLIN, 0};
    const bool gone = ::poll(&in, 1, 0) > 0;
    ::waitpid(std::exchange(pid_, 0), nullptr, gone ? 0 : WNOHANG);
    said_.clear();
    taken_ = 0;
  }

  pid_t pid_ = 0;
  UniqueFd in_;
  std::string said_;
  std::size_t taken_ = 0;  // of it
};

// Takes the time that was waited off the patience.
MemoryFile ask(Child& child, MemoryPatience& patience) {
  const auto began = Steady::now();
  MemoryFile file = child.next(std::min(patience.each, patience.all));
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(Steady::now() - began);
  if (took > kAtOnce) patience.all -= took;
  if (file.error == ETIMEDOUT) patience.each = std::max(patience.each / 2, kPatienceMin);
  return file;
}

}  // namespace

Result<void> read_memory_files(
    const std::vector<std::string>& paths,
    const std::function<void(std::size_t index, const MemoryFile& file)>& take,
    MemoryPatience patience) {
  const std::chrono::milliseconds none{0};
  std::size_t at = 0;
  while (at < paths.size() && patience.all > none) {
    Child child;
    if (const int error = child.start(std::span(paths).subspan(at)); error != 0)
      return fail(system_error("The processes of this machine can't be looked at", error));
    while (at < paths.size() && child.lives() && patience.all > none)
      take(at++, ask(child, patience));
  }
  while (at < paths.size()) take(at++, {{}, ECANCELED});
  return {};
}

}  // namespace paceline::agent
