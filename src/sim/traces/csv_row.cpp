#include "sim/traces/csv_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.hpp"
#include "sim/traces/values.hpp"

namespace paceline::sim {
namespace {

constexpr std::int64_t kPerUnit = 1'000'000;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool means_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 7> kWords = {"nan",  "NaN",  "None", "Unknown",
                                                      "NULL", "null", "N/A"};
  return value.find_first_not_of(' ') == std::string_view::npos ||
         std::find(kWords.begin(), kWords.end(), value) != kWords.end();
}

}  // namespace

bool CsvRow::has(std::string_view column) const { return !means_nothing(raw(column)); }

std::string_view CsvRow::raw(std::string_view column) const {
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  return at == columns_.end() ? std::string_view()
                              : fields_[static_cast<std::size_t>(at - columns_.begin())];
}

std::string CsvRow::text(std::string_view column) {
  const std::string_view value = raw(column);
  if (value.size() > kTraceTextBytesMax) {
    refuse(column, "is over 4 KiB long");
  } else if (!is_utf8(value) || std::any_of(value.begin(), value.end(), is_control)) {
    refuse(column, "is not printable UTF-8");
  } else {
    return std::string(value);
  }
  return {};
}

std::string CsvRow::name(std::string_view column) {
  if (raw(column).empty()) refuse(column, "is empty");
  return text(column);
}

template <class T, class Parse>
T CsvRow::parsed(std::string_view column, Parse parse) {
  const auto value = parse(raw(column));
  if (value) return T(*value);
  refuse(column, value.error());
  return T{};
}

Duration CsvRow::seconds(std::string_view column) {
  return parsed<Duration>(column, parse_millionths);
}

Time CsvRow::date_time(std::string_view column) { return parsed<Time>(column, parse_date_time); }

Time CsvRow::point_in_time(std::string_view column) {
  return parse_date_time(raw(column)) ? date_time(column) : since_epoch(column);
}

Duration CsvRow::between(std::string_view column, Time begin, Time end) {
  if (end < begin) refuse(column, "is before its beginning");
  return end - begin;
}

std::int64_t CsvRow::count(std::string_view column) {
  return parsed<std::int64_t>(column, parse_count);
}

std::int64_t CsvRow::millionths(std::string_view column) {
  return parsed<std::int64_t>(column, parse_millionths);
}

double CsvRow::number(std::string_view column) { return parsed<double>(column, parse_number); }

std::int32_t CsvRow::slots(std::string_view column) {
  const std::int64_t slots = (millionths(column) + kPerUnit - 1) / kPerUnit;
  if (slots <= kTraceSlotsMax) return static_cast<std::int32_t>(slots);
  refuse(column, "asks for over 1,000,000 slots");
  return 0;
}

void CsvRow::refuse(std::string_view column, std::string_view why) {
  if (refusal_) return;
  const std::string_view value = raw(column);
  refusal_ = value.empty() ? fmt::format("column '{}' {}", column, why)
                           : fmt::format("column '{}': {} {}", column, quoted_value(value), why);
}

std::string quoted_value(std::string_view value) {
  constexpr std::size_t kShown = 60;
  std::string shown = to_utf8(value.substr(0, kShown));
  std::replace_if(shown.begin(), shown.end(), is_control, ' ');
  return fmt::format("'{}{}'", shown, value.size() > kShown ? "…" : "");
}

}  // namespace paceline::sim
