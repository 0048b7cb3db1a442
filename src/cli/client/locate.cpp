#include "cli/client/locate.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

constexpr std::string_view kDataInHome = "/.local/share/paceline";
constexpr std::size_t kAccountMax = 16384;  // bytes of what is known of one

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

bool lies_in(std::string_view path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

// What to do about a server that does not answer. On a machine that has one for everybody a second
// one would fight it for the same devices.
std::string advice(const Error& error, const std::optional<std::string>& named,
                   const MachinePlaces& machine) {
  const bool is_machines =
      !named || lies_in(*named, machine.sockets) || lies_in(*named, machine.state);
  if (error.code == ErrorCode::forbidden)
    return is_machines ? error.hint
                       : "Ask its administrator, or leave out --server and PACELINE_DIR.";
  if (error.code != ErrorCode::unavailable || !is_directory(machine.state)) return error.hint;
  if (!is_machines)
    return "This machine has a server for everybody: leave out --server and PACELINE_DIR.";
  return "This machine's server does not run: root starts it with 'systemctl start paceline' or "
         "'paceline up --detach'.";
}

// Of those that nobody named. Where neither answers, the machine's own is spoken of if this is root,
// who has no other, or if it is there and turns this user away.
Result<std::string> find_unnamed(const Environment& environment, const MachinePlaces& machine) {
  std::string path = socket_in(machine.sockets);
  auto connected = UnixDialer(path).dial();
  if (connected) return path;
  const bool is_it = ::geteuid() == 0 || connected.error().code == ErrorCode::forbidden;
  auto own = data_folder(environment);
  if (!own) return fail(std::move(is_it ? connected.error() : own.error()));
  path = socket_in(*own + "/" + std::string(kSocketName));
  auto second = UnixDialer(path).dial();
  if (second) return path;
  return fail(std::move(is_it ? connected.error() : second.error()));
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
  if (auto home = value_of(environment, "HOME")) return *home + std::string(kDataInHome);
  return fail(ErrorCode::invalid, "There is no directory to use: HOME is not set.",
              "Name one with --dir or PACELINE_DIR.");
}

std::optional<std::string> data_folder_of(uid_t user) {
  std::array<char, kAccountMax> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, space.data(), space.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_dir + std::string(kDataInHome);
}

Result<std::string> find_server(const std::optional<std::string>& server,
                                const Environment& environment, const MachinePlaces& machine) {
  auto named = server ? server : value_of(environment, "PACELINE_DIR");
  if (named == kLocalContext) named.reset();
  auto path = named ? Result<std::string>(socket_in(*named)) : find_unnamed(environment, machine);
  if (path && named) {
    if (auto connected = UnixDialer(*path).dial(); !connected)
      path = fail(std::move(connected.error()));
  }
  if (!path) path.error().hint = advice(path.error(), named, machine);
  return path;
}

}  // namespace paceline
