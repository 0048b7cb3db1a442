#include "cli/words/replay_page.hpp"

#include <fmt/format.h>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

std::string counted(const Document& replay, std::string_view key, std::string_view noun) {
  return plural(static_cast<std::uint64_t>(whole_of(replay, key)), noun);
}

std::string entries(const Document& replay, std::string_view key) {
  const auto count = whole_of(replay, key);
  return count == 1 ? "1 entry" : fmt::format("{} entries", count);
}

std::string entry_or_none(const Document& difference, std::string_view key) {
  const auto text = text_of(difference, key);
  return text.empty() ? "no entry" : text;
}

}  // namespace

bool differs(const Document& replay) { return !member(replay, "difference").is_null(); }

std::string replay_page(const Document& replay) {
  std::string text;
  if (whole_of(replay, "folded") > 0)
    text += fmt::format("Taken as they are: {} of an older version.\n", entries(replay, "folded"));
  text += fmt::format("{} of {} replayed, in {}: ", counted(replay, "plans", "plan"),
                      counted(replay, "servers", "server"), entries(replay, "entries"));
  if (!differs(replay)) return text + "all equal, byte for byte.\n";
  const Document& difference = member(replay, "difference");
  return text + fmt::format("equal up to entry {}.\nrecorded: {}\nreplayed: {}\n",
                            whole_of(difference, "seq"), entry_or_none(difference, "recorded"),
                            entry_or_none(difference, "replayed"));
}

}  // namespace paceline
