#include "http/unix_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace paceline {
namespace {

constexpr int kBacklog = 1024;

// An address and, where the path is long, the open folder it goes through.
struct Address {
  sockaddr_un name{};
  UniqueFd folder;
};

std::string reason() { return std::strerror(errno); }

Result<Address> address_of(const std::filesystem::path& path) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::string text = path.string();
  if (text.size() >= sizeof address.name.sun_path) {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    address.folder = UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    text = fmt::format("/proc/self/fd/{}/{}", address.folder.get(), path.filename().string());
  }
  if (text.size() >= sizeof address.name.sun_path) {
    return fail(ErrorCode::invalid,
                fmt::format("The name of the socket {} is too long.", path.string()),
                "Use a file name of less than 80 bytes.");
  }
  std::memcpy(static_cast<char*>(address.name.sun_path), text.c_str(), text.size() + 1);
  return address;
}

const sockaddr* as_sockaddr(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

UniqueFd open_socket(int more) {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | more, 0));
}

tl::unexpected<Error> cannot_listen(const std::filesystem::path& path) {
  return fail(ErrorCode::storage, fmt::format("Cannot listen at {}: {}.", path.string(), reason()),
              "Choose a writable local directory with --dir.");
}

Result<void> remove_stale(const std::filesystem::path& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return {};
  if (!S_ISSOCK(there.st_mode)) {
    return fail(ErrorCode::conflict, fmt::format("{} is there and is not a socket.", path.string()),
                "Move it away, or choose another directory with --dir.");
  }
  if (::unlink(path.c_str()) != 0) return cannot_listen(path);
  return {};
}

// The file appears with mode 0600, so that nobody slips in before the mode is right.
bool bind_privately(int fd, const Address& address) {
  const auto before = ::umask(0177);
  const bool bound = ::bind(fd, as_sockaddr(address), sizeof address.name) == 0;
  ::umask(before);
  return bound;
}

}  // namespace

Result<UniqueFd> listen_unix(const std::filesystem::path& path, SocketAccess access) {
  if (auto removed = remove_stale(path); !removed) return fail(removed.error());
  auto address = address_of(path);
  if (!address) return fail(address.error());
  auto socket = open_socket(SOCK_NONBLOCK);
  if (!socket || !bind_privately(socket.get(), *address)) return cannot_listen(path);
  if (access == SocketAccess::everyone && ::chmod(path.c_str(), 0666) != 0)
    return cannot_listen(path);
  if (::listen(socket.get(), kBacklog) != 0) return cannot_listen(path);
  return socket;
}

Result<UniqueFd> connect_unix(const std::filesystem::path& path, Connecting kind) {
  auto address = address_of(path);
  if (!address) return fail(address.error());
  auto socket = open_socket(kind == Connecting::non_blocking ? SOCK_NONBLOCK : 0);
  while (!socket || ::connect(socket.get(), as_sockaddr(*address), sizeof address->name) != 0) {
    if (errno == EINTR && kind == Connecting::blocking) continue;
    const bool refused = errno == EACCES || errno == EPERM;
    return fail(refused ? ErrorCode::forbidden : ErrorCode::unavailable,
                fmt::format("Nobody answers at {}: {}.", path.string(), reason()), {},
                refused ? Retry::useless : Retry::may_help);
  }
  return socket;
}

}  // namespace paceline
