#include "plan/plan.hpp"

#include <array>
#include <utility>

namespace paceline {
namespace {

constexpr std::array kNames = {
    std::pair{ChangeKind::start, "start"}, std::pair{ChangeKind::resize, "resize"},
    std::pair{ChangeKind::move, "move"},   std::pair{ChangeKind::stop, "stop"},
    std::pair{ChangeKind::pause, "pause"}, std::pair{ChangeKind::resume, "resume"}};

}  // namespace

std::string_view to_string(ChangeKind kind) {
  for (const auto& [k, name] : kNames) {
    if (k == kind) return name;
  }
  return "start";
}

std::optional<ChangeKind> parse_change_kind(std::string_view text) {
  for (const auto& [k, name] : kNames) {
    if (text == name) return k;
  }
  return std::nullopt;
}

const JobsForgotten* forgotten_by(const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  return event ? std::get_if<JobsForgotten>(event) : nullptr;
}

}  // namespace paceline
