#include "cli/locate.hpp"

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

constexpr std::string_view kSystemDirectory = "/run/paceline";

std::optional<std::string> value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return {};
  return found->second;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string socket_in(std::string_view place) {
  std::string path(place);
  if (!is_directory(path)) return path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return fmt::format("{}/{}", path, kSocketName);
}

tl::unexpected<Error> no_answer(const std::string& path, int reason) {
  if (reason == EACCES || reason == EPERM) {
    return fail(ErrorCode::forbidden,
                fmt::format("The server at {} belongs to another user.", path),
                "Start one of your own with 'paceline up'.");
  }
  return fail(ErrorCode::unavailable, fmt::format("No Paceline server answers at {}.", path),
              "Start one with 'paceline up'.", Retry::may_help);
}

Result<Fd> connect_short(const std::string& path, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return no_answer(name, errno);
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) return no_answer(name, errno);
  }
  return fd;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Result<Fd> connect_unix(const std::string& path) {
  if (path.size() < sizeof(sockaddr_un::sun_path)) return connect_short(path, path);
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd parent(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return no_answer(path, errno);
  const auto file = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto way = fmt::format("/proc/self/fd/{}/{}", parent.get(), file);
  if (way.size() >= sizeof(sockaddr_un::sun_path)) return no_answer(path, ENAMETOOLONG);
  return connect_short(way, path);
}

Result<std::string> default_directory(const Environment& environment) {
  if (auto named = value_of(environment, "PACELINE_DIR")) return *named;
  if (auto data = value_of(environment, "XDG_DATA_HOME")) return *data + "/paceline";
  if (auto home = value_of(environment, "HOME")) return *home + "/.local/share/paceline";
  return fail(ErrorCode::invalid, "There is no directory to use: HOME is not set.",
              "Name one with --dir or PACELINE_DIR.");
}

Result<std::string> find_server(const std::optional<std::string>& server,
                                const Environment& environment) {
  auto named = server ? server : value_of(environment, "PACELINE_DIR");
  std::string path = socket_in(named.value_or(std::string(kSystemDirectory)));
  auto connected = connect_unix(path);
  if (!connected && !named) {
    auto own = default_directory(environment);
    if (!own) return fail(std::move(own.error()));
    path = socket_in(*own + "/" + std::string(kSocketName));
    connected = connect_unix(path);
  }
  if (!connected) return fail(std::move(connected.error()));
  return path;
}

}  // namespace paceline
