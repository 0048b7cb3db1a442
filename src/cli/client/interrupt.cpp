#include "cli/client/interrupt.hpp"

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

// A signal handler reaches nothing but globals. The pipe stays open for as long as the process lives:
// a handler may still be writing to it on another thread.
std::atomic<int> read_fd = -1, write_fd = -1;
std::atomic<int> pending_signal = 0;
std::atomic<bool> alive = false;
std::array<struct sigaction, 2> former;
constexpr std::array kCaught = {SIGINT, SIGTERM};

void on_signal(int signal) {
  const int saved = errno;
  pending_signal = signal;
  const char byte = 1;
  [[maybe_unused]] const auto written = ::write(write_fd, &byte, 1);
  errno = saved;
}

void open_pipe() {
  if (read_fd >= 0) return;
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe for signals");
  read_fd = ends[0];
  write_fd = ends[1];
}

void empty_pipe() {
  std::array<char, 64> bytes{};
  while (::read(read_fd, bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace

Interrupt::Interrupt() {
  check(!alive.exchange(true), "one Interrupt at a time");
  open_pipe();
  empty_pipe();
  pending_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (std::size_t i = 0; i < kCaught.size(); ++i) {
    check(::sigaction(kCaught[i], &action, &former[i]) == 0, "a handler for a signal");
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kCaught.size(); ++i) {
    (void)::sigaction(kCaught[i], &former[i], nullptr);
  }
  pending_signal = 0;
  alive = false;
}

int Interrupt::pending() { return pending_signal; }

int Interrupt::fd() { return alive ? read_fd.load() : -1; }

bool Interrupt::sleep(Duration duration) {
  pollfd wake{fd(), POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  (void)::poll(&wake, 1, static_cast<int>(ms));
  return pending() == 0;
}

void Interrupt::raise(int signal) { on_signal(signal); }

}  // namespace paceline
