#include "cli/event_view.hpp"

#include <fmt/format.h>

#include "cli/text.hpp"

namespace paceline {
namespace {

std::string change_text(const Document& change) {
  const auto reason = text_of(change, "reason");
  const auto workers = number_of(change, "workers");
  return fmt::format(
      "{} job {}{}{}", text_of(change, "kind"), whole_of(change, "job"),
      workers ? " with " + plural(static_cast<std::uint64_t>(*workers), "worker") : "",
      reason.empty() ? "" : fmt::format(" ({})", reason));
}

std::string plan_text(const Document& plan) {
  std::string text = text_of(plan, "policy") + ":";
  const auto& changes = list_of(plan, "changes");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    text += (i == 0 ? " " : "; ") + change_text(changes[i]);
  }
  return text;
}

bool is_frame(const std::string& key) { return key == "seq" || key == "at" || key == "kind"; }

// "job 7, rank 0, code 1": the event's own keys.
std::string keys_text(const Document& event) {
  std::string text;
  if (!event.is_object()) return text;
  for (const auto& [key, value] : event.items()) {
    if (is_frame(key) || value.is_null()) continue;
    const auto shown = value.is_string()
                           ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Document::error_handler_t::replace);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, shown);
  }
  return text;
}

}  // namespace

std::string event_line(const Document& event, double now) {
  const auto kind = text_of(event, "kind");
  const auto at = number_of(event, "at").value_or(0);
  const auto text = kind == "plan" ? plan_text(event) : keys_text(event);
  return printable(fmt::format("{:>6}  {}  {:<13}  {}", whole_of(event, "seq"), human_time(at, now),
                               kind, text));
}

}  // namespace paceline
