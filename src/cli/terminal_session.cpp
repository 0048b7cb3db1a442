#include "cli/terminal_session.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/interrupt.hpp"
#include "cli/job_view.hpp"
#include "cli/patience.hpp"
#include "cli/wait.hpp"

namespace paceline {
namespace {

constexpr char kLeaveKey = '\x1d';  // Ctrl-]
constexpr int kLeaveTimes = 3;
constexpr Duration kLook = std::chrono::milliseconds{100};

// The terminal in raw mode until the end of the scope.
class RawTerminal {
 public:
  explicit RawTerminal(int fd) : fd_(fd) {
    if (::tcgetattr(fd_, &former_) != 0) return;
    termios raw = former_;
    ::cfmakeraw(&raw);
    taken_ = ::tcsetattr(fd_, TCSANOW, &raw) == 0;
  }
  ~RawTerminal() {
    if (taken_) ::tcsetattr(fd_, TCSANOW, &former_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int fd_;
  termios former_{};
  bool taken_ = false;
};

enum class End { closed, left };

// Copies both ways until the other side closes or the user leaves.
class Session {
 public:
  Session(Console& console, int fd) : console_(console), fd_(fd) {}

  End run(const std::string& first) {
    const RawTerminal raw(console_.input_fd());
    console_.print(first);
    bool input = true;
    for (;;) {
      std::array<pollfd, 2> fds = {pollfd{fd_, POLLIN, 0},
                                   pollfd{input ? console_.input_fd() : -1, POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return End::closed;
      if (fds[0].revents != 0 && !receive()) return End::closed;
      if (fds[1].revents != 0) input = send();
      if (leave_keys_ == kLeaveTimes) return End::left;
    }
  }

 private:
  bool receive() {
    const auto size = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) return false;
    console_.print({buffer_.data(), static_cast<std::size_t>(size)});
    return !console_.broken();
  }

  bool send() {
    const auto size = ::read(console_.input_fd(), buffer_.data(), buffer_.size());
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) {
      (void)::shutdown(fd_, SHUT_WR);
      return false;
    }
    const std::string_view typed(buffer_.data(), static_cast<std::size_t>(size));
    for (const char c : typed) leave_keys_ = c == kLeaveKey ? leave_keys_ + 1 : 0;
    for (auto rest = typed; !rest.empty();) {
      const auto sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  Console& console_;
  int fd_;
  int leave_keys_ = 0;
  std::array<char, 16384> buffer_{};
};

std::string goes_on(std::uint32_t id) {
  return fmt::format(
      "Job {0} goes on. Come back with 'paceline attach {0}', end it with 'paceline cancel {0}'.",
      id);
}

// The job, once its terminal is there or it is over.
Result<Document> wait_until_running(Api& api, Console& console, std::uint32_t id) {
  const Interrupt interrupt;
  Patience patience(console);
  for (;;) {
    auto job = api.get(job_target(id));
    if (job) patience.over();
    if (!job && patience.again(job.error())) continue;
    if (!job || is_over(*job) || text_of(*job, "state") == "RUNNING") {
      console.status("");
      return job;
    }
    console.status(progress_line(*job));
    if (Interrupt::sleep(kLook)) continue;
    console.status("");
    return fail(ErrorCode::unavailable, goes_on(id));
  }
}

}  // namespace

Result<int> attach(Context& context, Api& api, std::uint32_t id) {
  Patience patience(context.console);
  bool was_there = false;
  for (;;) {
    const auto job = wait_until_running(api, context.console, id);
    if (!job) return fail(job.error());
    if (is_over(*job)) {
      context.console.note(job_sentence(*job));
      return exit_code_of(*job);
    }
    auto upgraded = open_upgrade(api.socket(), job_target(id, "attach"), "paceline-pty");
    if (!upgraded) {
      // After its shell ended a job runs on for a moment, but its terminal is gone.
      const bool ends = was_there && upgraded.error().code == ErrorCode::conflict;
      if (ends ? Interrupt::sleep(kLook) : patience.again(upgraded.error())) continue;
      return fail(std::move(upgraded.error()));
    }
    was_there = true;
    patience.over();
    if (Session(context.console, upgraded->fd.get()).run(upgraded->first) == End::left) {
      context.console.note(goes_on(id));
      return 0;
    }
  }
}

}  // namespace paceline
