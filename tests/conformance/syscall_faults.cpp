#include "conformance/syscall_faults.hpp"

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace paceline::conformance {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const auto size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string{};
}

std::string program_of(const std::string& process) {
  return link_target("/proc/" + process + "/exe");
}

// A text in another process, page by page: the one behind it may not be there.
std::string text_at(int pid, std::uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    std::array<char, kPageBytes> page{};
    const std::uint64_t from = address + text.size();
    iovec here{page.data(), kPageBytes - from % kPageBytes};
    iovec there{reinterpret_cast<void*>(from), here.iov_len};
    const ssize_t n = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (n <= 0) return text;
    const std::string_view got(page.data(), static_cast<std::size_t>(n));
    text += got.substr(0, got.find('\0'));
    if (got.find('\0') != std::string_view::npos) return text;
  }
  return text;
}

std::vector<sock_filter> filter() {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Call& call : calls()) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call.number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

}  // namespace

struct SyscallFaults::Asked {
  const Call& call;
  int pid;
  const __u64* arguments;

  [[nodiscard]] std::string file() const {
    switch (call.names) {
      case Names::descriptor:
        return link_target(fmt::format("/proc/{}/fd/{}", pid, arguments[0]));
      case Names::path:
        return text_at(pid, arguments[0]);
      case Names::second_path:
        return text_at(pid, arguments[1]);
      case Names::nothing:
        break;
    }
    return {};
  }
};

std::string SyscallFaults::begin() {
  program_ = program_of("self");
  std::vector<sock_filter> asked = filter();
  const sock_fprog program{static_cast<unsigned short>(asked.size()), asked.data()};
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
  const Call* call = find_call(asked.data.nr);
  const int error = error_for({*call, static_cast<int>(asked.pid), asked.data.args});
  if (error != 0) reply = {asked.id, 0, -error, 0};
  ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

int SyscallFaults::error_for(const Asked& asked) {
  const std::lock_guard lock(mutex_);
  const SyscallFault& fault = round_.fault;
  const bool meant = fault.calls.contains(asked.call.name);
  if (!round_.armed || (!meant && !fault.calls.empty())) return 0;
  if (program_of(std::to_string(asked.pid)) != program_) return 0;
  ++round_.counted[asked.call.name];
  const std::string file = meant ? asked.file() : std::string{};
  if (!meant || file.find(fault.on) == std::string::npos) return 0;
  if (++round_.seen != fault.nth && fault.nth != 0) return 0;
  round_.hit =
      file.empty() ? std::string(asked.call.name) : fmt::format("{} '{}'", asked.call.name, file);
  return fault.error_number;
}

void SyscallFaults::begin_round(Round round) {
  {
    const std::lock_guard lock(mutex_);
    std::swap(round_, round);
  }
  done_ = std::move(round);
}

void SyscallFaults::arm(SyscallFault fault) { begin_round({std::move(fault), true, 0, {}, {}}); }

std::optional<std::string> SyscallFaults::disarm() {
  begin_round({});
  if (done_.hit.empty()) return std::nullopt;
  return done_.hit;
}

}  // namespace paceline::conformance
