#include "wire/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kSha256Digits = 64;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // nlohmann passes over it

struct CountKey {
  std::string_view name;
  std::optional<std::uint64_t> Report::*member;
};
constexpr CountKey kCounts[] = {{"step", &Report::step},
                                {"total_steps", &Report::total_steps},
                                {"samples", &Report::samples},
                                {"position", &Report::position}};

struct NumberKey {
  std::string_view name;
  std::optional<double> Report::*member;
};
constexpr NumberKey kNumbers[] = {{"epoch", &Report::epoch},
                                  {"total_epochs", &Report::total_epochs},
                                  {"step_seconds", &Report::step_seconds},
                                  {"learning_rate", &Report::learning_rate}};

Error invalid(std::string message) {
  return Error{ErrorCode::invalid, std::move(message),
               "Send one JSON object, as in {\"step\": 12, \"accuracy\": 0.91}.", Retry::useless};
}

// Python's json writes NaN, Infinity and -Infinity, which JSON does not know: outside of strings
// they become null.
std::string without_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out.append(text.substr(i++, 2));
      continue;
    }
    if (c == '"') quoted = !quoted;
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (quoted || !text.substr(i).starts_with(word)) continue;
      out += "null";
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out.push_back(c);
  }
  return out;
}

Result<Json> parse_lenient(std::string_view text) {
  if (text.size() > kReportBytesMax)
    return fail(ErrorCode::too_large, fmt::format("A report may have {} bytes, this one has {}.",
                                                  kReportBytesMax, text.size()));
  const bool strange = text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
  Json json = Json::parse(strange ? without_nan(text) : std::string(text), nullptr, false);
  if (json.is_discarded() || text.starts_with(kByteOrderMark))
    return fail(invalid("The report is not JSON."));
  if (!json.is_object()) return fail(invalid("The report is not a JSON object."));
  return json;
}

bool is_count(const Json& value) {
  if (!value.is_number()) return false;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kReportCountMax;
  const double number = value.get<double>();
  return number >= 0 && number <= static_cast<double>(kReportCountMax) &&
         number == std::floor(number);
}

std::uint64_t to_count(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>()
                                    : static_cast<std::uint64_t>(value.get<double>());
}

Result<std::uint64_t> read_count(const std::string& key, const Json& value) {
  if (is_count(value)) return to_count(value);
  return fail(invalid(fmt::format("'{}' must be a whole number from 0 to 2^53.", key)));
}

Result<bool> read_reserved(const std::string& key, const Json& value, Report& report) {
  for (const auto& count : kCounts) {
    if (count.name != key) continue;
    const auto read = read_count(key, value);
    if (!read) return fail(read.error());
    report.*count.member = *read;
    return true;
  }
  for (const auto& number : kNumbers) {
    if (number.name != key) continue;
    if (!value.is_number()) return fail(invalid(fmt::format("'{}' must be a number.", key)));
    report.*number.member = value.get<double>();
    return true;
  }
  return false;
}

Result<void> read_path(const std::string& key, const Json& value, std::string& into) {
  const auto* path = value.get_ptr<const std::string*>();
  if (path == nullptr || !path->starts_with('/') || path->size() > kReportedPathMax ||
      path->find('\0') != std::string::npos)
    return fail(invalid(fmt::format("'{}' must be an absolute path.", key)));
  into = *path;
  return {};
}

Result<void> read_sha256(const Json& value, Report& report) {
  const auto* digits = value.get_ptr<const std::string*>();
  if (digits == nullptr || !is_sha256(*digits))
    return fail(invalid("'sha256' must be 64 hexadecimal digits, written small."));
  report.sha256 = *digits;
  return {};
}

// Of what is said of a model beside its path, step and samples. False: it is something else.
Result<bool> read_of_model(const std::string& key, const Json& value, Report& report) {
  if (key == "sha256") {
    if (auto read = read_sha256(value, report); !read) return fail(read.error());
    return true;
  }
  if (key != "bytes") return false;
  const auto read = read_count(key, value);
  if (!read) return fail(read.error());
  report.bytes = *read;
  return true;
}

Result<void> read_resume(const Json& value, Report& report) {
  const auto agrees = value.find("agrees"), text = value.find("text");
  const bool sound = value.size() == 2 && agrees != value.end() && agrees->is_boolean() &&
                     text != value.end() && text->is_string();
  const auto* told = sound ? text->get_ptr<const std::string*>() : nullptr;
  if (told == nullptr || told->size() > kResumeTextMax || !is_visible(*told))
    return fail(
        invalid(fmt::format("'resume_audit' must be {{\"agrees\": true, \"text\": \"…\"}}, with a "
                            "text of one line and at most {} bytes.",
                            kResumeTextMax)));
  report.resume = ResumeAudit{agrees->get<bool>(), *told};
  return {};
}

Result<void> read_metric(const std::string& key, const Json& value, Report& report) {
  if (!value.is_number())
    return fail(invalid(fmt::format(
        "'{:.64}' must be a number; every key that is not reserved is a metric.", key)));
  if (key.empty() || key.size() > kMetricNameMax)
    return fail(invalid(fmt::format("The name of a metric has 1 to {} bytes.", kMetricNameMax)));
  if (!is_visible(key)) return fail(invalid("The name of a metric has no control characters."));
  if (report.metrics.size() == kMetricsMax)
    return fail(invalid(fmt::format("A report may hold {} metrics.", kMetricsMax)));
  report.metrics.emplace(key, value.get<double>());
  return {};
}

// A number of that name is a metric, as any other.
bool has_model(const Json& object) {
  const auto model = object.find("model");
  return model != object.end() && model->is_string();
}

Result<Report> read_report(const Json& object) {
  Report report;
  const bool publishes = has_model(object);
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    auto reserved = read_reserved(key, value, report);
    if (reserved && !*reserved && publishes) reserved = read_of_model(key, value, report);
    if (!reserved) return fail(reserved.error());
    if (*reserved) continue;
    const auto read = key == "checkpoint"           ? read_path(key, value, report.checkpoint)
                      : key == "model" && publishes ? read_path(key, value, report.model)
                      : key == "resume_audit" && value.is_object()
                          ? read_resume(value, report)
                          : read_metric(key, value, report);
    if (!read) return fail(read.error());
  }
  return report;
}

// Values come as text; a count or an epoch under the name that Hugging Face gives it becomes the
// reserved field.
void read_trainer_metric(const std::string& name, double value, TrainerStatus& status) {
  Report& report = status.report;
  const bool whole = value >= 0 && value <= static_cast<double>(kReportCountMax);
  if ((name == "current_step" || name == "step") && whole)
    report.step = static_cast<std::uint64_t>(value);
  else if (name == "total_steps" && whole)
    report.total_steps = static_cast<std::uint64_t>(value);
  else if (name == "current_epoch" || name == "epoch")
    report.epoch = value;
  else if (name == "learning_rate")
    report.learning_rate = value;
  else if (!name.empty() && name.size() <= kMetricNameMax && is_visible(name) &&
           report.metrics.size() < kMetricsMax)
    report.metrics.emplace(name, value);
}

std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > 64) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

Result<Report> parse_report(std::string_view json) {
  const auto object = parse_lenient(json);
  if (!object) return fail(object.error());
  return read_report(*object);
}

std::optional<Report> parse_report_line(std::string_view line) {
  const std::size_t key = line.find("\"paceline\"");
  if (key == std::string_view::npos) return std::nullopt;
  const std::size_t begin = line.rfind('{', key);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const auto object = parse_lenient(line);
  if (!object) return std::nullopt;
  const auto inner = object->find("paceline");
  if (inner == object->end() || !inner->is_object()) return std::nullopt;
  auto report = read_report(*inner);
  if (!report) return std::nullopt;
  return *std::move(report);
}

Result<Report> parse_checkpoint(std::string_view json) {
  const auto object = parse_lenient(json);
  if (!object) return fail(object.error());
  Report report;
  for (const auto& [key, value] : object->items()) {
    if (value.is_null()) continue;
    if (key == "path") {
      if (auto read = read_path(key, value, report.checkpoint); !read) return fail(read.error());
    } else if (key == "step" || key == "samples") {
      if (auto read = read_reserved(key, value, report); !read) return fail(read.error());
    } else {
      return fail(
          invalid(fmt::format("A checkpoint has path, step and samples, but no '{:.64}'.", key)));
    }
  }
  if (report.checkpoint.empty()) return fail(invalid("A checkpoint needs its 'path'."));
  return report;
}

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<Report> parse_model(std::string_view json) {
  const auto object = parse_lenient(json);
  if (!object) return fail(object.error());
  Report report;
  for (const auto& [key, value] : object->items()) {
    if (value.is_null()) continue;
    Result<bool> known = true;
    if (key == "path") {
      if (auto read = read_path(key, value, report.model); !read) return fail(read.error());
    } else if (key == "step" || key == "samples") {
      known = read_reserved(key, value, report);
    } else {
      known = read_of_model(key, value, report);
    }
    if (!known) return fail(known.error());
    if (!*known)
      return fail(invalid(
          fmt::format("A model has path, bytes, sha256, step and samples, but no '{:.64}'.", key)));
  }
  if (report.model.empty()) return fail(invalid("A model needs its 'path'."));
  return report;
}

Result<TrainerStatus> parse_trainer_status(std::string_view json) {
  const auto object = parse_lenient(json);
  if (!object) return fail(object.error());
  const auto inner = object->find("trainerStatus");
  if (inner == object->end() || !inner->is_object())
    return fail(invalid("The body has no object 'trainerStatus'."));
  TrainerStatus status;
  if (const auto percent = inner->find("progressPercentage"); percent != inner->end())
    status.percent = number_of(*percent);
  const auto metrics = inner->find("metrics");
  if (metrics == inner->end() || !metrics->is_array()) return status;
  for (const Json& metric : *metrics) {
    if (!metric.is_object() || !metric.contains("name") || !metric.contains("value")) continue;
    const auto* name = metric["name"].get_ptr<const std::string*>();
    const auto value = number_of(metric["value"]);
    if (name != nullptr && value) read_trainer_metric(*name, *value, status);
  }
  return status;
}

}  // namespace paceline
