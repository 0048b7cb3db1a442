#include "cli/commands/node_words.hpp"

#include <fmt/format.h>

#include "cli/words/text.hpp"

namespace paceline {

std::string slot_use(const Document& slot) {
  const auto job = whole_of(slot, "job");
  const auto state = text_of(slot, "state");
  if (job > 0) return fmt::format("job {}{}", job, state == "leased" ? "" : ", " + state);
  const bool serves = state != "unusable" && state != "down";
  const auto note = serves ? "" : text_of(slot, "note");
  return note.empty() ? state : fmt::format("{}, {}", state, note);
}

std::string uses_of(const Document::array_t& slots) {
  std::string text;
  for (std::size_t first = 0; first < slots.size();) {
    const auto use = slot_use(slots[first]);
    std::size_t end = first + 1;
    while (end < slots.size() && slot_use(slots[end]) == use) ++end;
    const auto from = whole_of(slots[first], "index"), to = whole_of(slots[end - 1], "index");
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        from == to ? std::to_string(from) : fmt::format("{}-{}", from, to), use);
    first = end;
  }
  return text;
}

std::string memory_of(const Document& object) {
  const auto bytes = number_of(object, "memory_bytes").value_or(0);
  return bytes > 0 ? human_bytes(static_cast<std::uint64_t>(bytes)) : "-";
}

std::string labels_of(const Document& node) {
  std::string text;
  const auto& labels = member(node, "labels");
  if (!labels.is_object()) return text;
  for (const auto& [key, value] : labels.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, text_of(labels, key));
  }
  return text;
}

bool refuses(const Document& node) { return member(node, "refusal").is_object(); }

Cell node_state(const Document& node) {
  if (flag_of(node, "removed")) return {"removed", Style::red};
  const auto& drain = member(node, "drain");
  if (text_of(node, "state") == "up" && flag_of(drain, "begun") && flag_of(drain, "keeps"))
    return {"set aside", Style::yellow};
  if (text_of(node, "state") == "up" && flag_of(drain, "begun"))
    return list_of(drain, "jobs").empty() ? Cell{"drained", Style::dim}
                                          : Cell{"draining", Style::yellow};
  const bool unhealthy = flag_of(member(node, "refusal"), "unhealthy");
  const auto state = unhealthy ? "unhealthy" : refuses(node) ? "refusing" : text_of(node, "state");
  return {state, state == "up" ? Style::green : Style::red};
}

std::string drain_words(const Document& node, double now) {
  const auto& drain = member(node, "drain");
  if (!drain.is_object()) return {};
  const auto time = [&](std::string_view key) {
    return human_time(number_of(drain, key).value_or(0), now);
  };
  const auto reason = text_of(drain, "reason");
  const bool keeps = flag_of(drain, "keeps");
  std::string text = keeps ? "is set aside" : "drains";
  if (!flag_of(drain, "begun"))
    text = fmt::format("is to {} at {}", keeps ? "be set aside" : "drain", time("begins_at"));
  if (!reason.empty()) text += fmt::format(" ({})", reason);
  std::vector<std::string> jobs;
  for (const auto& job : list_of(drain, "jobs"))
    jobs.push_back(std::to_string(job.get<std::int64_t>()));
  if (!flag_of(drain, "begun") || keeps) return text;
  if (jobs.empty()) return text + ": it is empty";
  text += fmt::format(": job{} {} {} there still", jobs.size() == 1 ? "" : "s", listed(jobs),
                      jobs.size() == 1 ? "is" : "are");
  if (number_of(drain, "ends_at")) text += fmt::format(", until {} at most", time("ends_at"));
  return text;
}

std::string heard_words(const Document& node) {
  const auto silent = number_of(node, "silent_seconds");
  return silent ? fmt::format("{} ago", human_duration(*silent)) : "-";
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

}  // namespace paceline
