#include "agent/linux/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/linux/control.hpp"
#include "agent/linux/files.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr int kTerminalBacklog = 8;
constexpr std::size_t kTypedMax = 64 << 10;
constexpr std::string_view kSizePrefix = "\x1b[8;";
constexpr std::size_t kSequenceMax = 20;

// The path may be longer than a socket's address can hold, so it is reached through its open
// directory.
UniqueFd listen_below(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const auto directory = open_directory(path.substr(0, slash));
  if (!directory) return {};
  ::unlinkat(directory->get(), path.c_str() + slash + 1, 0);
  const std::string short_path =
      fmt::format("/proc/self/fd/{}{}", directory->get(), path.substr(slash));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  short_path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kTerminalBacklog) != 0)
    return {};
  return fd;
}

UniqueFd open_slave(int master, std::uint32_t uid) {
  std::array<char, 128> name{};
  if (::grantpt(master) != 0 || ::unlockpt(master) != 0 ||
      ::ptsname_r(master, name.data(), name.size()) != 0)
    return {};
  UniqueFd slave(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (slave && ::geteuid() == 0 && ::fchown(slave.get(), uid, static_cast<gid_t>(-1)) != 0)
    return {};
  return slave;
}

// "24;80t" behind the prefix; nothing while it may still become that, zero rows if it never can.
std::optional<TerminalSize> parse_size(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789;");
  if (end == std::string_view::npos) {
    if (text.size() < kSequenceMax) return std::nullopt;
    return TerminalSize{0, 0};
  }
  const std::string digits(text.substr(0, end));
  const std::size_t semicolon = digits.find(';');
  if (text[end] != 't' || semicolon == std::string::npos) return TerminalSize{0, 0};
  const long rows = std::strtol(digits.c_str(), nullptr, 10);
  const long columns = std::strtol(digits.c_str() + semicolon + 1, nullptr, 10);
  if (rows < 1 || rows > 9999 || columns < 1 || columns > 9999) return TerminalSize{0, 0};
  return TerminalSize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
}

}  // namespace

std::string TerminalInput::take(std::string_view bytes, std::optional<TerminalSize>& size) {
  std::string text = std::exchange(held_, {}) + std::string(bytes);
  std::string typed;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const bool begins = kSizePrefix.starts_with(rest.substr(0, kSizePrefix.size()));
    if (!begins || rest == "\x1b") {
      typed.push_back(text[at++]);
      continue;
    }
    const auto found = rest.size() < kSizePrefix.size()
                           ? std::nullopt
                           : parse_size(rest.substr(kSizePrefix.size()));
    if (!found) {
      held_ = rest;
      return typed;
    }
    if (found->rows == 0) {
      typed.push_back(text[at++]);
      continue;
    }
    size = found;
    at = text.find('t', at) + 1;
  }
  return typed;
}

Result<Terminal> Terminal::open(const std::string& path, std::uint32_t uid, int log) {
  Terminal terminal;
  terminal.path_ = path;
  terminal.log_ = log;
  terminal.master_.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (terminal.master_) terminal.slave_ = open_slave(terminal.master_.get(), uid);
  if (!terminal.slave_) return fail(system_error("No pseudo terminal can be made", errno));
  terminal.listener_ = listen_below(path);
  if (!terminal.listener_) return fail(system_error("The terminal's socket can't be made", errno));
  terminal.resize({});
  return terminal;
}

void Terminal::add_to(std::vector<pollfd>& watched) const {
  const short typing = typed_.empty() ? 0 : POLLOUT;
  watched.push_back({master_.get(), static_cast<short>(POLLIN | typing), 0});
  watched.push_back({clients_.size() < kClientsMax ? listener_.get() : -1, POLLIN, 0});
  for (const Client& client : clients_) {
    const short reading = typed_.size() < kTypedMax ? POLLIN : 0;
    const short writing = client.pending.empty() ? 0 : POLLOUT;
    watched.push_back({client.fd.get(), static_cast<short>(reading | writing), 0});
  }
}

void Terminal::handle(const pollfd* ready, std::size_t count) {
  if (ready[0].revents & POLLOUT) type({});
  if (ready[0].revents & (POLLIN | POLLHUP | POLLERR)) read_master();
  for (std::size_t i = 2; i < count; ++i)
    if (ready[i].revents != 0) serve(clients_[i - 2], ready[i].revents);
  std::erase_if(clients_, [](const Client& client) { return !client.fd; });
  if (ready[1].revents != 0) accept_client();
}

// False once there is nothing to read now; the descriptor goes when there never will be again.
bool Terminal::read_master() {
  std::array<char, 16384> buffer{};
  const ssize_t n = ::read(master_.get(), buffer.data(), buffer.size());
  if (n > 0) {
    show({buffer.data(), static_cast<std::size_t>(n)});
    return true;
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) master_.reset();
  return false;
}

void Terminal::drain() {
  while (master_ && read_master()) {
  }
}

void Terminal::show(std::string_view bytes) {
  write_all(log_, bytes);
  scrollback_.append(bytes);
  if (scrollback_.size() > 2 * kScrollbackMax)
    scrollback_.erase(0, scrollback_.size() - kScrollbackMax);
  for (Client& client : clients_) {
    client.pending.append(bytes);
    send_pending(client);
    if (client.pending.size() > kPendingMax) client.fd.reset();
  }
}

void Terminal::send_pending(Client& client) {
  if (!client.fd) return;
  const ssize_t n = ::send(client.fd.get(), client.pending.data(), client.pending.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0) client.pending.erase(0, static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) client.fd.reset();
}

void Terminal::send_last_words() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kLastWords;
  for (;;) {
    std::erase_if(clients_,
                  [](const Client& client) { return !client.fd || client.pending.empty(); });
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (clients_.empty() || left <= 0) return;
    std::vector<pollfd> slow;
    for (const Client& client : clients_) slow.push_back({client.fd.get(), POLLOUT, 0});
    if (::poll(slow.data(), slow.size(), static_cast<int>(left)) <= 0) continue;
    for (std::size_t i = 0; i < slow.size(); ++i)
      if (slow[i].revents != 0) send_pending(clients_[i]);
  }
}

void Terminal::accept_client() {
  UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd || !is_trusted_peer(fd.get())) return;
  const std::size_t shown = std::min(scrollback_.size(), kScrollbackMax);
  clients_.push_back({std::move(fd), {}, scrollback_.substr(scrollback_.size() - shown)});
  send_pending(clients_.back());
}

void Terminal::serve(Client& client, short events) {
  if (events & POLLOUT) send_pending(client);
  if (!(events & (POLLIN | POLLHUP | POLLERR))) return;
  std::array<char, 4096> buffer{};
  const ssize_t n = ::recv(client.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return client.fd.reset();
  std::optional<TerminalSize> size;
  const std::string typed = client.input.take({buffer.data(), static_cast<std::size_t>(n)}, size);
  if (size) resize(*size);
  type(typed);
}

void Terminal::type(std::string_view bytes) {
  typed_.append(bytes);
  if (!master_ || typed_.empty()) return;
  const ssize_t n = ::write(master_.get(), typed_.data(), typed_.size());
  if (n > 0) typed_.erase(0, static_cast<std::size_t>(n));
}

void Terminal::resize(const TerminalSize& size) const {
  winsize window{};
  window.ws_row = size.rows;
  window.ws_col = size.columns;
  ::ioctl(master_.get(), TIOCSWINSZ, &window);
}

void Terminal::close() {
  ::unlink(path_.c_str());
  listener_.reset();
  send_last_words();
  clients_.clear();
}

}  // namespace paceline::agent
