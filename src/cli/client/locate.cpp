#include "cli/client/locate.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

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

}  // namespace

std::optional<std::string> value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return {};
  return found->second;
}

Result<std::string> default_directory(const Environment& environment, uid_t user) {
  if (auto named = value_of(environment, "PACELINE_DIR")) return *named;
  if (user == 0) return std::string(kSystemState);
  return data_folder(environment);
}

Result<std::string> agent_directory(const Environment& environment, uid_t user) {
  if (user == 0) return std::string(kSystemAgent);
  auto folder = data_folder(environment);
  if (!folder) folder.error().hint = "Name one with --dir.";
  return folder.map([](const std::string& path) { return path + "-agent"; });
}

Result<std::string> data_folder(const Environment& environment) {
  if (auto data = value_of(environment, "XDG_DATA_HOME")) return *data + "/paceline";
  if (auto home = value_of(environment, "HOME")) return *home + "/.local/share/paceline";
  return fail(ErrorCode::invalid, "There is no directory to use: HOME is not set.",
              "Name one with --dir or PACELINE_DIR.");
}

Result<std::string> find_server(const std::optional<std::string>& server,
                                const Environment& environment) {
  auto named = server ? server : value_of(environment, "PACELINE_DIR");
  if (named == kLocalContext) named.reset();
  std::string path = socket_in(named.value_or(std::string(kSystemSockets)));
  auto connected = UnixDialer(path).dial();
  if (!connected && !named) {
    auto own = data_folder(environment);
    if (!own && ::geteuid() != 0) return fail(std::move(own.error()));
    if (own) path = socket_in(*own + "/" + std::string(kSocketName));
    auto second = UnixDialer(path).dial();
    if (second || ::geteuid() != 0) connected = std::move(second);
  }
  if (connected) return path;
  // A second server would fight the first for the same devices.
  const bool installed = !named && is_directory(std::string(kSystemState));
  if (installed && connected.error().code == ErrorCode::unavailable)
    connected.error().hint =
        "This machine's server does not run: root starts it with 'systemctl start paceline' or "
        "'paceline up --detach'.";
  return fail(std::move(connected.error()));
}

}  // namespace paceline
