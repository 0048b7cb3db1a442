#include "agent/linux/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/script_changes.hpp"
#include "agent/linux/shm.hpp"
#include "agent/wants.hpp"
#include "files/keyring.hpp"
#include "files/witnesses.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

// Training is what should die first when the whole machine runs out of memory; anyone may raise the
// score of his own process.
constexpr std::string_view kWorkerOomScore = "200";

enum class Step : int { group, memory, user, account, terminal, directory, witnesses, program };

struct Failure {
  Step step = Step::program;
  int error_number = 0;
};

void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool have_groups(const std::vector<gid_t>& groups) {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> mine(static_cast<std::size_t>(std::max(count, 0)));
  return ::getgroups(static_cast<int>(mine.size()), mine.data()) == count && mine == groups;
}

// What is so already needs no right to be made so.
bool take_groups(gid_t own, const std::vector<gid_t>& others) {
  return (have_groups(others) || ::setgroups(others.size(), others.data()) == 0) &&
         (::getgid() == own || ::setresgid(own, own, own) == 0);
}

bool take_groups(const passwd& account) {
  return ::initgroups(account.pw_name, account.pw_gid) == 0 &&
         ::setresgid(account.pw_gid, account.pw_gid, account.pw_gid) == 0;
}

// Takes on the owner's identity with its groups. Runs in the forked child, so what the name service
// loads goes with the exec.
std::optional<Failure> become(const WorkerOrder& order) {
  const std::uint32_t uid = order.uid;
  const bool is_owner = uid == ::geteuid(), by_account = order.groups.empty();
  if (is_owner && by_account) return std::nullopt;
  if (::geteuid() != 0) return Failure{Step::user, EPERM};
  errno = 0;
  const passwd* account = is_owner ? nullptr : ::getpwuid(uid);
  if (account == nullptr && !is_owner) return Failure{Step::account, errno};
  if (!is_owner && !leave_session_keyring()) return Failure{Step::user, errno};
  const bool grouped = by_account ? take_groups(*account)
                                  : take_groups(order.groups.front(),
                                                {order.groups.begin() + 1, order.groups.end()});
  if (!grouped || (!is_owner && ::setresuid(uid, uid, uid) != 0)) return Failure{Step::user, errno};
  return std::nullopt;
}

// By user; the kernel does not hold root to it.
void limit_processes(const WorkerOrder& order) {
  rlimit limit{};
  const rlim_t most = order.cgroups.limits.processes;
  if (most == 0 || order.uid == 0 || ::getrlimit(RLIMIT_NPROC, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  ::setrlimit(RLIMIT_NPROC, &limit);
}

bool connect_output(const LaunchedProgram& program) {
  if (program.terminal >= 0)
    return ::ioctl(program.terminal, TIOCSCTTY, 0) == 0 && ::dup2(program.terminal, 0) == 0 &&
           ::dup2(program.terminal, 1) == 1 && ::dup2(program.terminal, 2) == 2;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return null >= 0 && ::dup2(null, 0) == 0 && ::dup2(program.log, 1) == 1 &&
         ::dup2(program.log, 2) == 2;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::optional<Failure> prepare(const WorkerOrder& order, const WorkerGroup& group,
                               const LaunchedProgram& program, pid_t supervisor) {
  default_signals();
  ::setsid();
  write_existing("/proc/self/oom_score_adj", kWorkerOomScore);
  if (!order.shm.empty())
    if (const int error = enter_memory(order.shm.c_str(), program.ipc); error != 0)
      return Failure{Step::memory, error};
  if (!group.counts_processes()) limit_processes(order);
  if (!connect_output(program)) return Failure{Step::terminal, errno};
  if (const auto failure = become(order)) return failure;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  ::umask(static_cast<mode_t>(order.umask));
  if (::chdir(order.directory.c_str()) != 0) return Failure{Step::directory, errno};
  if (!order.witnesses.empty() && !is_witnessed(".", order.witnesses))
    return Failure{Step::witnesses, 0};
  return std::nullopt;
}

// As the owner, in the job's directory: what it may not see is not told.
void tell_script_change(const WorkerOrder& order) {
  if (order.submitted_us == 0) return;
  const WallTime submitted = wall_from_us(order.submitted_us);
  if (const auto change = script_change(order.command, order.shell, submitted))
    write_all(STDOUT_FILENO, fmt::format("--- {} ---\n", sentence(*change, submitted)));
}

// The child's side of launch(): never returns.
[[noreturn]] void run_child(const WorkerOrder& order, const WorkerGroup& group,
                            const LaunchedProgram& program, pid_t supervisor, int report,
                            std::optional<Failure> failure) {
  if (!failure) failure = prepare(order, group, program, supervisor);
  if (!failure) {
    if (order.rank == 0 && program.command == order.command) tell_script_change(order);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    std::vector<char*> environment = pointers(order.environment);
    ::environ = environment.data();
    ::execvp(program.command[0].c_str(), pointers(program.command).data());
    failure = Failure{Step::program, errno};
  }
  write_all(report, {reinterpret_cast<const char*>(&*failure), sizeof *failure});
  ::_exit(127);
}

std::string program_sentence(const std::string& program, int error_number) {
  const bool path = program.find('/') != std::string::npos;
  if (error_number == ENOENT && path && ::access(program.c_str(), F_OK) == 0)
    return fmt::format("'{}' names an interpreter in its first line that is not there.", program);
  if (error_number == ENOENT)
    return fmt::format("There is no program '{}'{}; check the command.", program,
                       path ? "" : " in the job's PATH");
  if (error_number == EACCES)
    return fmt::format(
        "'{}' may not be executed; make it executable with chmod +x, or start it with its "
        "interpreter.",
        program);
  if (error_number == E2BIG)
    return "Command and environment together are longer than this machine allows; shorten "
           "them.";
  return fmt::format("'{}' can't be started: {}.", program, std::strerror(error_number));
}

// The next start would find the same.
bool is_missing(int error_number) {
  constexpr int kMissing[] = {ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kMissing, error_number) != std::end(kMissing);
}

std::string sentence(const WorkerOrder& order, const std::string& program, const Failure& failure) {
  const char* reason = std::strerror(failure.error_number);
  switch (failure.step) {
    case Step::group:
      return fmt::format("The worker can't enter its control group: {}.", reason);
    case Step::memory:
      return fmt::format("The worker's own /dev/shm can't be set up: {}.", reason);
    case Step::user:
      return fmt::format("This server may not start workers as user {}: {}.", order.uid, reason);
    case Step::account:
      return fmt::format("User id {} has no account on this machine.", order.uid);
    case Step::terminal:
      return fmt::format("The worker's output can't be set up: {}.", reason);
    case Step::directory:
      return fmt::format("The directory '{}' can't be entered: {}.{}", order.directory, reason,
                         is_missing(failure.error_number) ? kWaysOut : "");
    case Step::witnesses:
      return fmt::format(
          "The directory '{0}' is not the one that the job was submitted in: put that on a file "
          "system that the nodes share, or send it along: submit with --ship. Where a copy will "
          "do, "
          "name it: --workdir {0}.",
          order.directory);
    case Step::program:
      break;
  }
  return program_sentence(program, failure.error_number);
}

// Of the machine's wants nothing of the job is told: everybody gets to see them.
Error error_of(const WorkerOrder& order, const std::string& program, const Failure& failure) {
  const bool jobs = failure.step >= Step::directory;
  const auto step = jobs ? StartStep::job : StartStep::server;
  if (blame(step, failure.error_number) == Cause::refused) {
    Error error = system_error("A worker can't be started", failure.error_number);
    if (jobs) error.code = ErrorCode::unavailable;
    return error;
  }
  const bool missing =
      failure.step == Step::witnesses || (jobs && is_missing(failure.error_number));
  return {missing ? ErrorCode::not_found : ErrorCode::invalid,
          sentence(order, program, failure),
          {},
          Retry::useless};
}

}  // namespace

Result<Launch> launch(const WorkerOrder& order, const WorkerGroup& group, LaunchedProgram program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error("A worker can't be started", errno));
  UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const pid_t supervisor = ::getpid();
  bool entered = false;
  const pid_t child = group.fork(entered);
  if (child == 0) {
    const auto failure = entered ? std::nullopt : std::optional(Failure{Step::group, errno});
    run_child(order, group, program, supervisor, writing.get(), failure);
  }
  if (child < 0) return fail(system_error("A worker can't be started", errno));
  return Launch{child, std::move(reading), std::move(program.command)};
}

Result<void> outcome(const WorkerOrder& order, const Launch& launch) {
  Failure failure;
  ssize_t got = 0;
  do got = ::read(launch.report.get(), &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof failure)) return {};
  return fail(error_of(order, launch.command[0], failure));
}

}  // namespace paceline::agent
