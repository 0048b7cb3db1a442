#include "slurm/pilot.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace paceline {
namespace {

constexpr std::string_view kNamePrefix = "paceline-";
constexpr std::size_t kNodeNameMax = 63;
constexpr std::size_t kFields = 7;
constexpr std::size_t kReasonBytesMax = 100;

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

// Slurm has some forty words for it; those that are not named here are ways to be over.
PilotState state_of(std::string_view word) {
  constexpr std::array<std::string_view, 5> kPending = {"PENDING", "CONFIGURING", "REQUEUED",
                                                        "REQUEUE_HOLD", "SPECIAL_EXIT"};
  constexpr std::array<std::string_view, 5> kRunning = {"RUNNING", "SUSPENDED", "RESIZING",
                                                        "SIGNALING", "STAGE_OUT"};
  constexpr std::array<std::string_view, 2> kEnding = {"COMPLETING", "STOPPED"};
  const auto has = [&](const auto& words) {
    for (const auto each : words)
      if (each == word) return true;
    return false;
  };
  if (has(kPending)) return PilotState::pending;
  if (has(kRunning)) return PilotState::running;
  return has(kEnding) ? PilotState::ending : PilotState::over;
}

// The name comes last: of somebody's other jobs it may hold anything.
std::array<std::string_view, kFields> fields_of(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (std::size_t i = 0; i + 1 < kFields; ++i) {
    const auto bar = line.find('|');
    fields.at(i) = line.substr(0, bar);
    line.remove_prefix(bar == std::string_view::npos ? line.size() : bar + 1);
  }
  fields.back() = line;
  return fields;
}

Result<Pilot> read_pilot(std::string_view line, std::uint32_t invitation) {
  const auto [id, state, reason, host, submitted, left, name] = fields_of(line);
  const auto job = whole<std::uint64_t>(id);
  const auto asked = whole<std::int64_t>(submitted);
  if (!job || !asked || state.empty())
    return fail(ErrorCode::data, fmt::format("squeue told of pilot {} what can't be read.", name),
                "'squeue --me' shows it.", Retry::may_help);
  return Pilot{
      .job = *job,
      .invitation = invitation,
      .state = state_of(state),
      .slurm_state = std::string(state),
      .reason = reason == "None" ? std::string() : std::string(reason.substr(0, kReasonBytesMax)),
      .host = std::string(host),
      .asked_at = WallTime{std::chrono::seconds{*asked}},
      .time_left = read_slurm_span(left)};
}

}  // namespace

std::string_view to_string(PilotState state) {
  switch (state) {
    case PilotState::pending:
      return "pending";
    case PilotState::running:
      return "running";
    case PilotState::ending:
      return "ending";
    case PilotState::over:
      return "over";
  }
  return "over";
}

std::string pilot_name(std::string_view server, std::uint32_t invitation) {
  return fmt::format("{}{}-{}", kNamePrefix, server, invitation);
}

std::string pilot_node(std::string_view host, std::uint64_t job) {
  const auto tail = fmt::format("-{}", job);
  return fmt::format("{}{}", host.substr(0, kNodeNameMax - tail.size()), tail);
}

std::vector<std::string> list_arguments() {
  return {"--me", "--noheader", "--states=all", "--format=%i|%T|%r|%N|%V|%L|%j"};
}

Result<std::vector<Pilot>> read_pilots(std::string_view text, std::string_view server) {
  const auto prefix = fmt::format("{}{}-", kNamePrefix, server);
  std::vector<Pilot> pilots;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto name = fields_of(line).back();
    if (!name.starts_with(prefix)) continue;
    const auto invitation = whole<std::uint32_t>(name.substr(prefix.size()));
    if (!invitation) continue;
    auto pilot = read_pilot(line, *invitation);
    if (!pilot) return fail(std::move(pilot.error()));
    pilots.push_back(std::move(*pilot));
  }
  return pilots;
}

std::optional<Duration> read_slurm_span(std::string_view text) {
  std::int64_t days = 0, seconds = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto read = whole<std::int64_t>(text.substr(0, dash));
    if (!read || *read < 0 || *read > 36'500) return std::nullopt;
    days = *read;
    text.remove_prefix(dash + 1);
  }
  for (int part = 0; part < 3; ++part) {
    const auto colon = text.find(':');
    const auto read = whole<std::int64_t>(text.substr(0, colon));
    if (!read || *read < 0 || *read > 1'000'000) return std::nullopt;
    seconds = seconds * 60 + *read;
    if (colon == std::string_view::npos) {
      if (part == 0) return std::nullopt;
      return std::chrono::seconds{days * 86'400 + seconds};
    }
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

}  // namespace paceline
