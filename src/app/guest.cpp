#include "app/guest.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <vector>

#include "agent/linux/process.hpp"
#include "agent/linux/signals.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

using Steady = std::chrono::steady_clock;

constexpr timespec kSweepEvery{0, 20'000'000};
constexpr std::string_view kToken = "token";

// What the token was needed for is done: it was read.
Result<void> take_directory(const std::string& directory) {
  if (auto made = make_own_directory(directory, 0700); !made) return made;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().filename() == kToken) continue;
    return fail(ErrorCode::conflict, fmt::format("'{}' is not empty.", directory),
                "A guest's directory is removed at its end: name a new one with --dir.");
  }
  std::filesystem::remove(directory + "/" + std::string(kToken), error);
  return {};
}

std::string program_of(pid_t pid) {
  std::array<char, 4096> path{};
  const auto n = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : std::string();
}

sigset_t watched() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&signals, signal);
  return signals;
}

class Guest {
 public:
  Guest(pid_t agent, std::chrono::milliseconds save_within)
      : agent_(agent), save_within_(save_within), program_(program_of(::getpid())) {}

  int run() {
    while (!over_) {
      const auto signals = watched();
      const int signal = ::sigwaitinfo(&signals, nullptr);
      if (signal == SIGCHLD) reap();
      if (signal > 0 && signal != SIGCHLD) over_ = true;
    }
    end();
    return exit_code_;
  }

 private:
  // The agent goes first: nobody is to take a worker's answer to the signal for an end of its own.
  // Its children are found once it is gone; while they change parents they may be missed.
  void end() {
    const auto kill_at = Steady::now() + save_within_;
    if (agent_ != 0) ::kill(agent_, SIGKILL);
    while (agent_ != 0 && Steady::now() < kill_at) pass_time();
    agent::send_signal(workers(), SIGTERM);
    while (!workers().empty() && Steady::now() < kill_at) pass_time();
    for (auto left = agent::descendants(::getpid()); !left.empty();
         left = agent::descendants(::getpid())) {
      agent::send_signal(left, SIGKILL);
      pass_time();
    }
  }

  // Descendants that are no supervisors or helpers of ours.
  [[nodiscard]] std::vector<pid_t> workers() const {
    auto pids = agent::descendants(::getpid());
    std::erase_if(pids, [this](pid_t pid) {
      const auto program = program_of(pid);
      return program.empty() || program == program_;
    });
    return pids;
  }

  void pass_time() {
    const auto signals = watched();
    ::sigtimedwait(&signals, nullptr, &kSweepEvery);
    reap();
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != agent_) continue;
      agent_ = 0;
      if (!over_) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      over_ = true;
    }
  }

  pid_t agent_;
  std::chrono::milliseconds save_within_;
  std::string program_;
  bool over_ = false;
  int exit_code_ = 0;
};

[[noreturn]] void become_agent(pid_t parent, const sigset_t& before,
                               const std::function<int()>& agent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  std::exit(agent());
}

}  // namespace

Result<int> run_as_guest(const std::string& directory, const std::function<int()>& agent,
                         std::chrono::milliseconds save_within) {
  if (auto taken = take_directory(directory); !taken) return fail(std::move(taken.error()));
  const auto signals = watched();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    return fail(ErrorCode::storage, fmt::format("The agent can't begin: {}.", std::strerror(errno)),
                {}, Retry::may_help);
  if (child == 0) become_agent(parent, before, agent);
  const int code = Guest(child, save_within).run();
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  return code;
}

}  // namespace paceline
