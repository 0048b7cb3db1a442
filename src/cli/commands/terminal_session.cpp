#include "cli/commands/terminal_session.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "cli/client/interrupt.hpp"
#include "cli/client/persistence.hpp"
#include "cli/client/raw_terminal.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/commands/wait.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {
namespace {

constexpr char kLeaveKey = '\x1d';  // Ctrl-]
constexpr int kLeaveTimes = 3;
constexpr Duration kLook = std::chrono::milliseconds{100};

struct End {
  enum class Why { closed, left, signalled } why = Why::closed;
  int signal = 0;
};

// Copies both ways until the other side closes, the user leaves, or a signal ends it.
class Session {
 public:
  Session(Console& console, ClientStream& stream) : console_(console), stream_(stream) {}

  End run(const std::string& first) {
    const RawTerminal raw(console_.input_fd());
    const CaughtSignals signals({SIGWINCH, SIGHUP});
    console_.print(first);
    tell_size();
    for (;;) {
      std::array<pollfd, 4> fds = {pollfd{stream_.descriptor(), POLLIN, 0},
                                   pollfd{input_ ? console_.input_fd() : -1, POLLIN, 0},
                                   pollfd{signals.fd(), POLLIN, 0},
                                   pollfd{Interrupt::fd(), POLLIN, 0}};
      const bool came = ::poll(fds.data(), fds.size(), -1) > 0;
      if (const int signal = Interrupt::pending(); signal != 0)
        return {End::Why::signalled, signal};
      if (!came && errno != EINTR) return {End::Why::closed};
      if (!came) continue;
      if (fds[0].revents != 0 && !receive()) return {End::Why::closed};
      if (fds[1].revents != 0) type();
      const int signal = fds[2].revents != 0 ? signals.next() : 0;
      if (signal == SIGHUP) return {End::Why::signalled, signal};
      if (signal == SIGWINCH) tell_size();
      if (leave_keys_ >= kLeaveTimes) return {End::Why::left};
    }
  }

 private:
  bool receive() {
    const auto came = stream_.receive(buffer_.data(), buffer_.size());
    if (came.bytes == 0) return came.awaits != 0;
    console_.print({buffer_.data(), came.bytes});
    return !console_.broken();
  }

  // What was typed goes over; the end of an input that is no terminal becomes the key that says so.
  void type() {
    const auto size = ::read(console_.input_fd(), buffer_.data(), buffer_.size());
    if (size < 0 && errno == EINTR) return;
    if (size <= 0) {
      input_ = false;
      return send(in_line_ ? "\x04\x04" : "\x04");
    }
    const std::string_view typed(buffer_.data(), static_cast<std::size_t>(size));
    for (const char c : typed) leave_keys_ = c == kLeaveKey ? leave_keys_ + 1 : 0;
    in_line_ = typed.back() != '\n';
    if (leave_keys_ < kLeaveTimes) send(typed);
  }

  // As terminals report it: ESC [ 8 ; rows ; columns t.
  void tell_size() {
    if (console_.output_terminal()) {
      send(fmt::format("\x1b[8;{};{}t", console_.height(), console_.width()));
    }
  }

  // A lost connection is noticed by receive().
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = stream_.send(bytes.data(), bytes.size());
      if (sent.bytes == 0 && sent.awaits == 0) return;
      bytes.remove_prefix(sent.bytes);
      pollfd wait{stream_.descriptor(), sent.awaits, 0};
      if (sent.bytes == 0) ::poll(&wait, 1, -1);
    }
  }

  Console& console_;
  ClientStream& stream_;
  bool input_ = true;
  bool in_line_ = false;
  int leave_keys_ = 0;
  std::array<char, 16384> buffer_{};
};

std::string goes_on(std::uint32_t id) {
  return fmt::format(
      "Job {0} goes on. Come back with 'paceline attach {0}', end it with 'paceline cancel {0}'.",
      id);
}

// The job, once its terminal is there or it is over, or a signal came.
Result<Document> wait_until_running(Api& api, Console& console, std::uint32_t id) {
  Persistence patience(console);
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
    return job;
  }
}

int leave(Console& console, std::uint32_t id, int signal) {
  console.note(goes_on(id));
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace

Result<int> attach(Context& context, Api& api, std::uint32_t id) {
  const Interrupt interrupt;
  Persistence patience(context.console);
  bool was_there = false;
  for (;;) {
    const auto job = wait_until_running(api, context.console, id);
    if (const int signal = Interrupt::pending(); signal != 0)
      return leave(context.console, id, signal);
    if (!job) return fail(job.error());
    if (is_over(*job)) {
      context.console.note(job_sentence(*job));
      return exit_code_of(*job);
    }
    auto upgraded = open_upgrade(api.server(), job_target(id, "attach"), "paceline-pty");
    if (!upgraded) {
      // After its shell ended a job runs on for a moment, but its terminal is gone.
      const bool ends = was_there && upgraded.error().code == ErrorCode::conflict;
      if (ends ? Interrupt::sleep(kLook) : patience.again(upgraded.error())) continue;
      if (const int signal = Interrupt::pending(); signal != 0)
        return leave(context.console, id, signal);
      return fail(std::move(upgraded.error()));
    }
    was_there = true;
    patience.over();
    const auto end = Session(context.console, *upgraded->stream).run(upgraded->first);
    if (end.why == End::Why::closed) continue;
    if (context.console.output_terminal()) context.console.print("\n");  // its prompt stands there
    return leave(context.console, id, end.signal);
  }
}

Command attach_command() {
  return {"attach",
          "",
          "Jobs",
          "Come back to the terminal of a 'run --pty' job",
          "paceline attach 7",
          [](Options& options) -> Action {
            const auto id = std::make_shared<std::vector<std::string>>();
            options.words("ID", *id, Count::one, "id of a job");
            return [id](Context& context) {
              return for_each_job(context, *id, [&](Api& api, std::uint32_t job) {
                return attach(context, api, job);
              });
            };
          }};
}

}  // namespace paceline
