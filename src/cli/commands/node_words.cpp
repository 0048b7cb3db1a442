#include "cli/commands/node_words.hpp"

#include <fmt/format.h>

#include "cli/words/text.hpp"

namespace paceline {

std::string slot_use(const Document& slot) {
  const auto job = whole_of(slot, "job");
  const auto state = text_of(slot, "state");
  if (job > 0) return fmt::format("job {}{}", job, state == "leased" ? "" : ", " + state);
  const auto note = text_of(slot, "note");
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
  const auto state = refuses(node) ? "refusing" : text_of(node, "state");
  return {state, state == "up" ? Style::green : Style::red};
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

}  // namespace paceline
