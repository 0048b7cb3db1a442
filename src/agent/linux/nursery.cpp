#include "agent/linux/nursery.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/looker.hpp"
#include "agent/linux/signals.hpp"
#include "agent/linux/spawn.hpp"

namespace paceline::agent {
namespace {

constexpr int kSocket = 3;            // where the nursery finds its end
constexpr std::size_t kFdsMax = 64;   // per request
constexpr std::size_t kFixedFds = 2;  // of a supervisor; a looker has its socket alone
constexpr int kLeavePolls = 1000;
constexpr int kReceiveTries = 100;
constexpr int kReceiveWaitMs = 10;
// Between waking a nursery and replacing it, and when a waking is long past.
constexpr auto kWakingMin = std::chrono::seconds{2};
constexpr auto kWakingMax = std::chrono::seconds{30};
constexpr std::uint64_t kOpenFiles = 1024;
constexpr std::uint64_t kOpenFilesMax = 1 << 18;

std::vector<int> descriptors(const std::vector<UniqueFd>& request) {
  std::vector<int> all;
  all.reserve(request.size());
  for (const UniqueFd& fd : request) all.push_back(fd.get());
  return all;
}

// One message of one byte, with the descriptors beside it. 0, or errno.
int send_descriptors(int socket, const std::vector<int>& fds) {
  if (fds.size() > kFdsMax) return EINVAL;
  char byte = 's';
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kFdsMax)> space{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

// Nothing once the agent is gone; incomplete where this process lacks descriptors for all of them.
struct RaiseRequest {
  std::vector<UniqueFd> fds;
  bool complete = false;
};
std::optional<RaiseRequest> receive_request(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kFdsMax)> space{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  ssize_t got = -1;
  for (int i = 0; got < 0 && i < kReceiveTries; ++i) {
    if (i > 0 && errno != EINTR) ::poll(nullptr, 0, kReceiveWaitMs);
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  }
  if (got <= 0) return std::nullopt;
  RaiseRequest request;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return request;
  std::vector<int> raw((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(raw.data(), CMSG_DATA(header), raw.size() * sizeof(int));
  for (const int fd : raw) request.fds.emplace_back(fd);
  request.complete = (message.msg_flags & MSG_CTRUNC) == 0 && !request.fds.empty();
  return request;
}

// Nobody supervises the worker: its claim says why, for the agent to find once its connection ends.
void refuse(UniqueFd claim, const Error& error) {
  const WorkerEnding ending{Cause::refused, {}, 0, since_boot().count(), error.message};
  ClaimFile(std::move(claim)).write(ending);
}

Inheritance inherit(std::vector<UniqueFd> fds) {
  Inheritance inheritance{std::move(fds[0]), std::move(fds[1]), {}};
  for (std::size_t i = kFixedFds; i < fds.size(); ++i)
    inheritance.held.push_back(std::move(fds[i]));
  return inheritance;
}

void be_nobodys_guest() {
  ::setsid();
  // It ends with its agent even where somebody stopped it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::chdir("/") != 0) ::_exit(1);
  ::umask(077);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  if (null > 2) ::close(null);
  ::close_range(kSocket + 1, ~0U, 0);
}

}  // namespace

int run_nursery(int socket) {
  ::signal(SIGCHLD, SIG_IGN);
  while (auto request = receive_request(socket)) {
    std::vector<UniqueFd>& fds = request->fds;
    const pid_t child = request->complete ? ::fork() : -1;
    if (child == 0) {
      ::close(socket);
      ::setsid();
      ::_exit(fds.size() < kFixedFds ? run_looker(fds[0].get())
                                     : supervise(inherit(std::move(fds))));
    }
    const int error = request->complete ? errno : EMFILE;
    const bool supervisors = fds.size() >= kFixedFds || (!fds.empty() && !request->complete);
    if (child < 0 && supervisors)
      refuse(std::move(fds[0]), system_error("No supervisor can be started", error));
  }
  return 0;
}

std::uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenFiles;
  const std::uint64_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kOpenFilesMax);
  if (limit.rlim_cur > before) ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

int supervise_main(int argc, char** argv) {
  be_nobodys_guest();
  rlimit limit{};
  const std::uint64_t open_files = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (open_files > 0 && ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(open_files, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  // Of a worker and its supervisor the worker is the one to die for want of memory; only root may
  // say so.
  write_existing("/proc/self/oom_score_adj", "-500");
  return run_nursery(kSocket);
}

Nursery::~Nursery() { close(); }

Result<void> Nursery::open() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(system_error("The supervisors' nursery can't be reached", errno));
  socket_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnActions actions;
  // A descriptor that already has the wanted number would keep its close-on-exec flag.
  const UniqueFd moved(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kSocket + 1));
  if (!moved) return fail(system_error("The supervisors' nursery can't be reached", errno));
  ::posix_spawn_file_actions_adddup2(&actions.value, moved.get(), kSocket);
  const SpawnAttributes attributes;
  std::vector<char*> arguments;
  std::string open_files = std::to_string(open_files_);
  for (const std::string& argument : program_)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(open_files.data());
  arguments.push_back(nullptr);
  std::string shown = "paceline";
  arguments[0] = shown.data();
  const int error = ::posix_spawn(&pid_, program_[0].c_str(), &actions.value, &attributes.value,
                                  arguments.data(), ::environ);
  if (error == 0) return {};
  pid_ = 0;
  return fail(system_error("'" + program_[0] + "' can't be started", error));
}

void Nursery::close() {
  socket_.reset();
  if (pid_ == 0) return;
  // It leaves as soon as it sees the end of its socket.
  for (int i = 0; i < kLeavePolls && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i) {
    const timespec span{0, 1'000'000};
    ::nanosleep(&span, nullptr);
  }
  pid_ = 0;
  woken_.reset();
}

// One that is merely slow has others' starts in its hands.
void Nursery::wake() {
  const auto stat = pid_ == 0 ? std::nullopt : read_stat(pid_);
  if (!stat || (stat->state != 'T' && stat->state != 't')) return;
  const auto now = std::chrono::steady_clock::now();
  if (!woken_ || now - *woken_ > kWakingMax) {
    woken_ = now;
    send_signal(ProcessId{pid_, stat->start_time}, SIGCONT);
  } else if (now - *woken_ >= kWakingMin) {
    send_signal(ProcessId{pid_, stat->start_time}, SIGKILL);
    close();
    static_cast<void>(open());
  }
}

void Nursery::raise(Inheritance inheritance) {
  std::vector<UniqueFd> request;
  request.push_back(std::move(inheritance.claim));
  request.push_back(std::move(inheritance.listener));
  for (UniqueFd& fd : inheritance.held) request.push_back(std::move(fd));
  queue_.push_back(std::move(request));
  flush();
}

void Nursery::raise_looker(UniqueFd socket) {
  queue_.emplace_back().push_back(std::move(socket));
  flush();
}

int Nursery::send_first() { return send_descriptors(socket_.get(), descriptors(queue_.front())); }

void Nursery::flush() {
  while (!queue_.empty()) {
    int error = socket_ ? send_first() : EPIPE;
    if (error == EPIPE || error == ECONNRESET) {
      close();
      if (const auto opened = open(); !opened) {
        refuse_first(opened.error());
        continue;
      }
      error = send_first();
    }
    if (error == EAGAIN || error == ETOOMANYREFS || error == ENOBUFS) return;
    if (error != 0)
      refuse_first(system_error("The supervisors' nursery takes no request", error));
    else
      queue_.pop_front();
  }
}

void Nursery::refuse_first(const Error& error) {
  std::vector<UniqueFd>& request = queue_.front();
  if (request.size() >= kFixedFds) refuse(std::move(request[0]), error);
  queue_.pop_front();
}

}  // namespace paceline::agent
