#include "cli/words/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/words/text.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

winsize window_of(const Console::Setup& setup) {
  winsize size{};
  if (::ioctl(setup.output_fd, TIOCGWINSZ, &size) != 0) {
    (void)::ioctl(setup.error_fd, TIOCGWINSZ, &size);
  }
  return size;
}

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

bool wants_color(const Environment& environment) {
  const auto no_color = environment.find("NO_COLOR");
  if (no_color != environment.end() && !no_color->second.empty()) return false;
  const auto term = environment.find("TERM");
  return term != environment.end() && !term->second.empty() && term->second != "dumb";
}

}  // namespace

Console Console::of_process(const Environment& environment) {
  Setup setup;
  setup.output_terminal = ::isatty(setup.output_fd) == 1;
  setup.status_line = ::isatty(setup.error_fd) == 1 && !is_pipe(setup.output_fd);
  setup.color = setup.output_terminal && wants_color(environment);
  return Console(setup);
}

void Console::print(std::string_view text) {
  if (text.empty() || broken()) return;
  write_bottom(erasure());
  failed_errno_ = write_all(setup_.output_fd, text);
  in_line_ = text.back() != '\n';
  const auto below = bottom();
  if (!below.empty()) write_bottom(in_line_ ? "\n" + below : below);
}

void Console::note(std::string_view text) {
  if (setup_.status_line) {
    (void)write_all(setup_.error_fd, fmt::format("{}paceline: {}\n{}", erasure(), text, bottom()));
    return;
  }
  write_bottom(erasure());
  (void)write_all(setup_.error_fd, fmt::format("paceline: {}\n", text));
  write_bottom(bottom());
}

void Console::complain(const Error& error) {
  constexpr std::size_t kIndent = std::string_view("paceline: ").size();
  note(error.hint.empty() ? error.message
                          : fmt::format("{}\n{:{}}{}", error.message, "", kIndent, error.hint));
}

void Console::status(std::string_view line) {
  if (!setup_.status_line) return;
  auto shown = cut_to_row(line);
  if (shown == status_) return;
  const auto erase = status_.empty() && live_.empty() ? std::string(kEraseLine) : erasure();
  status_ = std::move(shown);
  write_bottom(erase + bottom());
}

void Console::live(const std::vector<std::string>& rows) {
  if (!setup_.status_line && !setup_.output_terminal) return;
  std::vector<std::string> shown;
  for (const auto& row : rows) shown.push_back(cut_to_row(row));
  if (shown == live_) return;
  const auto erase = erasure();
  live_ = std::move(shown);
  write_bottom(erase + bottom());
}

std::string Console::cut_to_row(std::string_view line) const {
  return line.empty() ? std::string()
                      : cut_to_width(printable(line), width() > 1 ? width() - 1 : 1);
}

std::string Console::bottom() const {
  std::string text;
  for (const auto& row : live_) text += row + "\n";
  if (status_.empty() && !text.empty()) text.pop_back();
  return text + status_;
}

std::string Console::erasure() const {
  const std::size_t rows = live_.size() + (status_.empty() ? 0 : 1);
  std::string text(rows == 0 ? "" : kEraseLine);
  for (std::size_t row = 1; row < rows; ++row) text += "\x1b[A\x1b[K";
  return text;
}

void Console::write_bottom(std::string_view bytes) {
  if (bytes.empty()) return;
  (void)write_all(setup_.status_line ? setup_.error_fd : setup_.output_fd, bytes);
}

std::size_t Console::width() const {
  constexpr std::size_t kUsual = 80;
  const auto size = window_of(setup_);
  return size.ws_col == 0 ? kUsual : size.ws_col;
}

std::size_t Console::height() const {
  constexpr std::size_t kUsual = 24;
  const auto size = window_of(setup_);
  return size.ws_row == 0 ? kUsual : size.ws_row;
}

Look Console::look(bool header) const {
  Look look{.header = header, .color = setup_.color, .width = {}};
  if (setup_.output_terminal) look.width = width();
  return look;
}

std::string Console::paint(std::string_view text, Style style) const {
  return setup_.color ? styled(text, style) : std::string(text);
}

int Console::finish(int code) {
  live({});
  status("");
  if (failed_errno_ == 0) return code;
  if (failed_errno_ == EPIPE) return 0;
  const Error error{ErrorCode::storage,
                    fmt::format("The output can't be written: {}.", std::strerror(failed_errno_)),
                    "Make room, or send it elsewhere.", Retry::may_help};
  complain(error);
  return exit_code(error.code);
}

}  // namespace paceline
