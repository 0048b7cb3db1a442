// One record by the names of its columns. The first value that can't be read makes it a bad one;
// what is asked for after that reads as nothing, so that a format just asks.
//
//   CsvRow row(columns, fields);
//   job.slots = row.slots("num_gpu");
//   if (const auto& refusal = row.refusal()) …  → "column 'num_gpu': '-3' is negative"
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace paceline::sim {

inline constexpr std::size_t kTraceTextBytesMax = 4096;
inline constexpr std::int64_t kTraceSlotsMax = 1'000'000;

class CsvRow {
 public:
  // REQUIRES: as many fields as columns; both outlive it.
  CsvRow(const std::vector<std::string>& columns, std::span<const std::string_view> fields)
      : columns_(columns), fields_(fields) {}

  // The column is there and holds something: neither blank nor one of the words for nothing (nan,
  // None, Unknown, NULL, N/A).
  [[nodiscard]] bool has(std::string_view column) const;
  // As it stands; empty where there is no such column.
  [[nodiscard]] std::string_view raw(std::string_view column) const;

  // UTF-8 without control characters, up to 4 KiB; `text` may be empty, `name` may not.
  std::string text(std::string_view column);
  std::string name(std::string_view column);
  Duration seconds(std::string_view column);
  Time since_epoch(std::string_view column) { return Time(seconds(column)); }
  Time date_time(std::string_view column);
  // Seconds since 1970, or a date and time.
  Time point_in_time(std::string_view column);
  // The span from one point in time to the next. REQUIRES: they are of one kind.
  Duration between(std::string_view column, Time begin, Time end);
  std::int64_t count(std::string_view column);
  std::int64_t millionths(std::string_view column);
  // Finite, of either sign.
  double number(std::string_view column);
  // A part of a slot is a slot.
  std::int32_t slots(std::string_view column);

  void refuse(std::string_view column, std::string_view why);
  [[nodiscard]] const std::optional<std::string>& refusal() const { return refusal_; }

 private:
  template <class T, class Parse>
  T parsed(std::string_view column, Parse parse);

  const std::vector<std::string>& columns_;
  std::span<const std::string_view> fields_;
  std::optional<std::string> refusal_;
};

// A value from a file, fit for a message: short, in quotes, and printable.
std::string quoted_value(std::string_view value);

}  // namespace paceline::sim
