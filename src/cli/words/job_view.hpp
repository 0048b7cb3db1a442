// A job of the API (docs/api.md, "Job") in words: what tables, pages, progress lines and exit codes
// say about it.
#pragma once

#include <string>
#include <vector>

#include "cli/words/console.hpp"
#include "cli/words/document.hpp"
#include "cli/words/output.hpp"
#include "cli/words/table.hpp"

namespace paceline {

bool is_over(const Document& job);

// What `run` and `wait` exit with once the job is over: its own code (128 + n for signal n), 124
// for TIMEOUT, 130 for CANCELLED, 1 for FAILED without a code.
int exit_code_of(const Document& job);

Style style_of_state(const std::string& state);

std::string workers_text(const Document& job);  // "2/1..4", "2/2": now/asked
// "30%", "step 120", "-"; "100%" of a job that ended at its target.
std::string progress_text(const Document& job);
// "0.91→0.95 accuracy", "0.3 loss", "-"; "≥0.95 accuracy" of a target that was met by a value
// before the last one.
std::string metric_text(const Document& job);
std::string time_text(const Document& job);    // running time; waiting time before the first start
std::string reason_text(const Document& job);  // why it is as it is, or how it ended
// Seconds to the end as far as its own reports tell; nothing if they don't.
std::optional<double> seconds_left(const Document& job);

// "Job 7 is PENDING: waits for 4 free slots; 1 is free now."
std::string job_sentence(const Document& job);
// One line that follows a running job: state, workers, progress, metric, time left.
std::string progress_line(const Document& job);

// What `queue` shows of jobs, and the cells of one of them. `now`: seconds since 1970.
std::vector<Column> job_columns(bool wide);
std::vector<Cell> job_cells(const Document& job, bool wide, double now);
// The table of `queue`.
std::string jobs_table(const Document::array_t& jobs, const Output& output, const Console& console,
                       double now);
// What the API tells of a job's points, beyond the job itself.
struct Curve {
  Document page = {};              // its first page, or nothing
  std::optional<double> met = {};  // the value that met the target
};

// How to report the metric that a target awaits, where no report of a job that started named it;
// else empty. Only of the owner's own jobs, as others don't see what is reported.
std::string unreported_target(const Document& job);

// The page of `show`. `now`: seconds since 1970.
std::string job_page(const Document& job, const Curve& curve, const Console& console, double now);

// What `why` says (docs/api.md, GET /v1/jobs/7/why), line by line: the first one says how the job is.
std::vector<std::string> why_lines(const Document& why, double now);

}  // namespace paceline
