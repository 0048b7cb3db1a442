#include "conformance/calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "base/check.hpp"

namespace paceline::conformance {
namespace {

constexpr int kOpen[] = {ENOSPC, EMFILE, ENFILE, ENOMEM, EIO, EDQUOT, EROFS};
constexpr int kMake[] = {ENOSPC, EDQUOT, ENOMEM, EIO, EROFS};
constexpr int kRemove[] = {EIO, ENOMEM, EROFS};
constexpr int kWrite[] = {ENOSPC, EDQUOT, EIO};
constexpr int kRead[] = {EIO, ENOMEM};
constexpr int kLock[] = {ENOLCK};
constexpr int kDescriptor[] = {EMFILE, ENFILE, ENOMEM};
constexpr int kDuplicate[] = {EMFILE, ENOMEM};
constexpr int kProcess[] = {EAGAIN, ENOMEM};
constexpr int kProgram[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EIO};
constexpr int kDirectory[] = {EIO, ENOMEM};
constexpr int kSocket[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
constexpr int kName[] = {ENOSPC, ENOMEM, EROFS};
constexpr int kConnect[] = {EAGAIN, ENOMEM};
constexpr int kMessage[] = {ENOBUFS, ENOMEM};
constexpr int kMemory[] = {ENOMEM};
constexpr int kWait[] = {EINTR};
constexpr int kWatch[] = {ENOMEM, ENOSPC};
constexpr int kNamespace[] = {ENOSPC, ENOMEM, EMFILE};
constexpr int kIdentity[] = {EAGAIN, ENOMEM};
constexpr int kDevice[] = {EIO};

constexpr Call kCalls[] = {
#if defined(__x86_64__)
    {SYS_open, "open", kOpen, Names::path},
    {SYS_mkdir, "mkdir", kMake, Names::path},
    {SYS_rmdir, "rmdir", kRemove, Names::path},
    {SYS_unlink, "unlink", kRemove, Names::path},
    {SYS_rename, "rename", kMake, Names::path},
    {SYS_chmod, "chmod", kRemove, Names::path},
    {SYS_chown, "chown", kMake, Names::path},
    {SYS_access, "access", kRead, Names::path},
    {SYS_stat, "stat", kRead, Names::path},
    {SYS_lstat, "lstat", kRead, Names::path},
    {SYS_readlink, "readlink", kRead, Names::path},
    {SYS_dup2, "dup2", kDuplicate},
    {SYS_fork, "fork", kProcess},
    {SYS_vfork, "vfork", kProcess},
    {SYS_pipe, "pipe", kDescriptor},
    {SYS_poll, "poll", kMemory},
    {SYS_epoll_wait, "epoll_wait", kWait},
#endif
    {SYS_openat, "openat", kOpen, Names::second_path},
    {SYS_mkdirat, "mkdirat", kMake, Names::second_path},
    {SYS_unlinkat, "unlinkat", kRemove, Names::second_path},
    {SYS_renameat, "renameat", kMake, Names::second_path},
    {SYS_renameat2, "renameat2", kMake, Names::second_path},
    {SYS_fchmod, "fchmod", kRemove, Names::descriptor},
    {SYS_fchown, "fchown", kMake, Names::descriptor},
    {SYS_fchownat, "fchownat", kMake, Names::second_path},
    {SYS_ftruncate, "ftruncate", kWrite, Names::descriptor},
    {SYS_fallocate, "fallocate", kWrite, Names::descriptor},
    {SYS_fsync, "fsync", kWrite, Names::descriptor},
    {SYS_fdatasync, "fdatasync", kWrite, Names::descriptor},
    {SYS_read, "read", kRead, Names::descriptor},
    {SYS_readv, "readv", kRead, Names::descriptor},
    {SYS_pread64, "pread64", kRead, Names::descriptor},
    {SYS_write, "write", kWrite, Names::descriptor},
    {SYS_writev, "writev", kWrite, Names::descriptor},
    {SYS_pwrite64, "pwrite64", kWrite, Names::descriptor},
    {SYS_lseek, "lseek", kDevice, Names::descriptor},
    {SYS_getdents64, "getdents64", kRead, Names::descriptor},
    {SYS_fstat, "fstat", kRead, Names::descriptor},
    {SYS_newfstatat, "newfstatat", kRead, Names::second_path},
    {SYS_statx, "statx", kRead, Names::second_path},
    {SYS_faccessat, "faccessat", kRead, Names::second_path},
    {SYS_readlinkat, "readlinkat", kRead, Names::second_path},
    {SYS_statfs, "statfs", kRead, Names::path},
    {SYS_fstatfs, "fstatfs", kRead, Names::descriptor},
    {SYS_flock, "flock", kLock, Names::descriptor},
    {SYS_fcntl, "fcntl", kDuplicate},
    {SYS_ioctl, "ioctl", kDevice},
    {SYS_dup, "dup", kDuplicate},
    {SYS_dup3, "dup3", kDuplicate},
    {SYS_close_range, "close_range", kDuplicate},
    {SYS_pipe2, "pipe2", kDescriptor},
    {SYS_eventfd2, "eventfd2", kDescriptor},
    {SYS_signalfd4, "signalfd4", kDescriptor},
    {SYS_timerfd_create, "timerfd_create", kDescriptor},
    {SYS_epoll_create1, "epoll_create1", kDescriptor},
    {SYS_epoll_ctl, "epoll_ctl", kWatch},
    {SYS_epoll_pwait, "epoll_pwait", kWait},
    {SYS_ppoll, "ppoll", kMemory},
    {SYS_socket, "socket", kSocket},
    {SYS_socketpair, "socketpair", kSocket},
    {SYS_bind, "bind", kName},
    {SYS_listen, "listen", kMemory},
    {SYS_connect, "connect", kConnect},
    {SYS_accept4, "accept4", kSocket},
    {SYS_getsockopt, "getsockopt", kMessage},
    {SYS_setsockopt, "setsockopt", kMessage},
    {SYS_sendto, "sendto", kMessage},
    {SYS_recvfrom, "recvfrom", kMessage},
    {SYS_sendmsg, "sendmsg", kMessage},
    {SYS_recvmsg, "recvmsg", kMessage},
    {SYS_clone, "clone", kProcess},
#if defined(SYS_clone3)
    {SYS_clone3, "clone3", kProcess},
#endif
    {SYS_pidfd_open, "pidfd_open", kDescriptor},
    {SYS_kill, "kill", kProcess},
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator takes no refusal
    {SYS_mmap, "mmap", kMemory},
    {SYS_mprotect, "mprotect", kMemory},
    {SYS_mremap, "mremap", kMemory},
#endif
    {SYS_mount, "mount", kNamespace},
    {SYS_unshare, "unshare", kNamespace},
    {SYS_setns, "setns", kNamespace},
    {SYS_setgroups, "setgroups", kIdentity},
    {SYS_setresgid, "setresgid", kIdentity},
    {SYS_setresuid, "setresuid", kIdentity},
    {SYS_chdir, "chdir", kDirectory, Names::path},
    {SYS_execve, "execve", kProgram, Names::path},
};

}  // namespace

std::span<const Call> calls() { return kCalls; }

const Call* find_call(long number) {
  const auto* found = std::ranges::find(kCalls, number, &Call::number);
  return found == std::end(kCalls) ? nullptr : found;
}

const Call& find_call(std::string_view name) {
  const auto* found = std::ranges::find(kCalls, name, &Call::name);
  check(found != std::end(kCalls), "a call is asked for by its name");
  return *found;
}

}  // namespace paceline::conformance
