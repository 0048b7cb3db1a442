#include "agent/linux/command_run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/linux/process.hpp"
#include "agent/linux/signals.hpp"
#include "agent/linux/spawn.hpp"
#include "files/keyring.hpp"

namespace paceline::agent {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds{50};

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& each : texts) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

// 0, or errno.
int spawn(std::vector<std::string> command, char* const* environment, int output, pid_t& child) {
  const SpawnAttributes attributes;
  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDERR_FILENO);
  const auto arguments = c_strings(command);
  return ::posix_spawnp(&child, arguments.front(), &actions.value, &attributes.value,
                        arguments.data(), environment);
}

// Keys are a thread's: one of its own leaves them, and ends.
int spawn_apart(const std::vector<std::string>& command, std::vector<std::string> environment,
                int output, pid_t& child) {
  int error = EAGAIN;
  try {
    std::thread([&] {
      error = leave_session_keyring() ? spawn(command, c_strings(environment).data(), output, child)
                                      : errno;
    }).join();
  } catch (const std::system_error& none) {
    return none.code().value();
  }
  return error;
}

}  // namespace

CommandRun::~CommandRun() {
  if (pid_ != 0) kill_run();
}

void CommandRun::kill_run() const {
  std::vector<pid_t> pids = descendants(pid_);
  pids.push_back(pid_);
  send_signal(pids, SIGKILL);
}

int CommandRun::start(const std::vector<std::string>& command, Options options,
                      std::function<void(Ended)> ended) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  const int error = options.environment
                        ? spawn_apart(command, *options.environment, writing.get(), pid_)
                        : spawn(command, ::environ, writing.get(), pid_);
  if (error != 0) {
    pid_ = 0;
    return error;
  }
  options_ = std::move(options);
  done_ = std::move(ended);
  output_ = std::move(reading);
  ended_ = {};
  begun_ = std::chrono::steady_clock::now();
  timer_.after(kLookEvery, [this] { look(); });
  return 0;
}

// Reads on behind what is kept, so that a command that says much is not held up.
void CommandRun::read_output() {
  std::array<char, 16384> piece{};
  ssize_t got = 0;
  while ((got = ::read(output_.get(), piece.data(), piece.size())) > 0) {
    const auto room = options_.output_max - ended_.output.size();
    ended_.output.append(piece.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

void CommandRun::look() {
  read_output();
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0) {
    timer_.after(kLookEvery, [this] { look(); });
    if (ended_.late || std::chrono::steady_clock::now() - begun_ < options_.patience) return;
    ended_.late = true;
    kill_run();
    if (options_.late) options_.late();
    return;
  }
  read_output();
  pid_ = 0;
  output_.reset();
  if (ended > 0) ended_.status = status;
  std::exchange(done_, nullptr)(std::exchange(ended_, {}));
}

}  // namespace paceline::agent
