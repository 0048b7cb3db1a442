#include "conformance/syscall_faults.hpp"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace paceline::testing {
namespace {

// What a start and an end ask of the kernel and may be refused. `scarce`: the kernel says EAGAIN
// where it lacks something; of all others EAGAIN says only that nothing is there yet.
struct Call {
  long number;
  std::string_view name;
  bool scarce = false;
};
constexpr Call kCalls[] = {
#if defined(__x86_64__)
    {SYS_open, "open"},
    {SYS_mkdir, "mkdir", true},
    {SYS_rmdir, "rmdir"},
    {SYS_unlink, "unlink"},
    {SYS_rename, "rename"},
    {SYS_chmod, "chmod"},
    {SYS_chown, "chown"},
    {SYS_dup2, "dup2"},
    {SYS_fork, "fork", true},
    {SYS_vfork, "vfork", true},
#endif
    {SYS_openat, "openat"},
    {SYS_mkdirat, "mkdirat", true},
    {SYS_unlinkat, "unlinkat"},
    {SYS_renameat, "renameat"},
    {SYS_renameat2, "renameat2"},
    {SYS_fchown, "fchown"},
    {SYS_fchownat, "fchownat"},
    {SYS_read, "read"},
    {SYS_pread64, "pread64"},
    {SYS_write, "write"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_getdents64, "getdents64"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_statfs, "statfs"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_dup3, "dup3"},
    {SYS_pipe2, "pipe2"},
    {SYS_signalfd4, "signalfd4"},
    {SYS_epoll_ctl, "epoll_ctl"},
    {SYS_socket, "socket"},
    {SYS_socketpair, "socketpair"},
    {SYS_bind, "bind"},
    {SYS_listen, "listen"},
    {SYS_connect, "connect", true},
    {SYS_accept4, "accept4"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_clone, "clone", true},
#if defined(SYS_clone3)
    {SYS_clone3, "clone3", true},
#endif
    {SYS_chdir, "chdir"},
    {SYS_execve, "execve", true},
};

std::string program_of(const std::string& process) {
  std::array<char, PATH_MAX> path{};
  const auto size = ::readlink(("/proc/" + process + "/exe").c_str(), path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string{};
}

std::vector<sock_filter> filter() {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Call& call : kCalls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call.number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

}  // namespace

std::string SyscallFaults::begin() {
  program_ = program_of("self");
  std::vector<sock_filter> calls = filter();
  const sock_fprog program{static_cast<unsigned short>(calls.size()), calls.data()};
  // The thread that answers is not asked about: it is there before.
  std::thread([this] {
    listener_.wait(kUnknown);
    while (listener_ >= 0) answer();
  }).detach();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto made =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  const int error = errno;
  listener_ = made < 0 ? -1 : static_cast<int>(made);
  listener_.notify_one();
  return made < 0 ? fmt::format("seccomp: {}", std::strerror(error)) : "";
}

void SyscallFaults::answer() {
  seccomp_notif asked{};
  if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;
  seccomp_notif_resp reply{asked.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  const auto call = std::ranges::find(kCalls, asked.data.nr, &Call::number) - kCalls;
  if (const int error = armed_ ? error_for(static_cast<int>(call), static_cast<int>(asked.pid)) : 0)
    reply = {asked.id, 0, -error, 0};
  ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

int SyscallFaults::error_for(int call, int pid) {
  const Call& asked = kCalls[call];
  if (fault_.error_number == EAGAIN && !asked.scarce) return 0;
  if (!fault_.only.empty() && !fault_.only.contains(std::string(asked.name))) return 0;
  if (program_of(std::to_string(pid)) != program_ || ++seen_ != fault_.nth) return 0;
  hit_ = call;
  return fault_.error_number;
}

void SyscallFaults::arm(const SyscallFault& fault) {
  fault_ = fault;
  seen_ = 0;
  hit_ = -1;
  armed_ = true;
}

std::optional<std::string> SyscallFaults::disarm() {
  armed_ = false;
  if (hit_ < 0) return std::nullopt;
  return std::string(kCalls[hit_].name);
}

}  // namespace paceline::testing
