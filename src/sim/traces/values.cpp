#include "sim/traces/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace paceline::sim {
namespace {

constexpr std::string_view kNoNumber = "is not a finite number";
constexpr std::string_view kTooLarge = "is over 10,000,000,000";
constexpr std::int64_t kMillion = 1'000'000;

auto refused(std::string_view why) { return tl::unexpected<std::string_view>(why); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Digits at the front, taken off; at most `most` of them.
std::string_view take_digits(std::string_view& text, std::size_t most) {
  std::size_t n = 0;
  while (n < text.size() && n < most && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// REQUIRES: nothing but digits, at most 18.
std::int64_t to_number(std::string_view digits) {
  std::int64_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

// Of the decimals after the point, in millionths.
std::int64_t fraction(std::string_view decimals) {
  std::int64_t value = to_number(decimals.substr(0, 6));
  for (std::size_t n = decimals.size(); n < 6; ++n) value *= 10;
  return decimals.size() > 6 && decimals[6] >= '5' ? value + 1 : value;
}

ValueOr<std::int64_t> parse_scientific(std::string_view text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong == std::errc::result_out_of_range && end == text.data() + text.size())
    return refused(text.find('-') == std::string_view::npos ? kTooLarge : "is too near to 0");
  if (wrong != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return refused(kNoNumber);
  if (value > static_cast<double>(kTraceSecondsMax)) return refused(kTooLarge);
  return std::llround(value * 1e6);
}

ValueOr<std::int64_t> parse_unsigned(std::string_view text) {
  std::string_view rest = text;
  std::string_view whole = take_digits(rest, rest.size());
  const std::string_view decimals =
      take(rest, '.') ? take_digits(rest, rest.size()) : rest.substr(0, 0);
  if (whole.empty() && decimals.empty()) return refused(kNoNumber);
  if (!rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) return parse_scientific(text);
  if (!rest.empty()) return refused(kNoNumber);
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  if (whole.size() > 11) return refused(kTooLarge);
  const std::int64_t value = to_number(whole) * kMillion + fraction(decimals);
  if (value > kTraceSecondsMax * kMillion) return refused(kTooLarge);
  return value;
}

// Two digits, below `end`.
std::optional<std::int64_t> take_two(std::string_view& text, std::int64_t end) {
  const std::string_view digits = take_digits(text, 2);
  if (digits.size() != 2 || to_number(digits) >= end) return std::nullopt;
  return to_number(digits);
}

// "07:01:55.25", whole.
std::optional<std::int64_t> parse_clock_us(std::string_view text) {
  const auto hours = take_two(text, 24);
  const bool first = take(text, ':');
  const auto minutes = take_two(text, 60);
  const bool second = take(text, ':');
  const auto seconds = take_two(text, 60);
  if (!hours || !first || !minutes || !second || !seconds) return std::nullopt;
  std::int64_t us = ((*hours * 60 + *minutes) * 60 + *seconds) * kMillion;
  if (take(text, '.')) {
    const std::string_view decimals = take_digits(text, 6);
    if (decimals.empty()) return std::nullopt;
    us += fraction(decimals);
  }
  take(text, 'Z');
  return text.empty() ? std::optional(us) : std::nullopt;
}

}  // namespace

ValueOr<std::int64_t> parse_millionths(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return refused("is empty");
  const bool negative = take(text, '-');
  const auto value = parse_unsigned(text);
  return value && negative && *value != 0 ? refused("is negative") : value;
}

ValueOr<std::int64_t> parse_count(std::string_view text) {
  const auto value = parse_millionths(text);
  if (!value) return value;
  if (*value % kMillion != 0) return refused("is not a whole number");
  return *value / kMillion;
}

ValueOr<double> parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return refused("is empty");
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return refused(kNoNumber);
  return value;
}

ValueOr<Time> parse_date_time(std::string_view text) {
  constexpr std::string_view kNoDate = "is not a date and time like 2017-10-09 07:01:55";
  text = trimmed(text);
  if (text.empty()) return refused("is empty");
  const std::string_view years = take_digits(text, 4);
  const bool first = take(text, '-');
  const auto month = take_two(text, 13);
  const bool second = take(text, '-');
  const auto day = take_two(text, 32);
  const bool third = take(text, ' ') || take(text, 'T');
  const auto us = parse_clock_us(text);
  if (years.size() != 4 || !first || !month || !second || !day || !third || !us)
    return refused(kNoDate);
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(to_number(years))),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return refused("is a day that no calendar has");
  if (date.year() < std::chrono::year(1970) || date.year() > std::chrono::year(2286))
    return refused("is not in the years 1970 to 2286");
  const Duration days = std::chrono::sys_days(date).time_since_epoch();
  return Time(days + Duration(*us));
}

}  // namespace paceline::sim
