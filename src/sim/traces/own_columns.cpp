#include "sim/traces/own_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/traces/csv_row.hpp"

namespace paceline::sim {
namespace {

constexpr std::array<std::string_view, 9> kNames = {
    "job", "submitted_at", "duration", "slots", "user", "application", "batch", "models", "spec"};

Result<OwnColumn> read_one(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size())
    return fail(ErrorCode::invalid,
                fmt::format("{} doesn't say which column is which.", quoted_value(part)),
                "Write NAME=COLUMN, for example submitted_at=when.");
  const std::string_view name = part.substr(0, equals);
  if (std::ranges::find(kNames, name) == kNames.end())
    return fail(ErrorCode::invalid, fmt::format("A trace has no column {}.", quoted_value(name)),
                fmt::format("It has {}.", fmt::join(kNames, ", ")));
  return OwnColumn{std::string(name), std::string(part.substr(equals + 1))};
}

bool names_again(const std::vector<OwnColumn>& columns, const OwnColumn& one) {
  return std::ranges::any_of(columns, [&](const OwnColumn& other) {
    return other.name == one.name || other.column == one.column;
  });
}

}  // namespace

Result<std::vector<OwnColumn>> parse_own_columns(std::string_view text) {
  std::vector<OwnColumn> columns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto one = read_one(text.substr(begin, end - begin));
    if (!one) return fail(one.error());
    if (names_again(columns, *one))
      return fail(
          ErrorCode::invalid,
          fmt::format("'{}={}' names a column for the second time.", one->name, one->column),
          "Name each once.");
    columns.push_back(std::move(*one));
    begin = end + 1;
  }
  return columns;
}

}  // namespace paceline::sim
