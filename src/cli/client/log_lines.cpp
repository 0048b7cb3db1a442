#include "cli/client/log_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/words/text.hpp"
#include "wire/report.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLineMax = 1 << 20;
constexpr std::size_t kRowsMax = 8;
constexpr std::size_t kLastLines = 10;
constexpr std::size_t kLastLineMax = 4 << 10;

std::string_view without_returns(std::string_view line) {
  return line.substr(0, line.find_last_not_of('\r') + 1);
}

// What a terminal would show of a line that was written over: what follows its last return.
std::string_view newest_state(std::string_view line) {
  line = without_returns(line);
  return line.substr(line.rfind('\r') + 1);
}

bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == text.npos; }

// Without the sequences that colour text and move the cursor.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!text.substr(at).starts_with("\x1b[")) {
      plain += text[at];
      continue;
    }
    at = std::min(text.find_first_not_of("0123456789;?", at + 2), text.size());
  }
  return plain;
}

std::string named(std::int64_t rank, std::string_view line) {
  return fmt::format("[{}] {}", rank, line);
}

std::string time_of(std::optional<double> at) { return at ? utc_time(*at) + " " : "- "; }

void keep_last(std::deque<std::string>& last, std::string_view line) {
  last.emplace_back(line.substr(0, kLastLineMax));
  if (last.size() > kLastLines) last.pop_front();
}

}  // namespace

std::vector<std::string> last_lines(std::string_view text) {
  std::deque<std::string> last;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = newest_state(text.substr(0, end));
    if (!parse_report_line(line)) keep_last(last, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {last.begin(), last.end()};
}

void LogLines::print(std::int64_t rank, std::string_view text, std::optional<double> at) {
  if (!show_.name_ranks && !show_.newest && !show_.times) return console_.print(text);
  auto& [begun, begun_at, last, number] = ranks_[rank];
  if (begun.empty()) begun_at = at;
  begun += text;
  std::string lines;
  std::string bar;
  std::size_t from = 0;
  for (auto end = begun.find('\n'); end != begun.npos; end = begun.find('\n', from)) {
    const auto line = bar + begun.substr(from, end - from);
    lines += line_of(rank, line);
    begun_at = at;
    bar = bar_before_report(line);
    from = end + 1;
  }
  begun.replace(0, from, bar);
  if (show_.newest && begun.find('\r') != begun.npos) {
    begun = "\r" + std::string(newest_state(begun)) + (begun.ends_with('\r') ? "\r" : "");
  }
  if (begun.size() > kLineMax) lines += line_of(rank, std::exchange(begun, {}));
  console_.print(lines);
  if (show_.newest) console_.live(rows());
}

// "[2] epoch 1\n"; nothing of a line that is hidden.
std::string LogLines::line_of(std::int64_t rank, std::string_view line) {
  if (show_.newest) line = newest_state(line);
  if (is_hidden(line)) return {};
  remember(ranks_[rank], line);
  const auto at = show_.times ? time_of(ranks_[rank].begun_at) : std::string();
  return at + (show_.name_ranks ? named(rank, line) : std::string(line)) + "\n";
}

// Of a hidden line the bar that stood there before: it goes on to be written over.
std::string LogLines::bar_before_report(std::string_view line) const {
  const auto state = show_.newest ? newest_state(line) : line;
  if (line.find('\r') == line.npos || !is_hidden(state)) return {};
  return std::string(state.substr(0, state.rfind('{', state.find("\"paceline\"")))) + "\r";
}

bool LogLines::is_hidden(std::string_view line) const {
  return !show_.reports && parse_report_line(line).has_value();
}

void LogLines::remember(Written& written, std::string_view line) {
  if (!show_.newest) return;
  written.at = ++printed_;
  keep_last(written.last, line);
}

void LogLines::finish() {
  console_.live({});
  for (auto& [rank, written] : ranks_) {
    const auto line = std::exchange(written.begun, {});
    if (line.empty() || (show_.newest && is_blank(newest_state(line)))) continue;
    auto shown = line_of(rank, line);
    const bool as_it_is = !show_.name_ranks && !line.ends_with('\r');
    if (as_it_is && !shown.empty()) shown.pop_back();
    console_.print(shown);
  }
}

std::vector<std::string> LogLines::out_of_sight(std::int64_t rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || printed_ - found->second.at < kLastLines) return {};
  return {found->second.last.begin(), found->second.last.end()};
}

std::vector<std::string> LogLines::rows() const {
  std::vector<std::string> rows;
  for (const auto& [rank, written] : ranks_) {
    const auto state = without_escapes(newest_state(written.begun));
    if (is_blank(state) || rows.size() == kRowsMax) continue;
    rows.push_back(show_.name_ranks ? named(rank, state) : state);
  }
  return rows;
}

}  // namespace paceline
