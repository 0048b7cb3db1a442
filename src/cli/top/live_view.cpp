#include "cli/top/live_view.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "cli/client/raw_terminal.hpp"
#include "cli/top/feed.hpp"
#include "cli/top/full_screen.hpp"
#include "cli/top/key.hpp"

namespace paceline {
namespace {

constexpr int kTickMs = 1000;  // the clock shows seconds
constexpr int kEscapeMs = 50;  // in which the rest of a key comes

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class LiveView {
 public:
  LiveView(Console& console, const ServerAddress& server, Duration interval, Board board)
      : console_(console), feed_(server, interval), board_(std::move(board)), screen_(console) {}

  void run() {
    while (!left_ && !console_.broken()) {
      screen_.show(board_.draw({.size = {console_.width(), console_.height()},
                                .color = console_.look().color,
                                .focused = true,
                                .now = wall_seconds()}));
      feed_.wish(board_.wish());
      wait();
    }
  }

 private:
  void wait() {
    std::array<pollfd, 3> fds = {pollfd{console_.input_fd(), POLLIN, 0},
                                 pollfd{signals_.fd(), POLLIN, 0}, pollfd{feed_.fd(), POLLIN, 0}};
    const int came = ::poll(fds.data(), fds.size(), keys_.undecided() ? kEscapeMs : kTickMs);
    if (came == 0) keys_.end();
    if (fds[0].revents != 0) read_keys();
    press_keys();
    if (fds[1].revents != 0) take_signals();
    if (fds[2].revents != 0) {
      for (auto& news : feed_.take()) board_.told(std::move(news));
    }
  }

  // A terminal that is gone has nothing to read.
  void read_keys() {
    std::array<char, 1024> bytes{};
    const auto size = ::read(console_.input_fd(), bytes.data(), bytes.size());
    if (size <= 0)
      left_ = true;
    else
      keys_.add({bytes.data(), static_cast<std::size_t>(size)});
  }

  void press_keys() {
    while (const auto key = keys_.next()) {
      if (key->kind == KeyKind::suspend)
        screen_.suspend(0);
      else if (key->kind == KeyKind::redraw)
        screen_.forget();
      else if (!board_.press(*key))
        left_ = true;
    }
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (signal == SIGWINCH)
        screen_.forget();
      else if (signal == SIGTSTP)
        screen_.suspend(::getpid());
      else
        left_ = true;
    }
  }

  Console& console_;
  CaughtSignals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
  Feed feed_;  // its thread has these signals blocked, too
  Board board_;
  FullScreen screen_;
  KeyReader keys_;
  bool left_ = false;
};

}  // namespace

void run_live_view(Console& console, const ServerAddress& server, Duration interval, Board board) {
  LiveView(console, server, interval, std::move(board)).run();
}

}  // namespace paceline
