#include "sim/traces/trace_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace paceline::sim {
namespace {

constexpr CsvDialect kCommas{};
constexpr CsvDialect kTabs{.separator = '\t', .quotes = false};

using Columns = std::vector<std::string>;

// The fields of one line; none if it is no record.
Columns cut(std::string_view line, CsvDialect dialect) {
  CsvReader csv([line]() mutable -> Result<std::string_view> { return std::exchange(line, {}); },
                dialect);
  const auto next = csv.next();
  if (!next || *next != CsvNext::record) return {};
  return {csv.fields().begin(), csv.fields().end()};
}

// "duration (s)", "duration(seconds)" and "duration" are one.
std::string without_seconds(std::string_view column) {
  constexpr std::array<std::string_view, 3> kUnits = {"(s)", "(sec)", "(seconds)"};
  for (const std::string_view unit : kUnits) {
    if (!column.ends_with(unit)) continue;
    column.remove_suffix(unit.size());
    if (column.ends_with(' ')) column.remove_suffix(1);
    break;
  }
  return std::string(column);
}

}  // namespace

std::span<const TraceFormat> known_trace_formats() {
  static const std::array formats{
      TraceFormat{.name = "itp",
                  .dialect = kCommas,
                  .header = {"job_id", "submission_time", "duration", "num_gpu"},
                  .unique_names = true,
                  .read = read_itp},
      TraceFormat{.name = "philly",
                  .dialect = kCommas,
                  .header = {"timestamp", "duration", "num_gpus", "cluster"},
                  .read = read_philly},
      TraceFormat{.name = "alibaba-v2023",
                  .dialect = kCommas,
                  .header = {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
                             "scheduled_time"},
                  .unique_names = true,
                  .read = read_alibaba_v2023},
      TraceFormat{.name = "pollux",
                  .dialect = kCommas,
                  .header = {"name", "time", "application", "num_replicas", "batch_size"},
                  .unique_names = true,
                  .has_durations = false,
                  .read = read_pollux},
      TraceFormat{.name = "tiresias",
                  .dialect = kCommas,
                  .header = {"job_id", "num_gpu", "submit_time", "duration", "model_name"},
                  .unique_names = true,
                  .read = read_tiresias},
      TraceFormat{.name = "gavel",
                  .dialect = kTabs,
                  .header = {},
                  .columns_of = gavel_columns,
                  .has_durations = false,
                  .read = read_gavel},
      TraceFormat{.name = "paceline",
                  .dialect = kCommas,
                  .header = {"submitted_at", "duration", "slots"},
                  .read = read_paceline},
  };
  return formats;
}

tl::expected<Heading, std::string> read_heading(const TraceFormat& format,
                                                std::string_view first_line,
                                                const std::vector<OwnColumn>& own) {
  Heading heading{cut(first_line, format.dialect)};
  if (format.columns_of != nullptr) {
    const std::vector<std::string_view> fields(heading.columns.begin(), heading.columns.end());
    const auto columns = format.columns_of(fields);
    if (!columns.empty()) return Heading{{columns.begin(), columns.end()}, false};
  }
  if (format.header.empty())
    return tl::unexpected<std::string>("begins with a line that is none of its jobs");
  for (const auto& [name, column] : own) {
    const auto at = std::ranges::find(heading.columns, column);
    if (at == heading.columns.end())
      return tl::unexpected(
          fmt::format("has no column {} in its first line", quoted_value(column)));
    *at = name;
  }
  for (std::string& column : heading.columns) column = without_seconds(column);
  for (const std::string_view wanted : format.header)
    if (std::ranges::find(heading.columns, wanted) == heading.columns.end())
      return tl::unexpected(fmt::format("has no column '{}' in its first line", wanted));
  auto sorted = heading.columns;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return tl::unexpected(fmt::format("has the column {} twice", quoted_value(*twice)));
  return heading;
}

}  // namespace paceline::sim
