#include "cli/words/expected_text.hpp"

#include <fmt/format.h>

#include <map>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr double kNow = 1;  // seconds
constexpr double kSecondsMatter = 600;
constexpr std::size_t kMinutesBytes = 3;  // ":05"

// Without seconds where they say nothing.
std::string clock_text(double at, double now, bool seconds) {
  auto text = human_time(at, now);
  if (!seconds) text.resize(text.size() - kMinutesBytes);
  return text;
}

std::string known_sentence(const Document& expected) {
  const auto known = text_of(expected, "known");
  if (known == "unknown")
    return "Nobody said how long the jobs take that this hangs on: '--expect 2h' narrows it.";
  if (known == "name") return "It hangs on how long jobs of these names took.";
  return {};
}

}  // namespace

std::string expected_cell(const Document& expected, double now) {
  if (!expected.is_object()) return "-";
  const auto at = number_of(expected, "at");
  const double left = at.value_or(number_of(expected, "earliest").value_or(now)) - now;
  if (!at) return ">" + human_duration(left);
  return left < kNow ? "now" : human_duration(left);
}

std::string expected_span(const Document& expected, double now) {
  if (!expected.is_object()) return "-";
  const auto earliest = human_duration(number_of(expected, "earliest").value_or(now) - now);
  const auto latest = number_of(expected, "latest");
  return latest ? fmt::format("{} to {}", earliest, human_duration(*latest - now))
                : earliest + " or later";
}

std::string expected_text(const Document& expected, double now) {
  if (!expected.is_object()) return {};
  const auto at = number_of(expected, "at"), latest = number_of(expected, "latest");
  const double earliest = number_of(expected, "earliest").value_or(now);
  const double last = latest.value_or(at.value_or(earliest));
  const bool seconds = last - now < kSecondsMatter;
  const auto shown = [&](double time) { return clock_text(time, now, seconds); };
  if (!at) return fmt::format("not before {}", shown(earliest));
  const auto about = *at - now < kNow ? std::string("now") : "about " + shown(*at);
  if (!latest) return fmt::format("{} ({} or later)", about, shown(earliest));
  if (shown(earliest) == shown(*latest)) return about;
  return fmt::format("{} ({} to {})", about, shown(earliest), shown(*latest));
}

std::vector<std::string> expected_lines(const Document& why, double now, std::string_view would) {
  std::vector<std::string> lines;
  const auto& start = member(why, "expected_start");
  const auto& end = member(why, "expected_end");
  if (const auto text = expected_text(start, now); !text.empty()) {
    const auto after = whole_of(why, "starts_after");
    lines.push_back(fmt::format("It {} start {}{}.", would, text,
                                after > 0 ? fmt::format(", once job {} ends", after) : ""));
  }
  if (const auto text = expected_text(end, now); !text.empty())
    lines.push_back(fmt::format("It {} end {}.", would, text));
  const auto known = known_sentence(start.is_object() ? start : end);
  if (!known.empty()) lines.push_back(known);
  return lines;
}

std::vector<std::string> change_lines(const Document& why, double now) {
  std::vector<std::string> lines;
  for (const auto& change : list_of(why, "changes")) {
    const double at = number_of(change, "starts_at").value_or(now);
    const auto slots = whole_of(change, "slots");
    const auto option = slots > 0 ? fmt::format("With --slots {}", slots)
                                  : "Without --" + text_of(change, "change");
    const auto when =
        at - now < kNow ? "now" : "about " + clock_text(at, now, at - now < kSecondsMatter);
    lines.push_back(fmt::format("{} it would start {}.", option, when));
  }
  return lines;
}

void join_expected(Document& jobs, const Document& expected) {
  std::map<std::int64_t, const Document*> of;
  for (const auto& job : list_of(expected, "jobs")) of[whole_of(job, "id")] = &job;
  for (auto& job : jobs["jobs"]) {
    const auto found = of.find(whole_of(job, "id"));
    put_expected(job, found == of.end() ? Document() : *found->second);
  }
}

void put_expected(Document& job, const Document& expected) {
  for (const auto key : {"expected_start", "expected_end"}) job[key] = member(expected, key);
}

}  // namespace paceline
