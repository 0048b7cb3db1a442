// What a format is: how its lines are cut, how its header is told from others', and how a line
// becomes a job. The table of them is known_trace_formats(); a new one is a line there and a function.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/trace.hpp"
#include "sim/traces/csv.hpp"
#include "sim/traces/csv_row.hpp"
#include "sim/traces/own_columns.hpp"

namespace paceline::sim {

struct TraceFormat {
  std::string_view name;  // the word of --format
  CsvDialect dialect;
  // The columns that its header must have, in any order and among others.
  std::vector<std::string_view> header;
  // The columns of a file without header whose first line this is; none if it can't be one.
  std::vector<std::string_view> (*columns_of)(std::span<const std::string_view> first) = nullptr;
  bool unique_names = false;
  bool has_durations = true;  // or only with a column `duration`
  void (*read)(CsvRow& row, TraceJob& job);
};

std::span<const TraceFormat> known_trace_formats();

// What the first line of a file says. Columns are without a unit of seconds: "duration(s)" is a
// duration.
struct Heading {
  std::vector<std::string> columns;
  bool is_header = true;  // or already the first job
};

// Or what speaks against it, to be said after the name of the file: "has no column 'duration'".
// `own` are columns of another name.
tl::expected<Heading, std::string> read_heading(const TraceFormat& format,
                                                std::string_view first_line,
                                                const std::vector<OwnColumn>& own = {});

// ---- the formats' lines (headed_formats.cpp, alibaba.cpp, gavel.cpp,
// paceline.cpp) ----
void read_itp(CsvRow& row, TraceJob& job);
void read_philly(CsvRow& row, TraceJob& job);
void read_tiresias(CsvRow& row, TraceJob& job);
void read_pollux(CsvRow& row, TraceJob& job);
void read_alibaba_v2023(CsvRow& row, TraceJob& job);
void read_gavel(CsvRow& row, TraceJob& job);
void read_paceline(CsvRow& row, TraceJob& job);
std::vector<std::string_view> gavel_columns(std::span<const std::string_view> first);

}  // namespace paceline::sim
