#include "cli/client/raw_terminal.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace paceline {

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  if (::tcgetattr(fd_, &former_) != 0) return;
  termios raw = former_;
  ::cfmakeraw(&raw);
  taken_ = ::tcsetattr(fd_, TCSANOW, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (taken_) ::tcsetattr(fd_, TCSANOW, &former_);
}

CaughtSignals::CaughtSignals(std::initializer_list<int> signals) {
  ::sigemptyset(&caught_);
  for (const int signal : signals) ::sigaddset(&caught_, signal);
  ::pthread_sigmask(SIG_BLOCK, &caught_, &former_);
  fd_ = UniqueFd(::signalfd(-1, &caught_, SFD_CLOEXEC | SFD_NONBLOCK));
}

CaughtSignals::~CaughtSignals() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

int CaughtSignals::next() const {
  signalfd_siginfo info{};
  const bool came = ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  return came ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace paceline
