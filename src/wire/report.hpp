// What a training script says about itself, as JSON: the body of the worker socket's POST, a line
// on standard output, or the trainer-status POST of Hugging Face and Kubeflow. Read here, once, for
// all of them.
//
//   parse_report(R"({"step": 12, "accuracy": 0.91})")->metrics.at("accuracy") == 0.91
//   parse_report_line(R"(INFO {"paceline": {"step": 12}})")->step == 12
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/progress.hpp"

namespace paceline {

// Fields that the report does not name are unset. Numbers that are not finite (Python writes NaN
// and Infinity) are left out: nothing can be compared with them.
struct Report {
  std::optional<std::uint64_t> step, total_steps, samples, position;
  std::optional<double> epoch, total_epochs, step_seconds, learning_rate;
  std::map<std::string, double> metrics;  // all other keys
  std::string checkpoint;                 // absolute path; empty: none
  // Of a model that is handed out. The digest: 64 hexadecimal digits, written small; empty: not said.
  std::string model, sha256;
  std::optional<std::uint64_t> bytes;
  std::optional<ResumeAudit> resume;

  friend bool operator==(const Report&, const Report&) = default;
};

inline constexpr std::size_t kReportBytesMax = 64 << 10;
// Of steps, samples and positions: beyond it a JSON number is no exact count.
inline constexpr std::uint64_t kReportCountMax = std::uint64_t{1} << 53;
inline constexpr std::size_t kMetricNameMax = 128;
inline constexpr std::size_t kReportedPathMax = 4096;

// One object: reserved keys `step total_steps epoch total_epochs samples step_seconds learning_rate
// position checkpoint`, an object `resume_audit` of `agrees` and `text`, beside a path `model` also
// `bytes sha256`; all others are metrics. Nulls are skipped. Errors: invalid (names the key and what it
// must be), too_large.
Result<Report> parse_report(std::string_view json);

// The report in a line of output: `{"paceline": {…}}` after any prefix, up to the end of the line.
// Nothing for every other line, and for one that is broken: output is the script's own, and nobody
// reads an error there.
std::optional<Report> parse_report_line(std::string_view line);

// The body of POST /v1/checkpoint: `{"path": "/abs", "step": 100, "samples": 6400}`. Errors:
// invalid.
Result<Report> parse_checkpoint(std::string_view json);

// The body of POST /v1/publish: `{"path": "/abs", "bytes": 1024, "sha256": "9f86d0…", "step": 100,
// "samples": 6400}`; only the path must be there. Errors: invalid.
Result<Report> parse_model(std::string_view json);

[[nodiscard]] bool is_sha256(std::string_view text);

// `{"trainerStatus": {"progressPercentage": 67, "estimatedRemainingSeconds": 3600, "metrics":
// [{"name": "loss", "value": "0.3"}]}}`
struct TrainerStatus {
  Report report;  // current_step, total_steps, current_epoch, epoch and learning_rate are taken out
                  // of the metrics
  std::optional<double> percent;  // 0..100
};
// Errors: invalid. Metrics whose value is not a finite number are left out.
Result<TrainerStatus> parse_trainer_status(std::string_view json);

}  // namespace paceline
