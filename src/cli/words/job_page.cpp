#include <fmt/format.h>

#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

// "  Owner       ann", lines with something to say only.
class Page {
 public:
  void line(std::string_view title, const std::string& text) {
    if (!text.empty()) text_ += fmt::format("  {:11} {}\n", title, printable(text));
  }
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// ", " between the parts that say something.
std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string when(const Document& object, std::string_view key, double now) {
  const auto at = number_of(object, key);
  return at ? human_time(*at, now) : "";
}

// "waited 1m20s" if the job did so at all.
std::string spent(std::string_view verb, const Document& object, std::string_view key) {
  const auto seconds = number_of(object, key).value_or(0);
  return seconds >= 1 ? fmt::format("{} {}", verb, human_duration(seconds)) : "";
}

std::string labelled(std::string_view label, const std::string& text) {
  return text.empty() ? "" : fmt::format("{} {}", label, text);
}

std::string workers_line(const Document& job) {
  const auto now = whole_of(job, "workers"), min = whole_of(job, "min"), max = whole_of(job, "max");
  const auto slots = whole_of(job, "slots_per_worker");
  const auto want = whole_of(job, "want");
  return joined(
      {min == max ? fmt::format("{} of {}", now, max) : fmt::format("{} of {}..{}", now, min, max),
       want != min ? fmt::format("wants {}", want) : "",
       flag_of(job, "pinned") ? "pinned by its owner" : "",
       slots > 1 ? fmt::format("{} slots each", slots) : ""});
}

std::string mesh_line(const Document& job) {
  const auto& mesh = member(job, "mesh");
  const auto tensor = whole_of(mesh, "tensor"), pipeline = whole_of(mesh, "pipeline");
  if (tensor * pipeline <= 1) return "";
  return fmt::format("tensor {}, pipeline {}", tensor, pipeline);
}

// The words of a list: "label:disk=nvme, self:rack".
std::string words_of(const Document& job, std::string_view key) {
  std::vector<std::string> words;
  for (const auto& word : list_of(job, key)) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return joined(words);
}

std::string affinity_line(const Document& job) {
  return joined({labelled("near", words_of(job, "affinity")),
                 labelled("away from", words_of(job, "anti_affinity"))});
}

std::string sharing_line(const Document& job) {
  return joined({flag_of(job, "exclusive") ? "shares its nodes with no other job" : "",
                 member(job, "preemptible") == false ? "is never stopped for another job" : ""});
}

std::string part_lost(std::string_view by, const Document& job, const char* key) {
  const auto part = number_of(job, key);
  return part ? fmt::format("loses at most {:g}% to {}", 100 * *part, by) : "";
}

std::string limits_line(const Document& job) {
  const auto cpus = number_of(job, "cpus"), memory = number_of(job, "memory_bytes");
  const auto logs = number_of(job, "log_limit_bytes");
  return joined({cpus ? fmt::format("{:g} cores a worker", *cpus) : "",
                 memory ? human_bytes(static_cast<std::uint64_t>(*memory)) + " a worker" : "",
                 logs ? human_bytes(static_cast<std::uint64_t>(*logs)) + " of logs" : "",
                 spent("at least", job, "min_run_seconds"), part_lost("stops", job, "stop_loss"),
                 part_lost("resizes", job, "resize_loss"),
                 spent("at most", job, "max_duration_seconds")});
}

std::string progress_page_line(const Document& job) {
  const auto& progress = member(job, "progress");
  const auto step = number_of(progress, "step"), total = number_of(progress, "total_steps");
  const auto epoch = number_of(progress, "epoch"), samples = number_of(progress, "samples");
  const auto ratio = number_of(progress, "ratio");
  return joined(
      {ratio ? progress_text(job) : "",
       step ? fmt::format("step {:.0f}", *step) + (total ? fmt::format(" of {:.0f}", *total) : "")
            : "",
       epoch ? fmt::format("epoch {:.4g}", *epoch) : "",
       samples ? plural(static_cast<std::uint64_t>(*samples), "sample") : ""});
}

std::string left_line(const Document& job) {
  const auto& left = member(job, "remaining");
  const auto likely = seconds_left(job);
  const auto low = number_of(left, "low_seconds"), high = number_of(left, "high_seconds");
  if (!likely || !low || !high) return "";
  const auto from = text_of(left, "from");
  return fmt::format("about {} of running ({} to {}), {}", human_duration(*likely),
                     human_duration(*low), human_duration(*high),
                     from == "progress"   ? "by its progress"
                     : from == "declared" ? "as its owner expects"
                                          : "as earlier jobs of its name took");
}

std::string metrics_line(const Document& job) {
  std::vector<std::string> parts;
  const auto& metrics = member(job, "metrics");
  if (!metrics.is_object()) return "";
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) {
      parts.push_back(fmt::format("{} {}", name, human_number(value.get<double>())));
    }
  }
  return joined(parts);
}

std::string target_line(const Document& job, const Curve& curve, double now) {
  const auto& target = member(job, "target");
  const auto deliver = number_of(target, "deliver"), final = number_of(target, "final");
  if (!deliver || !final) return "";
  const auto at_final = fmt::format("{} {} {}", text_of(target, "metric"),
                                    text_of(target, "direction"), human_number(*final));
  const bool reached = flag_of(target, "reached");
  return joined({at_final,
                 *deliver != *final ? fmt::format("delivered at {}", human_number(*deliver)) : "",
                 curve.met ? fmt::format("met by {}", human_number(*curve.met)) : "",
                 reached ? labelled("reached", when(target, "reached_at", now)) : "not reached yet",
                 unreported_target(job)});
}

std::string checkpoint_line(const Document& job, double now) {
  const auto& checkpoint = member(job, "checkpoint");
  const auto step = number_of(checkpoint, "step");
  const auto unkept = text_of(checkpoint, "unkept");
  return joined(
      {text_of(checkpoint, "path"), step ? fmt::format("step {:.0f}", *step) : "",
       labelled("acknowledged", when(checkpoint, "acknowledged_at", now)),
       flag_of(checkpoint, "kept") ? "kept by the server" : "",
       unkept.empty() ? "" : fmt::format("on {} alone: {}", text_of(checkpoint, "node"), unkept)});
}

std::string model_line(const Document& job, double now) {
  const auto& model = member(job, "model");
  const auto step = number_of(model, "step");
  const auto bytes = number_of(model, "bytes");
  return joined({text_of(model, "path"), labelled("on", text_of(model, "node")),
                 bytes ? human_bytes(static_cast<std::uint64_t>(*bytes)) : "",
                 step ? fmt::format("step {:.0f}", *step) : "",
                 labelled("published", when(model, "published_at", now))});
}

std::string resume_line(const Document& job) {
  const auto& resume = member(job, "resume_audit");
  const auto text = text_of(resume, "text");
  if (text.empty()) return "";
  return (flag_of(resume, "agrees") ? "at " : "not as it was left: ") + text;
}

std::string curve_line(const Document& curve) {
  const auto from = number_of(curve, "thinned_from");
  if (!from) return "";
  return fmt::format("thinned, it had {} ('paceline up --keep')",
                     plural(static_cast<std::uint64_t>(*from), "point"));
}

std::string asked_line(const Document& job, double now) {
  const auto& asked = member(job, "asked");
  if (!asked.is_object()) return "";
  return fmt::format(
      "by job {} since {}; may be stopped from {} on, unless it saves or ends before",
      whole_of(asked, "by"), when(asked, "since", now), when(asked, "stops_at", now));
}

std::string times_line(const Document& job, double now) {
  return joined({labelled("submitted", when(job, "submitted_at", now)),
                 labelled("started", when(job, "started_at", now)),
                 labelled("ended", when(job, "ended_at", now)),
                 labelled("deadline", when(job, "deadline_at", now))});
}

std::string spent_line(const Document& job) {
  return joined({spent("waited", job, "waited_seconds"), spent("ran", job, "ran_seconds"),
                 spent("paused", job, "paused_seconds"), spent("slot time", job, "slot_seconds")});
}

std::string course_line(const Document& job) {
  const auto counted = [&](std::string_view key, std::string_view noun) {
    const auto count = whole_of(job, key);
    return count > 0 ? plural(static_cast<std::uint64_t>(count), noun) : "";
  };
  const auto retry = whole_of(job, "retry");
  return joined({fmt::format("attempt {}, generation {}", whole_of(job, "attempt"),
                             whole_of(job, "generation")),
                 counted("resizes", "resize"), counted("preemptions", "preemption"),
                 retry > 0
                     ? fmt::format("{} of {} retries used", whole_of(job, "retries_used"), retry)
                     : ""});
}

std::string lost_line(const Document& job) {
  const auto& lost = member(job, "lost_slot_seconds");
  return joined({spent("preemption", lost, "preemption"), spent("resize", lost, "resize"),
                 spent("failure", lost, "failure")});
}

std::string after_line(const Document& job) {
  std::vector<std::string> ids;
  for (const auto& id : list_of(job, "after")) ids.push_back("job " + id.dump());
  return listed(ids);
}

std::string slots_text(const Document& worker) {
  std::string text;
  for (const auto& slot : list_of(worker, "slots")) text += (text.empty() ? "" : ",") + slot.dump();
  return text;
}

std::string gang_table(const Document& job, const Console& console) {
  Table table({{"  RANK"}, {"NODE"}, {"SLOTS"}, {"PID", Align::right}, {"STATE"}, {"EXIT"}});
  for (const auto& worker : list_of(job, "gang")) {
    const auto pid = whole_of(worker, "pid");
    const auto exit = number_of(worker, "exit_code");
    table.add({{fmt::format("  {}", whole_of(worker, "rank"))},
               {text_of(worker, "node")},
               {slots_text(worker)},
               {pid > 0 ? std::to_string(pid) : "-"},
               {text_of(worker, "state")},
               {exit ? fmt::format("{:.0f}", *exit) : ""}});
  }
  return table.empty() ? "" : "\n" + table.render(console.look());
}

// Its files as they were, and by which name the server knows them.
std::string shipped_line(const Document& job) {
  constexpr std::size_t kShownDigits = 12;
  const auto& shipped = member(job, "shipped");
  const auto name = text_of(shipped, "ship");
  if (name.empty()) return {};
  return fmt::format("{}, {} ({})",
                     plural(static_cast<std::uint64_t>(whole_of(shipped, "files")), "file"),
                     human_bytes(static_cast<std::uint64_t>(whole_of(shipped, "bytes"))),
                     printable(name.substr(0, kShownDigits)));
}

}  // namespace

std::string unreported_target(const Document& job) {
  const auto& target = member(job, "target");
  const auto& metrics = member(job, "metrics");
  const auto metric = text_of(target, "metric");
  if (!target.is_object() || flag_of(target, "reached") || !number_of(job, "started_at")) return "";
  if (!metrics.is_object() || number_of(metrics, metric)) return "";
  return fmt::format(
      "no report named {} so far: print {{\"paceline\": {{{}: 0.5}}}} as a line of its own", metric,
      Document(metric).dump());
}

std::string job_page(const Document& job, const Curve& curve, const Console& console, double now) {
  const auto state = text_of(job, "state");
  Page page;
  page.raw(fmt::format(
      "{}  {}\n",
      console.paint(fmt::format("Job {}  {}", whole_of(job, "id"), printable(text_of(job, "name"))),
                    Style::bold),
      console.paint(state, style_of_state(state))));
  page.raw(fmt::format("  {}.\n\n", printable(reason_text(job))));
  page.line("Owner", text_of(job, "user"));
  page.line("Command", text_of(job, "command"));
  page.line("Directory", text_of(job, "directory"));
  page.line("Shipped", shipped_line(job));
  page.line("Workers", workers_line(job));
  page.line("Mesh", mesh_line(job));
  page.line("Devices", words_of(job, "devices"));
  page.line("Affinity", affinity_line(job));
  page.line("Sharing", sharing_line(job));
  page.line("Limits", limits_line(job));
  page.line("Priority", std::to_string(whole_of(job, "priority")));
  page.line("Elastic", text_of(job, "elastic"));
  if (text_of(job, "on_disconnect") == "continue")
    page.line("Without a server", "it runs on, and is waited for");
  page.line("After", after_line(job));
  page.line("Progress", progress_page_line(job));
  page.line("Left", left_line(job));
  page.line("Metrics", metrics_line(job));
  page.line("Curve", curve_line(curve.page));
  page.line("Target", target_line(job, curve, now));
  page.line("Checkpoint", checkpoint_line(job, now));
  page.line("Resumed", resume_line(job));
  page.line("Model", model_line(job, now));
  page.line("Asked", asked_line(job, now));
  for (const auto& warning : list_of(job, "warnings"))
    page.line("Warning", text_of(warning, "text"));
  page.line("Times", times_line(job, now));
  page.line("Spent", spent_line(job));
  page.line("Course", course_line(job));
  page.line("Lost", lost_line(job));
  page.raw(gang_table(job, console));
  return page.take();
}

}  // namespace paceline
