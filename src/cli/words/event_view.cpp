#include "cli/words/event_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

std::string change_text(const Document& change) {
  const auto reason = text_of(change, "reason");
  const auto workers = number_of(change, "workers");
  return fmt::format("{} job {}{}{}", text_of(change, "kind"), whole_of(change, "job"),
                     workers && *workers > 0
                         ? " with " + plural(static_cast<std::uint64_t>(*workers), "worker")
                         : "",
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

// A job that never saved: it goes on for as long as the rules say.
std::string asking_text(const Document& asking, double at) {
  const auto job = whole_of(asking, "job");
  if (!number_of(asking, "by")) return fmt::format("asks job {} no more", job);
  const auto text =
      fmt::format("asks job {} to save and give way to job {}", job, whole_of(asking, "by"));
  const auto stops_at = number_of(asking, "stops_at");
  return stops_at ? fmt::format("{} within {}", text, human_duration(*stops_at - at)) : text;
}

std::string plan_text(const Document& plan) {
  std::vector<std::string> parts;
  for (const auto& change : list_of(plan, "changes")) parts.push_back(change_text(change));
  const double at = number_of(plan, "at").value_or(0);
  for (const auto& asking : list_of(plan, "asked")) parts.push_back(asking_text(asking, at));
  return fmt::format("{}:{}{}", text_of(plan, "policy"), parts.empty() ? "" : " ",
                     fmt::join(parts, "; "));
}

std::string clock_text(const Document& event) {
  const double by = number_of(event, "by_seconds").value_or(0);
  const auto span = human_duration(std::abs(by));
  const bool moved = std::abs(by) >= 1;
  if (event.contains("boot") && !moved) return "the server runs on this boot of the machine";
  if (event.contains("boot"))
    return fmt::format("the machine was started since, by its clock {} {}; no time is counted",
                       span, by < 0 ? "earlier" : "later");
  return by < 0 ? fmt::format("the machine's clock was set back by {}", span)
                : fmt::format("the machine's clock was set forward by {}, or it slept", span);
}

// Keys that a line has its own place for.
bool is_frame(const std::string& key) {
  return key == "seq" || key == "at" || key == "kind" || key.starts_with("target_");
}

std::string value_text(const Document& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  const bool objects = value.is_array() && !value.empty() && value.front().is_object();
  if (objects) return std::to_string(value.size());  // -o json tells what they are
  return value.dump(-1, ' ', false, Document::error_handler_t::replace);
}

// Adds "job 7", "rank 0" and so on; objects in it give their own keys, points in time are left out.
void add_keys(const Document& object, std::vector<std::string>& parts) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || key == "at" || key.ends_with("_at")) continue;
    if (value.is_object()) {
      add_keys(value, parts);
    } else {
      parts.push_back(fmt::format("{} {}", key, value_text(value)));
    }
  }
}

std::string keys_text(const Document& event) {
  if (!event.is_object()) return "";
  Document own = Document::object();
  for (const auto& [key, value] : event.items()) {
    if (!is_frame(key)) own[key] = value;
  }
  std::vector<std::string> parts;
  add_keys(own, parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string text_of_kind(const std::string& kind, const Document& event) {
  if (kind == "plan") return plan_text(event);
  if (kind == "clock_set") return clock_text(event);
  return keys_text(event);
}

}  // namespace

std::string event_lines(const Document& event, double now) {
  const auto at = human_time(number_of(event, "at").value_or(0), now);
  const auto line = [&](std::string_view kind, const std::string& text) {
    return printable(fmt::format("{:>6}  {}  {:<14}  {}", whole_of(event, "seq"), at, kind, text));
  };
  const auto kind = text_of(event, "kind");
  std::string lines = line(kind, text_of_kind(kind, event));
  for (const auto* met : {"target_delivered", "target_reached"}) {
    if (event.contains(met))
      lines += "\n" + line(met, fmt::format("job {}", whole_of(event, "job")));
  }
  return lines;
}

}  // namespace paceline
