#include "agent/linux/health_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/linux/signals.hpp"
#include "agent/linux/spawn.hpp"
#include "base/utf8.hpp"

namespace paceline::agent {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds{50};
constexpr std::size_t kToldMax = 200;  // bytes of its first line

// 0, or errno.
int spawn_shell(const std::string& command, int output, pid_t& child) {
  const SpawnAttributes attributes;
  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDERR_FILENO);
  std::string shell = "/bin/sh", option = "-c", text = command;
  std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  return ::posix_spawn(&child, shell.c_str(), &actions.value, &attributes.value, arguments.data(),
                       ::environ);
}

// Its first line, fit for everybody's eyes; empty: there is none.
std::string first_line(const std::string& output) {
  const std::size_t begin = output.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  std::string line = output.substr(begin, output.find('\n', begin) - begin);
  if (line.size() > kToldMax) line.resize(kToldMax);
  line.resize(line.size() - utf8_unfinished(line));
  line = printable(to_utf8(line));
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<std::string> problem_of(int status, const std::string& output) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  const std::string line = first_line(output);
  const std::string how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("Its health check failed ({}){}{}", how, line.empty() ? "." : ": ", line);
}

}  // namespace

HealthCheck::HealthCheck(boost::asio::io_context& io, std::string command, HealthCheckTimes times,
                         std::function<void()> changed)
    : command_(std::move(command)),
      times_(times),
      changed_(std::move(changed)),
      timer_(io),
      problem_("Its health check has not ended yet.") {}

HealthCheck::~HealthCheck() {
  if (pid_ != 0) kill_run();
}

// With what it started and hasn't left to itself.
void HealthCheck::kill_run() const {
  std::vector<pid_t> pids = descendants(pid_);
  pids.push_back(pid_);
  send_signal(pids, SIGKILL);
}

void HealthCheck::start() { run(); }

void HealthCheck::run() {
  begun_ = std::chrono::steady_clock::now();
  text_.clear();
  late_ = false;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return end(fmt::format("Its health check can't be started: {}.", std::strerror(errno)));
  output_.reset(ends[0]);
  const UniqueFd writing(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  if (const int error = spawn_shell(command_, writing.get(), pid_); error != 0) {
    pid_ = 0;
    return end(fmt::format("Its health check can't be started: {}.", std::strerror(error)));
  }
  look_later();
}

void HealthCheck::look_later() {
  timer_.after(kLookEvery, [this] { look(); });
}

// Reads on behind what is told, so that a command that says much is not held up.
void HealthCheck::read_output() {
  std::array<char, 16384> piece{};
  ssize_t got = 0;
  while ((got = ::read(output_.get(), piece.data(), piece.size())) > 0)
    if (text_.size() < piece.size()) text_.append(piece.data(), static_cast<std::size_t>(got));
}

void HealthCheck::look() {
  read_output();
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0) {
    if (!late_ && std::chrono::steady_clock::now() - begun_ >= times_.patience) give_up();
    return look_later();
  }
  read_output();
  pid_ = 0;
  if (ended < 0)
    return end("It can't be told how its health check ended: SIGCHLD is ignored here.");
  end(late_ ? problem_ : problem_of(status, text_));
}

// It may not be killable before its file system answers: none is run beside it until then.
void HealthCheck::give_up() {
  late_ = true;
  kill_run();
  tell(fmt::format("Its health check did not end within {} s.",
                   std::chrono::ceil<std::chrono::seconds>(times_.patience).count()));
}

void HealthCheck::tell(std::optional<std::string> problem) {
  if (std::exchange(problem_, std::move(problem)) != problem_) changed_();
}

void HealthCheck::end(std::optional<std::string> problem) {
  output_.reset();
  const auto next = begun_ + times_.every;
  timer_.at(std::max(next, std::chrono::steady_clock::now() + kLookEvery), [this] { run(); });
  tell(std::move(problem));
}

}  // namespace paceline::agent
