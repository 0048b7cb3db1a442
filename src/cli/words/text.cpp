#include "cli/words/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/utf8.hpp"

namespace paceline {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;
};

CodePoint first_code_point(std::string_view text) {
  return {first_point(text), std::max<std::size_t>(utf8_length(text), 1)};
}

struct Interval {
  char32_t first;
  char32_t last;
};

constexpr std::array kCombining = {Interval{0x0300, 0x036F}, Interval{0x200B, 0x200F},
                                   Interval{0x20D0, 0x20FF}, Interval{0xFE00, 0xFE0F}};
constexpr std::array kWide = {
    Interval{0x1100, 0x115F},   Interval{0x2E80, 0xA4CF},   Interval{0xAC00, 0xD7A3},
    Interval{0xF900, 0xFAFF},   Interval{0xFE30, 0xFE4F},   Interval{0xFF00, 0xFF60},
    Interval{0x1F300, 0x1F64F}, Interval{0x1F900, 0x1F9FF}, Interval{0x20000, 0x3FFFD}};

template <std::size_t N>
bool within(char32_t value, const std::array<Interval, N>& intervals) {
  return std::ranges::any_of(intervals,
                             [&](Interval i) { return value >= i.first && value <= i.last; });
}

std::size_t width_of(char32_t value) {
  if (value < 0x20 || value == 0x7F || within(value, kCombining)) return 0;
  return within(value, kWide) ? 2 : 1;
}

std::tm local_time(double at) {
  const auto seconds = static_cast<std::time_t>(at);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string human_duration(double seconds) {
  if (!(seconds > 0)) return "0s";
  const auto s = static_cast<std::int64_t>(std::min(seconds, 1e12));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "K", "M", "G", "T", "P", "E"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const double tenths = std::round(value * 10) / 10;
  return tenths < 10 ? fmt::format("{}{}", tenths, kUnits[unit])
                     : fmt::format("{:.0f}{}", value, kUnits[unit]);
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string human_number(double value) { return fmt::format("{:.4g}", value); }

std::string human_time(double at, double now) {
  const std::tm then = local_time(at);
  const std::tm today = local_time(now);
  const bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  std::array<char, 32> text{};
  const auto length =
      std::strftime(text.data(), text.size(), same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
  return std::string(text.data(), length);
}

std::string utc_time(double at) {
  const auto seconds = static_cast<std::time_t>(at);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text.data(), length);
}

std::string command_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";
  std::string line = "paceline";
  for (const auto& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    line += plain ? " " : " \"";
    for (const char c : word) {
      if (std::string_view("\"\\$`").find(c) != std::string_view::npos) line += '\\';
      line += c;
    }
    if (!plain) line += '"';
  }
  return line;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  if (count == 1 || !noun.ends_with("ry"))
    return fmt::format("{} {}{}", human_count(count), noun, count == 1 ? "" : "s");
  return fmt::format("{} {}ies", human_count(count), noun.substr(0, noun.size() - 1));
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto point = first_code_point(text);
    width += width_of(point.value);
    text.remove_prefix(point.length);
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  std::size_t used = 0, bytes = 0;
  while (bytes < text.size()) {
    const auto point = first_code_point(text.substr(bytes));
    if (used + width_of(point.value) + 1 > width) break;
    used += width_of(point.value);
    bytes += point.length;
  }
  while (bytes > 0 && text[bytes - 1] == ' ') --bytes;
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace paceline
