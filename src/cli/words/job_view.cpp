#include "cli/words/job_view.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/words/text.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

constexpr int kExitTimeout = 124;
constexpr int kExitCancelled = 130;

std::optional<JobState> state_of(const Document& job) {
  return parse_job_state(text_of(job, "state"));
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The metric that the target names, else the first one reported.
std::pair<std::string, std::optional<double>> leading_metric(const Document& job) {
  const auto& metrics = member(job, "metrics");
  const auto wanted = text_of(member(job, "target"), "metric");
  if (!wanted.empty()) return {wanted, number_of(metrics, wanted)};
  if (!metrics.is_object() || metrics.empty()) return {};
  return {metrics.begin().key(), number_of(metrics, metrics.begin().key())};
}

// That it is done is what its target says, whatever its steps would have come to.
bool ended_at_target(const Document& job) {
  return state_of(job) == JobState::completed && flag_of(member(job, "target"), "reached");
}

// "≥0.95": what is known of the value that met a target where the last one doesn't meet it.
std::optional<std::string> met_text(const Document& target, std::optional<double> last) {
  const auto final = number_of(target, "final");
  if (!flag_of(target, "reached") || !final) return {};
  const bool at_most = text_of(target, "direction") == "<=";
  if (last && (at_most ? *last <= *final : *last >= *final)) return {};
  return (at_most ? "≤" : "≥") + human_number(*final);
}

}  // namespace

bool is_over(const Document& job) {
  const auto state = state_of(job);
  return state && is_over(*state);
}

int exit_code_of(const Document& job) {
  const auto state = state_of(job);
  if (state == JobState::timeout) return kExitTimeout;
  if (state == JobState::cancelled) return kExitCancelled;
  const auto code = static_cast<int>(whole_of(job, "exit_code"));
  if (state == JobState::failed && code == 0) return 1;
  return code;
}

Style style_of_state(const std::string& text) {
  const auto state = parse_job_state(text);
  if (!state) return Style::plain;
  switch (*state) {
    case JobState::pending:
      return Style::yellow;
    case JobState::starting:
    case JobState::resizing:
    case JobState::stopping:
    case JobState::paused:
      return Style::cyan;
    case JobState::running:
      return Style::green;
    case JobState::completed:
    case JobState::cancelled:
      return Style::dim;
    case JobState::failed:
    case JobState::timeout:
      return Style::red;
  }
  return Style::plain;
}

std::string workers_text(const Document& job) {
  const auto now = whole_of(job, "workers"), min = whole_of(job, "min"), max = whole_of(job, "max");
  return min == max ? fmt::format("{}/{}", now, max) : fmt::format("{}/{}..{}", now, min, max);
}

std::string progress_text(const Document& job) {
  if (ended_at_target(job)) return "100%";
  const auto& progress = member(job, "progress");
  if (const auto ratio = number_of(progress, "ratio")) {
    return fmt::format("{:.0f}%", std::floor(*ratio * 100));
  }
  if (const auto step = number_of(progress, "step")) return fmt::format("step {:.0f}", *step);
  if (const auto epoch = number_of(progress, "epoch")) return fmt::format("epoch {:.1f}", *epoch);
  return "-";
}

std::string metric_text(const Document& job) {
  const auto [name, value] = leading_metric(job);
  if (name.empty()) return "-";
  const auto shown = value ? human_number(*value) : "-";
  const auto& target = member(job, "target");
  if (const auto met = met_text(target, value)) return fmt::format("{} {}", *met, name);
  const auto final = number_of(target, "final");
  if (!final) return fmt::format("{} {}", shown, name);
  return fmt::format("{}→{} {}", shown, human_number(*final), name);
}

std::string time_text(const Document& job) {
  const bool started = number_of(job, "started_at").has_value();
  return human_duration(number_of(job, started ? "ran_seconds" : "waited_seconds").value_or(0));
}

std::string reason_text(const Document& job) {
  auto ending = text_of(job, "ending");
  return without_full_stop(is_over(job) && !ending.empty() ? std::move(ending)
                                                           : text_of(job, "reason"));
}

std::optional<double> seconds_left(const Document& job) {
  return number_of(member(job, "remaining"), "seconds");
}

std::string job_sentence(const Document& job) {
  constexpr std::string_view kSaidAlready = "is stopping: ";
  auto reason = reason_text(job);
  if (reason.starts_with(kSaidAlready)) reason.erase(0, kSaidAlready.size());
  return fmt::format("Job {} is {}{}.", whole_of(job, "id"), text_of(job, "state"),
                     reason.empty() ? "" : ": " + printable(reason));
}

std::string progress_line(const Document& job) {
  std::string line = fmt::format("job {}  {}", whole_of(job, "id"), text_of(job, "state"));
  if (whole_of(job, "workers") == 0) return fmt::format("{}  {}", line, reason_text(job));
  line += fmt::format("  {} workers", workers_text(job));
  const auto& progress = member(job, "progress");
  const auto step = number_of(progress, "step"), total = number_of(progress, "total_steps");
  if (const auto done = progress_text(job); done != "-") line += "  " + done;
  if (step && total) line += fmt::format("  step {:.0f}/{:.0f}", *step, *total);
  if (const auto metric = metric_text(job); metric != "-") line += "  " + metric;
  if (const auto left = seconds_left(job)) line += "  " + human_duration(*left) + " left";
  return line;
}

}  // namespace paceline
