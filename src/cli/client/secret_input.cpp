#include "cli/client/secret_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "files/fd.hpp"

namespace paceline {
namespace {

// A terminal that shows nothing of what is typed, until the end of the scope.
class HiddenInput {
 public:
  explicit HiddenInput(int fd) : fd_(fd), hides_(::tcgetattr(fd, &former_) == 0) {
    if (!hides_) return;
    termios hidden = former_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    hidden.c_lflag |= ECHONL;
    ::tcsetattr(fd_, TCSAFLUSH, &hidden);
  }
  ~HiddenInput() {
    if (hides_) ::tcsetattr(fd_, TCSAFLUSH, &former_);
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;

  [[nodiscard]] bool is_terminal() const { return hides_; }

 private:
  int fd_;
  termios former_{};
  bool hides_;
};

std::string trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return std::string(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
}

// Byte by byte: what stands behind the line is left for others.
Result<std::string> read_line(int fd) {
  std::string line;
  for (char next = 0; line.size() <= kSecretBytesMax;) {
    const auto count = ::read(fd, &next, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || next == '\n') break;
    line += next;
  }
  auto secret = trimmed(line);
  if (!secret.empty() && line.size() <= kSecretBytesMax) return secret;
  return fail(ErrorCode::invalid, secret.empty() ? "There is no token." : "That is no token.",
              "Paste the one that 'paceline token create' printed.");
}

}  // namespace

Result<std::string> ask_secret(Console& console, std::string_view prompt) {
  const HiddenInput input(console.input_fd());
  if (input.is_terminal()) console.note(prompt);
  return read_line(console.input_fd());
}

Result<std::string> read_secret_file(Console& console, const std::string& path) {
  if (path == "-") return read_line(console.input_fd());
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return read_line(file.get());
  return fail(ErrorCode::not_found,
              fmt::format("'{}' can't be read: {}.", path, std::strerror(errno)));
}

}  // namespace paceline
