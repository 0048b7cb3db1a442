#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/check.hpp"

namespace paceline {
namespace {

// A signal handler reaches nothing but globals.
std::array<int, 2> pipe_fds = {-1, -1};
std::atomic<int> pending_signal = 0;
std::array<struct sigaction, 2> former;
constexpr std::array kSignals = {SIGINT, SIGTERM};

void on_signal(int signal) {
  const int saved = errno;
  pending_signal = signal;
  const char byte = 1;
  [[maybe_unused]] const auto written = ::write(pipe_fds[1], &byte, 1);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  check(pipe_fds[0] < 0, "one Interrupt at a time");
  check(::pipe2(pipe_fds.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe for signals");
  pending_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    check(::sigaction(kSignals[i], &action, &former[i]) == 0, "a handler for a signal");
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    (void)::sigaction(kSignals[i], &former[i], nullptr);
  }
  for (auto& fd : pipe_fds) {
    ::close(fd);
    fd = -1;
  }
  pending_signal = 0;
}

int Interrupt::pending() { return pending_signal; }

int Interrupt::fd() { return pipe_fds[0]; }

bool Interrupt::sleep(Duration duration) {
  pollfd wake{fd(), POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  (void)::poll(&wake, 1, static_cast<int>(ms));
  return pending() == 0;
}

void Interrupt::raise(int signal) { on_signal(signal); }

}  // namespace paceline
