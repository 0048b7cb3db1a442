#include "cli/top/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLineMax = 4096;  // bytes that are shown of a line

// Bytes of the sequence at the start of `text`, which begins with ESC: ESC [ … letter, ESC ] … BEL or
// ESC \, else ESC and one more.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']') {
    const auto end = text.find_first_of("\a\x1b", 2);
    if (end == text.npos) return text.size();
    return std::min(end + (text[end] == '\a' ? 1U : 2U), text.size());
  }
  if (text[1] != '[') return 2;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

std::string shown_line(std::string_view line) {
  constexpr std::size_t kTab = 8;
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (const auto state = line.rfind('\r'); state != line.npos) line.remove_prefix(state + 1);
  const bool cut = line.size() > kLineMax;
  line = line.substr(0, kLineMax);
  std::string text;
  while (!line.empty()) {
    const char c = line.front();
    const auto taken = c == '\x1b' ? sequence_length(line) : 1;
    if (c == '\t')
      text.append(kTab - display_width(text) % kTab, ' ');
    else if (c != '\x1b')
      text += c;
    line.remove_prefix(taken);
  }
  return printable(text) + (cut ? "…" : "");
}

std::string LogText::line_of(std::int64_t rank, std::string_view text) const {
  const auto line = shown_line(text);
  return names_ranks_ ? fmt::format("[{}] {}", rank, line) : line;
}

void LogText::told(const LogNews& news) {
  told_ = true;
  if (news.anew) {
    begun_.clear();
    pager_.set({});
  }
  for (const auto& chunk : news.chunks) {
    const auto rank = whole_of(chunk, "rank");
    ranks_ = std::max(ranks_, rank + 1);
    auto& begun = begun_[rank];
    begun += text_of(chunk, "text");
    std::size_t from = 0;
    for (std::size_t end = 0; (end = begun.find('\n', from)) != begun.npos; from = end + 1)
      pager_.add(line_of(rank, std::string_view(begun).substr(from, end - from)));
    begun.erase(0, from);
    // Of a bar that is written over for hours its newest state is all that is kept.
    const auto state = begun.rfind('\r', begun.empty() ? 0 : begun.size() - 2);
    if (state != begun.npos && state + 1 < begun.size()) begun.erase(0, state + 1);
    if (begun.size() > 2 * kLineMax) begun.resize(2 * kLineMax);
  }
  Rows unfinished;
  for (const auto& [rank, begun] : begun_) {
    if (!begun.empty()) unfinished.push_back(line_of(rank, begun));
  }
  pager_.set_unfinished(std::move(unfinished));
}

}  // namespace paceline
