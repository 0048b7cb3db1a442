#include "agent/linux/control.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "agent/linux/fields.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kWords[] = {"notice", "kill",  "freeze", "thaw",
                                       "ping",   "limit", "lease"};
constexpr int kControlBacklog = 8;

std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::int64_t> take_value(std::string_view& line, std::string_view name) {
  std::string_view pair = take_word(line);
  if (!pair.starts_with(name)) return std::nullopt;
  pair.remove_prefix(name.size());
  const std::int64_t value = field_number(pair);
  if (value < 0 || std::to_string(value) != pair) return std::nullopt;
  return value;
}

std::optional<RunLimit> parse_limit(std::string_view line) {
  const auto left = take_value(line, "left_us=");
  const auto signal = take_value(line, "signal=");
  const auto grace = take_value(line, "grace_us=");
  if (!left || !signal || !grace || !std::in_range<std::int32_t>(*signal)) return std::nullopt;
  return RunLimit{Duration{*left}, static_cast<std::int32_t>(*signal), Duration{*grace}};
}

struct ControlAddress {
  explicit ControlAddress(const std::string& name) {
    value.sun_family = AF_UNIX;
    const std::string full = "paceline/control/" + name;
    const std::size_t size = std::min(full.size(), sizeof value.sun_path - 1);
    std::memcpy(value.sun_path + 1, full.data(), size);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }

  sockaddr_un value{};
  socklen_t length = 0;
};

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string to_line(const ControlCommand& command) {
  const auto word = kWords[static_cast<std::size_t>(command.kind)];
  if (command.kind == ControlCommand::Kind::notice)
    return fmt::format("{} {}\n", word, command.signal);
  if (command.kind == ControlCommand::Kind::limit) {
    const RunLimit& limit = command.limit;
    return fmt::format("{} left_us={} signal={} grace_us={}\n", word, limit.left.count(),
                       limit.signal, limit.grace.count());
  }
  if (command.kind == ControlCommand::Kind::lease)
    return fmt::format("{} left_us={}\n", word, command.limit.left.count());
  return fmt::format("{}\n", word);
}

std::optional<ControlCommand> parse_command(std::string_view line) {
  const std::string_view word = take_word(line);
  const auto* known = std::find(std::begin(kWords), std::end(kWords), word);
  if (known == std::end(kWords)) return std::nullopt;
  ControlCommand command{static_cast<ControlCommand::Kind>(known - std::begin(kWords))};
  if (command.kind == ControlCommand::Kind::notice)
    command.signal = static_cast<std::int32_t>(field_number(line));
  if (command.kind == ControlCommand::Kind::lease) {
    const auto left = take_value(line, "left_us=");
    if (!left) return std::nullopt;
    command.limit.left = Duration{*left};
  }
  if (command.kind != ControlCommand::Kind::limit) return command;
  const auto limit = parse_limit(line);
  if (!limit) return std::nullopt;
  command.limit = *limit;
  return command;
}

std::string running_line(pid_t pid) { return fmt::format("running {}\n", pid); }

std::optional<pid_t> parse_running_line(std::string_view line) {
  if (take_word(line) != "running") return std::nullopt;
  const std::int64_t pid = field_number(line);
  if (pid <= 0 || !std::in_range<pid_t>(pid)) return std::nullopt;
  return static_cast<pid_t>(pid);
}

std::string ended_line(const WorkerEnding& ending) {
  std::string line = "ended";
  const std::string text = to_text(ending);
  for (const auto& [name, value] : fields(text))
    if (name != "message" && name != "end") line += fmt::format(" {}={}", name, value);
  return fmt::format("{} message={}\n", line, ending.message);
}

std::optional<WorkerEnding> parse_ended_line(std::string_view line) {
  if (take_word(line) != "ended") return std::nullopt;
  TextWriter text;
  while (!line.empty()) {
    const std::string_view rest = line;
    std::string_view pair = take_word(line);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = pair.substr(0, equals);
    if (name == "message") {
      text.add(name, rest.substr(equals + 1));
      text.add("end", "");
      break;
    }
    text.add(name, pair.substr(equals + 1));
  }
  return parse_ending(text.text());
}

UniqueFd listen_control(const std::string& name) {
  UniqueFd fd = new_socket();
  const ControlAddress address(name);
  if (!fd || ::bind(fd.get(), address.get(), address.length) != 0 ||
      ::listen(fd.get(), kControlBacklog) != 0)
    return {};
  return fd;
}

UniqueFd connect_control(const std::string& name) {
  UniqueFd fd = new_socket();
  const ControlAddress address(name);
  if (!fd || ::connect(fd.get(), address.get(), address.length) != 0 || !is_trusted_peer(fd.get()))
    return {};
  return fd;
}

bool is_trusted_peer(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace paceline::agent
