// A process whose memory keeps whoever reads it waiting. For tests only.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include "agent/linux/process.hpp"
#include "agent/linux/testing.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

// One of its threads reads a file that never says what stands in it, through /proc/self/mem, and so holds what
// guards its memory; the other waits to change it, and everybody else behind that one. The file's server is
// another process, in a mount namespace of its own. All of them live no longer than a minute.
class SilentProcess {
 public:
  SilentProcess() : SilentProcess([] {}) {}
  // The process does that before it falls silent.
  template <typename Act>
  explicit SilentProcess(const Act& act) {
    int ends[2];
    if (!kCanBe || ::pipe2(ends, O_CLOEXEC) != 0) return;
    told_.reset(ends[0]);
    UniqueFd out(ends[1]);
    server_ = ::fork();
    if (server_ == 0) serve(out, act);
    out.reset();
    const bool told = ::read(told_.get(), &pid_, sizeof pid_) == static_cast<ssize_t>(sizeof pid_);
    silent_ = told && eventually([this] { return waits_for_long(); });
  }
  ~SilentProcess() { end(); }
  SilentProcess(const SilentProcess&) = delete;
  SilentProcess& operator=(const SilentProcess&) = delete;

  // False where the machine lets nobody do that.
  [[nodiscard]] bool is_silent() const { return silent_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void end() {
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
    server_ = 0;
    char none = 0;
    while (::read(told_.get(), &none, 1) > 0) {
    }
  }

 private:
  // The thread sanitizer knows threads of its own kind only.
#ifdef __SANITIZE_THREAD__
  static constexpr bool kCanBe = false;
#else
  static constexpr bool kCanBe = true;
#endif
  static constexpr int kLooks = 20;
  static constexpr const char* kFile = "/etc/passwd";  // any would do
  static constexpr unsigned kSecondsMax = 60;
  static constexpr std::size_t kPage = 4096;

  [[nodiscard]] bool waits_for_long() const {
    for (int looks = 0; looks < kLooks; ++looks) {
      const auto stat = read_stat(pid_);
      if (!stat || stat->state != 'D') return false;
      ::usleep(1000);
    }
    return true;
  }

  template <typename Act>
  [[noreturn]] static void serve(UniqueFd& out, const Act& act) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(kSecondsMax);
    UniqueFd requests(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    const std::string options =
        "fd=" + std::to_string(requests.get()) + ",rootmode=100644,user_id=0,group_id=0";
    if (!requests || ::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("silent", kFile, "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      ::_exit(1);
    if (::fork() == 0) {
      requests.reset();
      act();
      fall_silent(out.get());
    }
    out.reset();
    while (answer(requests.get())) {
    }
    ::_exit(1);
  }

  [[noreturn]] static void fall_silent(int out) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const UniqueFd file(::open(kFile, O_RDONLY | O_CLOEXEC));
    struct stat info {};  // without, the file is empty
    void* at = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED || ::fstat(file.get(), &info) != 0) ::_exit(1);
    alignas(16) static std::array<char, std::size_t{64} << 10> stack;
    ::clone(read_own, stack.data() + stack.size(), CLONE_VM | SIGCHLD, at);
    const pid_t pid = ::getpid();
    if (::write(out, &pid, sizeof pid) < 0) ::_exit(1);
    while (true) {
      at = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ::munmap(at, kPage);
    }
  }

  static int read_own(void* at) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    char byte = 0;
    return static_cast<int>(
        ::pread(memory, &byte, 1, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at))));
  }

  // False: there is nobody left to ask.
  static bool answer(int requests) {
    alignas(fuse_in_header) static std::array<char, std::size_t{1} << 18> request;
    if (::read(requests, request.data(), request.size()) < 0) return false;
    fuse_in_header asked{};
    std::memcpy(&asked, request.data(), sizeof asked);
    if (asked.opcode == FUSE_INIT) {
      fuse_init_out init{};
      init.major = FUSE_KERNEL_VERSION;
      init.minor = FUSE_KERNEL_MINOR_VERSION;
      init.max_write = kPage;
      return tell(requests, asked.unique, init);
    }
    if (asked.opcode == FUSE_GETATTR) {
      fuse_attr_out about{};
      about.attr_valid = kSecondsMax;
      about.attr.ino = 1;
      about.attr.size = kPage;
      about.attr.mode = S_IFREG | 0644;
      about.attr.nlink = 1;
      return tell(requests, asked.unique, about);
    }
    if (asked.opcode == FUSE_OPEN) return tell(requests, asked.unique, fuse_open_out{});
    return true;
  }

  template <typename Body>
  static bool tell(int requests, std::uint64_t unique, const Body& body) {
    fuse_out_header head{};
    head.len = sizeof head + sizeof body;
    head.unique = unique;
    std::array<char, sizeof head + sizeof body> text{};
    std::memcpy(text.data(), &head, sizeof head);
    std::memcpy(text.data() + sizeof head, &body, sizeof body);
    return ::write(requests, text.data(), text.size()) >= 0;
  }

  pid_t server_ = 0;
  pid_t pid_ = 0;
  UniqueFd told_;
  bool silent_ = false;
};

}  // namespace paceline::agent
