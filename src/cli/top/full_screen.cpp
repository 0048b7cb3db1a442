#include "cli/top/full_screen.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace paceline {
namespace {

// The other screen, without cursor and without wrapping.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[H\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array kCrashes = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// A handler reaches nothing but globals.
volatile std::sig_atomic_t crash_input = -1;
termios crash_former;

// The terminal as it was, then the crash takes its course.
void on_crash(int signal) {
  if (crash_input >= 0) {
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
    (void)::tcsetattr(crash_input, TCSANOW, &crash_former);
  }
  std::signal(signal, SIG_DFL);
  (void)::raise(signal);
}

}  // namespace

bool FullScreen::can_draw(const Console& console, const Environment& environment) {
  const auto term = environment.find("TERM");
  const bool plain = term == environment.end() || term->second.empty() || term->second == "dumb";
  return !plain && console.output_terminal() && ::isatty(console.input_fd()) == 1;
}

FullScreen::FullScreen(Console& console) : console_(console) {
  for (const int crash : kCrashes) std::signal(crash, on_crash);
  enter();
}

FullScreen::~FullScreen() {
  leave();
  for (const int crash : kCrashes) std::signal(crash, SIG_DFL);
}

void FullScreen::enter() {
  raw_.emplace(console_.input_fd());
  if (raw_->former() != nullptr) {
    crash_former = *raw_->former();
    crash_input = console_.input_fd();
  }
  console_.print(kEnter);
  forget();
}

void FullScreen::leave() {
  console_.print(kLeave);
  crash_input = -1;
  raw_.reset();
}

void FullScreen::suspend(pid_t process) {
  leave();
  sigset_t stop{}, former{};
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, &former);
  (void)::kill(process, SIGTSTP);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  enter();
}

void FullScreen::show(const Rows& rows) {
  std::string changed;
  if (shown_.empty()) changed = "\x1b[0m\x1b[2J";
  for (std::size_t row = 0; row < std::max(rows.size(), shown_.size()); ++row) {
    const std::string& now = row < rows.size() ? rows[row] : std::string();
    if (row < shown_.size() && shown_[row] == now) continue;
    changed += fmt::format("\x1b[{};1H\x1b[2K{}\x1b[0m", row + 1, now);
  }
  shown_ = rows;
  console_.print(changed);
}

}  // namespace paceline
