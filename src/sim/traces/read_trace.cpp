#include "sim/traces/read_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sim/traces/packed_file.hpp"
#include "sim/traces/trace_format.hpp"

namespace paceline::sim {
namespace {

constexpr std::string_view kOwnFormat = "paceline";

constexpr std::string_view kSkipHint =
    "Correct it, or use --skip-bad-lines, which counts and skips such lines.";

constexpr std::string_view kColumnsHint =
    "Of a file of your own say which column is which: --columns "
    "'submitted_at=COLUMN,duration=COLUMN,slots=COLUMN'.";

std::string formats_hint() {
  return fmt::format("Formats: {}. --format names one.", fmt::join(trace_formats(), ", "));
}

// The text of a file from its beginning, of which the first line was looked at already.
class Opened {
 public:
  explicit Opened(PackedFile file) : file_(std::move(file)) {}

  // Reads on until there is a line that is not blank.
  Result<std::string_view> first_line() {
    const auto next = file_.next();
    if (!next) return fail(next.error());
    for (;;) {
      const std::size_t begin = std::min(head_.find_first_not_of("\r\n"), head_.size());
      const std::size_t end = head_.find('\n', begin);
      const auto line = std::string_view(head_).substr(begin, end - begin);
      if (end != std::string::npos || head_.size() > kRecordBytesMax) return line;
      const auto piece = file_.read();
      if (!piece) return fail(piece.error());
      if (piece->empty()) return line;
      head_ += *piece;
    }
  }

  // REQUIRES: first_line() was asked for.
  Result<std::string_view> piece() {
    if (head_given_) return file_.read();
    head_given_ = true;
    return head_.empty() ? file_.read() : std::string_view(head_);
  }

  // Nothing else is in its tar.
  Result<void> check_alone() {
    const std::string first = file_.member();
    if (first.empty()) return {};
    const auto next = file_.next();
    if (!next) return fail(next.error());
    if (!*next) return {};
    return fail(ErrorCode::invalid,
                fmt::format("'{}' holds more than one file: {} and {}.", path(),
                            quoted_value(first), quoted_value(file_.member())),
                "Unpack it and name the one to read.");
  }

  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  PackedFile file_;
  std::string head_;
  bool head_given_ = false;
};

struct Chosen {
  const TraceFormat* format = nullptr;
  Heading heading;
};

Result<Chosen> choose_named(const std::string& path, std::string_view name,
                            std::string_view first_line, const std::vector<OwnColumn>& own = {}) {
  const auto formats = known_trace_formats();
  const auto at = std::find_if(formats.begin(), formats.end(),
                               [&](const TraceFormat& format) { return format.name == name; });
  if (at == formats.end())
    return fail(ErrorCode::invalid, fmt::format("There is no trace format {}.", quoted_value(name)),
                formats_hint());
  auto heading = read_heading(*at, first_line, own);
  if (!heading)
    return fail(ErrorCode::invalid,
                fmt::format("'{}' is no {} trace: it {}.", path, name, heading.error()),
                name == kOwnFormat ? std::string(kColumnsHint) : formats_hint());
  return Chosen{&*at, std::move(*heading)};
}

Result<Chosen> choose_by_first_line(const std::string& path, std::string_view first_line) {
  std::vector<Chosen> fitting;
  for (const TraceFormat& format : known_trace_formats())
    if (auto heading = read_heading(format, first_line))
      fitting.push_back({&format, std::move(*heading)});
  if (fitting.size() == 1) return std::move(fitting.front());
  if (fitting.empty())
    return fail(ErrorCode::invalid,
                fmt::format("'{}' has the columns of no format: its first line is {}.", path,
                            quoted_value(first_line)),
                fmt::format("{} {}", formats_hint(), kColumnsHint));
  std::vector<std::string_view> names;
  names.reserve(fitting.size());
  for (const Chosen& one : fitting) names.push_back(one.format->name);
  return fail(
      ErrorCode::invalid,
      fmt::format("'{}' has the columns of several formats: {}.", path, fmt::join(names, ", ")),
      "Say which with --format.");
}

Result<Chosen> choose(const std::string& path, const TraceOptions& options,
                      std::string_view first_line) {
  const bool any = options.format == "auto";
  if (options.columns.empty())
    return any ? choose_by_first_line(path, first_line)
               : choose_named(path, options.format, first_line);
  if (!any && options.format != kOwnFormat)
    return fail(ErrorCode::invalid,
                fmt::format("The columns of {} traces have their names already.", options.format),
                "Leave out --format or --columns.");
  return choose_named(path, kOwnFormat, first_line, options.columns);
}

// Makes a trace of records.
class Reading {
 public:
  Reading(std::string path, const TraceOptions& options, Chosen chosen)
      : path_(std::move(path)), options_(options), chosen_(std::move(chosen)) {
    const auto& columns = chosen_.heading.columns;
    trace_.format = chosen_.format->name;
    trace_.has_durations = chosen_.format->has_durations ||
                           std::find(columns.begin(), columns.end(), "duration") != columns.end();
  }

  Result<Trace> read(Opened& file) {
    CsvReader csv([&file] { return file.piece(); }, chosen_.format->dialect);
    bool skip = chosen_.heading.is_header;
    for (;; skip = false) {
      const auto next = csv.next();
      if (!next) return fail(next.error());
      if (*next == CsvNext::end) break;
      if (skip) continue;
      ++lines_;
      if (const auto taken = take(csv, *next); !taken) return fail(taken.error());
    }
    if (lines_ == 0)
      return fail(ErrorCode::invalid, fmt::format("'{}' holds no jobs, only a header.", path_));
    if (const auto unique = check_names(); !unique) return fail(unique.error());
    return std::move(trace_);
  }

 private:
  Result<void> take(const CsvReader& csv, CsvNext next) {
    if (next == CsvNext::lost)
      return fail(ErrorCode::data, fmt::format("'{}', line {} {}.", path_, csv.line(), csv.fault()),
                  "Correct it: where the next line begins can't be told.");
    if (next == CsvNext::bad_record) return bad_line(csv.line(), fmt::format(" {}", csv.fault()));
    const auto fields = csv.fields();
    const std::size_t columns = chosen_.heading.columns.size();
    if (fields.size() != columns)
      return bad_line(csv.line(), fmt::format(" has {} columns, the first line has {}",
                                              fields.size(), columns));
    CsvRow row(chosen_.heading.columns, fields);
    TraceJob job;
    job.line = csv.line();
    chosen_.format->read(row, job);
    if (row.refusal()) return bad_line(csv.line(), ", " + *row.refusal());
    return add(std::move(job));
  }

  Result<void> add(TraceJob job) {
    if (job.slots == 0) {
      ++trace_.no_slots;
    } else if (trace_.has_durations && job.duration == Duration{}) {
      ++trace_.no_duration;
    } else if (trace_.jobs.size() == kTraceJobsMax) {
      return fail(ErrorCode::too_large,
                  fmt::format("'{}' holds over {} jobs.", path_, kTraceJobsMax),
                  "Cut it into several traces.");
    } else {
      if (job.name.empty()) job.name = std::to_string(job.line);
      trace_.jobs.push_back(std::move(job));
    }
    return {};
  }

  // `what` is said right after the number of the line.
  Result<void> bad_line(std::int64_t line, const std::string& what) {
    if (!options_.skip_bad_lines)
      return fail(ErrorCode::invalid, fmt::format("'{}', line {}{}.", path_, line, what),
                  std::string(kSkipHint));
    ++trace_.bad_lines;
    return {};
  }

  // Sorts numbers of jobs rather than keep a set of names beside the jobs.
  Result<void> check_names() {
    auto& jobs = trace_.jobs;
    if (!chosen_.format->unique_names) return {};
    std::vector<std::uint32_t> order(jobs.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&jobs](std::uint32_t a, std::uint32_t b) {
      const int names = jobs[a].name.compare(jobs[b].name);
      return names != 0 ? names < 0 : a < b;
    });
    std::vector<std::pair<std::uint32_t, std::int64_t>> again;  // and the line that has it too
    for (std::size_t i = 1; i < order.size(); ++i)
      if (jobs[order[i - 1]].name == jobs[order[i]].name)
        again.emplace_back(order[i], jobs[order[i - 1]].line);
    std::sort(again.begin(), again.end());
    for (const auto& [i, before] : again) {
      const auto told = bad_line(jobs[i].line, fmt::format(" has the name {}, as line {} has",
                                                           quoted_value(jobs[i].name), before));
      if (!told) return fail(told.error());
      jobs[i].line = 0;
    }
    std::erase_if(jobs, [](const TraceJob& job) { return job.line == 0; });
    return {};
  }

  std::string path_;
  const TraceOptions& options_;
  Chosen chosen_;
  Trace trace_;
  std::size_t lines_ = 0;
};

Result<Trace> read(Result<PackedFile> packed, const TraceOptions& options) {
  if (!packed) return fail(packed.error());
  Opened file(std::move(*packed));
  const auto first_line = file.first_line();
  if (!first_line) return fail(first_line.error());
  if (first_line->empty())
    return fail(ErrorCode::invalid, fmt::format("'{}' is empty.", file.path()));
  auto chosen = choose(file.path(), options, *first_line);
  if (!chosen) return fail(chosen.error());
  auto trace = Reading(file.path(), options, std::move(*chosen)).read(file);
  if (!trace) return trace;
  if (const auto alone = file.check_alone(); !alone) return fail(alone.error());
  return trace;
}

}  // namespace

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  return read(PackedFile::open(path), options);
}

Result<Trace> read_trace_bytes(std::string_view bytes, const std::string& path,
                               const TraceOptions& options) {
  return read(PackedFile::open_bytes(bytes, path), options);
}

std::vector<std::string> trace_formats() {
  std::vector<std::string> names = {"auto"};
  for (const TraceFormat& format : known_trace_formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace paceline::sim
