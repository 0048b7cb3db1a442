#include "cli/words/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>
#include <string>

#include "model/job_spec.hpp"
#include "model/rules.hpp"

namespace paceline {
namespace {

constexpr double kSecondsMax = 100.0 * 365 * 86400;
constexpr double kBytesMax = 0x1p60;

struct Unit {
  std::string_view name;
  double value;
};

constexpr std::array kTimeUnits = {Unit{"ms", 0.001}, Unit{"s", 1},      Unit{"m", 60},
                                   Unit{"h", 3600},   Unit{"d", 86'400}, Unit{"w", 604'800}};

constexpr std::array kByteUnits = {Unit{"B", 1},        Unit{"K", 0x1p10}, Unit{"KiB", 0x1p10},
                                   Unit{"kB", 1e3},     Unit{"KB", 1e3},   Unit{"M", 0x1p20},
                                   Unit{"MiB", 0x1p20}, Unit{"MB", 1e6},   Unit{"G", 0x1p30},
                                   Unit{"GiB", 0x1p30}, Unit{"GB", 1e9},   Unit{"T", 0x1p40},
                                   Unit{"TiB", 0x1p40}, Unit{"TB", 1e12}};

struct Signal {
  std::string_view name;
  std::int32_t number;
};

constexpr std::array kSignals = {Signal{"HUP", 1},   Signal{"INT", 2},   Signal{"QUIT", 3},
                                 Signal{"USR1", 10}, Signal{"USR2", 12}, Signal{"ALRM", 14},
                                 Signal{"TERM", 15}, Signal{"CONT", 18}, Signal{"STOP", 19},
                                 Signal{"TSTP", 20}, Signal{"XCPU", 24}, Signal{"WINCH", 28}};

// Takes a decimal number like "1.5" off the front of `text`; no sign, no exponent.
std::optional<double> take_number(std::string_view& text) {
  const auto length = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + length, value);
  if (length == 0 || ec != std::errc{} || end != text.data() + length) return {};
  text.remove_prefix(length);
  return value;
}

std::string_view take_letters(std::string_view& text) {
  const auto at = std::ranges::find_if(
      text, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
  const auto length = static_cast<std::size_t>(at - text.begin());
  const auto letters = text.substr(0, length);
  text.remove_prefix(length);
  return letters;
}

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? nullptr : &*found;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint) {
  return fail(ErrorCode::invalid, fmt::format("'{}' is not {}.", text, what), std::move(hint));
}

tl::unexpected<Error> refuse_duration(std::string_view text) {
  return refuse(text, "a duration with its unit", "Write 90s, 10m, 2h, 1d or 1h30m.");
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// Days since 1970-01-01 of a day of the Gregorian calendar; nothing if there is no such day.
std::optional<std::int64_t> day_number(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return {};
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

// Reads fixed-width fields: digits where `form` has '0', one of its own characters elsewhere.
bool matches(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (form[i] == '0' ? !digit : text[i] != form[i]) return false;
  }
  return true;
}

std::int64_t field(std::string_view text, std::size_t at, std::size_t length) {
  return whole(text.substr(at, length)).value_or(-1);
}

// "Z" or "+01:00" as seconds east of Greenwich.
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (!matches(text, "+00:00") && !matches(text, "-00:00")) return {};
  const auto hours = field(text, 1, 2), minutes = field(text, 4, 2);
  if (hours > 23 || minutes > 59) return {};
  return (text.front() == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  constexpr std::size_t kDateTimeLength = 19;
  if (text.size() <= kDateTimeLength) return {};
  std::string head(text.substr(0, kDateTimeLength));
  if (head[10] == ' ' || head[10] == 't') head[10] = 'T';
  if (!matches(head, "0000-00-00T00:00:00")) return {};
  auto rest = text.substr(kDateTimeLength);
  if (rest.front() == '.') {  // fractions of a second do not matter to a deadline
    const auto digits = rest.find_first_not_of("0123456789", 1);
    if (digits == 1 || digits == std::string_view::npos) return {};
    rest.remove_prefix(digits);
  }
  const auto day = day_number(field(head, 0, 4), field(head, 5, 2), field(head, 8, 2));
  const auto offset = parse_offset(rest);
  const auto hour = field(head, 11, 2), minute = field(head, 14, 2), second = field(head, 17, 2);
  if (!day || !offset || hour > 23 || minute > 59 || second > 60) return {};
  const auto seconds = *day * 86'400 + hour * 3600 + minute * 60 + second - *offset;
  return wall_from_us(seconds * 1'000'000);
}

// "18:00": when the clock of this machine shows it next.
std::optional<WallTime> next_time_of_day(std::string_view text, WallTime now) {
  if (!matches(text, "00:00")) return {};
  const int hour = std::stoi(std::string(text.substr(0, 2)));
  const int minute = std::stoi(std::string(text.substr(3)));
  if (hour > 23 || minute > 59) return {};
  const auto seconds = static_cast<std::time_t>(to_us(std::max(now, WallTime{})) / 1'000'000);
  std::tm day{};
  if (::localtime_r(&seconds, &day) == nullptr) return {};
  for (int later = 0; later <= 1; ++later) {
    std::tm at = day;
    at.tm_mday += later;
    at.tm_hour = hour;
    at.tm_min = minute;
    at.tm_sec = 0;
    at.tm_isdst = -1;
    const std::time_t found = std::mktime(&at);
    const auto wall = wall_from_us(static_cast<std::int64_t>(found) * 1'000'000);
    if (found >= 0 && wall > now) return wall;
  }
  return {};
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  double seconds = 0;
  auto rest = text;
  while (!rest.empty()) {
    const auto number = take_number(rest);
    const auto* unit = find_unit(kTimeUnits, take_letters(rest));
    if (!number || unit == nullptr) return refuse_duration(text);
    seconds += *number * unit->value;
  }
  if (text.empty()) return refuse_duration(text);
  if (!(seconds >= 1e-3) || seconds > kSecondsMax) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is out of bounds.", text),
                "A duration is longer than zero and at most 100 years.");
  }
  return from_seconds(seconds);
}

Result<Duration> parse_span(std::string_view text) {
  return text == "0" || text == "0s" ? Result<Duration>(Duration::zero()) : parse_duration(text);
}

Result<Duration> parse_reclaim_after(std::string_view text) {
  const auto after = parse_span(text);
  if (!after || *after <= kReclaimAfterMax) return after;
  return fail(ErrorCode::invalid, fmt::format("'{}' is longer than a year.", text),
              "Write a span like 10m, or 0s: whoever never saved may be stopped at once.");
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  auto rest = text;
  const auto number = take_number(rest);
  const auto* unit = find_unit(kByteUnits, take_letters(rest));
  if (!number || unit == nullptr || !rest.empty()) {
    return refuse(text, "an amount of memory with its unit", "Write 512M, 8G or 8GiB.");
  }
  const double bytes = *number * unit->value;
  if (!(bytes >= 1) || bytes > kBytesMax) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is out of bounds.", text),
                "Memory is at least one byte and at most 1024 PiB.");
  }
  return static_cast<std::uint64_t>(bytes);
}

Result<std::int64_t> parse_whole(std::string_view text, Bounds bounds) {
  const auto value = whole(text);
  if (value && *value >= bounds.min && *value <= bounds.max) return *value;
  return refuse(text, fmt::format("a whole number from {} to {}", bounds.min, bounds.max), "");
}

Result<double> parse_cores(std::string_view text) {
  constexpr double kCoresMax = 100'000;
  auto rest = text;
  const auto cores = take_number(rest);
  if (cores && rest.empty() && *cores > 0 && *cores <= kCoresMax) return *cores;
  return refuse(text, "a number of CPU cores", "Write a number above zero, like 4 or 0.5.");
}

Result<std::int32_t> parse_signal(std::string_view text) {
  const auto number = whole(text);
  if (number && *number >= 1 && *number <= kSignalMax) return static_cast<std::int32_t>(*number);
  std::string name(text);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (name.starts_with("SIG")) name.erase(0, 3);
  const auto found = std::ranges::find(kSignals, name, &Signal::name);
  if (found != kSignals.end()) return found->number;
  return refuse(text, "a signal", "Write a name like SIGTERM or USR1, or a number from 1 to 64.");
}

Result<Expectation> parse_expect(std::string_view text) {
  constexpr std::string_view kHint = "Write a duration like 2h, or a count like '60000 samples'.";
  auto rest = text;
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto samples = whole(rest.substr(0, digits));
  rest.remove_prefix(digits);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (samples && (rest == "samples" || rest == "sample")) {
    if (*samples > 0 && static_cast<double>(*samples) <= kBytesMax) {
      return Expectation{{}, static_cast<std::uint64_t>(*samples)};
    }
    return refuse(text, "an expected length", std::string(kHint));
  }
  const auto duration = parse_duration(text);
  if (!duration) return refuse(text, "an expected length", std::string(kHint));
  return Expectation{*duration, {}};
}

Result<Points<std::int32_t>> parse_speeds(std::string_view text) {
  auto speeds = parse_points<std::int32_t>(text);
  if (speeds) return std::move(*speeds);
  return refuse(text, "a table of speeds",
                "Write sizes that rise, each with its speed: 1:1,2:1.9,4:3.5.");
}

Result<WallTime> parse_deadline(std::string_view text, WallTime now) {
  if (text.starts_with('+')) {
    const auto duration = parse_duration(text.substr(1));
    if (!duration) return fail(duration.error());
    return now + *duration;
  }
  if (const auto next = next_time_of_day(text, now)) return *next;
  const auto at = parse_rfc3339(text);
  if (!at) {
    return refuse(
        text, "a point in time",
        "Write it with its offset, like 2025-11-20T18:00:00Z or 2025-11-20T18:00:00+01:00, "
        "or from now on, like +2h, or as a time of the day, like 18:00.");
  }
  if (*at <= now) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is over.", text), "Give a time to come.");
  }
  return *at;
}

Result<WallTime> parse_date(std::string_view text) {
  const auto at = matches(text, "0000-00-00") ? parse_rfc3339(std::string(text) + "T00:00:00Z")
                                              : parse_rfc3339(text);
  if (at) return *at;
  return refuse(text, "a date", "Write it like 2025-11-20 or 2025-11-20T18:00:00Z.");
}

Result<WallTime> parse_since(std::string_view text, WallTime now) {
  if (const auto span = parse_duration(text)) return now - *span;
  const auto at = parse_date(text);
  if (at) return *at;
  return fail(ErrorCode::invalid, fmt::format("'{}' is neither a span nor a date.", text),
              "Write 2h or 1d, or 2025-11-20 or 2025-11-20T18:00:00Z.");
}

Result<std::uint32_t> parse_id(std::string_view text) {
  const auto id = whole(text);
  if (id && *id >= 1 && *id <= std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(*id);
  }
  return refuse(text, "the id of a job",
                "Ids are numbers; 'paceline queue --all' lists the jobs with theirs.");
}

}  // namespace paceline
