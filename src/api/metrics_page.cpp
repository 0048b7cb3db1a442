#include "api/metrics_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "api/usage.hpp"
#include "model/accrual.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 8> kSlotStates = {
    "free", "leased", "ending", "promised", "draining", "refusing", "unusable", "down"};
constexpr std::array kChangeKinds = {ChangeKind::start, ChangeKind::resize, ChangeKind::move,
                                     ChangeKind::stop,  ChangeKind::pause,  ChangeKind::resume};

double number(std::size_t count) { return static_cast<double>(count); }

double waited(const Job& job, Time now) {
  const Accrual since = accrued(job, now);
  return to_seconds(job.waited + (since.spent == &Job::waited ? since.passed : Duration{}));
}

}  // namespace

MetricsPage::MetricsPage(SharedContext context) : context_(std::move(context)) {
  entries_ =
      context_->entries.listen([this](std::span<const Entry> entries) { this->count(entries); });
}

void MetricsPage::count(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    if (const auto* plan = std::get_if<Plan>(&entry.body)) count(*plan, entry.at);
  }
}

// A job's first gang: it has waited since it was submitted.
void MetricsPage::count(const Plan& plan, Time at) {
  for (const Change& change : plan.changes) {
    ++changes_[change.kind];
    const Job* job = context_->state().find_job(change.job);
    if (change.kind == ChangeKind::start && change.generation == Generation{1} && job != nullptr)
      waits_.add(to_seconds(at - job->submitted_at));
  }
}

std::string MetricsPage::text(MetricsFormat format) const {
  MetricsText text(format);
  write_server(text);
  write_jobs(text);
  write_users(text);
  write_nodes(text);
  write_rounds(text);
  if (context_->options.metrics_of_jobs) write_each_job(text);
  return text.take();
}

void MetricsPage::write_jobs(MetricsText& text) const {
  text.gauge("paceline_jobs", "Jobs that are not over.");
  for (const auto state : kJobStates) {
    if (!is_over(state))
      text.sample({{"state", to_string(state)}}, number(context_->counts.of(state)));
  }
  text.counter("paceline_jobs_ended", "Jobs that are over.");
  for (const auto state : kJobStates) {
    if (is_over(state))
      text.sample({{"state", to_string(state)}}, number(context_->counts.of(state)));
  }
  text.histogram("paceline_job_wait_seconds",
                 "From a job's submission to its first start; since the server began.", waits_);
}

void MetricsPage::write_users(MetricsText& text) const {
  const auto users = usage_by_user(context_->state(), context_->controller.now());
  text.gauge("paceline_user_jobs", "A user's jobs that are not over.");
  for (const auto& [user, usage] : users) {
    text.sample({{"user", user}, {"has", "slots"}}, static_cast<double>(usage.running));
    text.sample({{"user", user}, {"has", "none"}}, static_cast<double>(usage.waiting));
  }
  text.gauge("paceline_user_slots", "Slots that a user's jobs have.");
  for (const auto& [user, usage] : users)
    text.sample({{"user", user}}, static_cast<double>(usage.slots));
  text.counter("paceline_user_slot_seconds", "Time of slots that a user's jobs have had.");
  for (const auto& [user, usage] : users) text.sample({{"user", user}}, usage.slot_seconds);
  text.counter("paceline_user_lost_slot_seconds",
               "Of them, what did not become progress, by cause.");
  for (const auto& [user, usage] : users) {
    text.sample({{"user", user}, {"cause", "preemption"}}, usage.lost.preemption);
    text.sample({{"user", user}, {"cause", "resize"}}, usage.lost.resize);
    text.sample({{"user", user}, {"cause", "failure"}}, usage.lost.failure);
  }
}

void MetricsPage::write_nodes(MetricsText& text) const {
  const auto& nodes = context_->state().nodes();
  text.gauge("paceline_node_up", "1: the node's agent is connected.");
  for (const Node& node : nodes)
    if (!node.retired) text.sample({{"node", node.spec.name}}, node.up ? 1 : 0);
  text.gauge("paceline_node_slots", "A node's slots.");
  for (const Node& node : nodes) {
    if (node.retired) continue;
    std::map<std::string_view, std::size_t> slots;
    for (std::uint32_t i = 0; i < node.spec.slots.size(); ++i) ++slots[slot_state(node, i)];
    for (const auto state : kSlotStates)
      text.sample({{"node", node.spec.name}, {"state", state}}, number(slots[state]));
  }
}

void MetricsPage::write_rounds(MetricsText& text) const {
  const State& state = context_->state();
  text.gauge("paceline_policy_info", "1: the policy that decides.");
  if (state.policy() != nullptr) text.sample({{"policy", state.policy()->name}}, 1);
  text.counter("paceline_plans", "Rounds that changed something.");
  text.sample({}, static_cast<double>(state.round()));
  text.counter("paceline_plan_changes", "What plans changed; since the server began.");
  for (const auto kind : kChangeKinds) {
    const auto made = changes_.find(kind);
    text.sample({{"change", to_string(kind)}},
                made == changes_.end() ? 0 : static_cast<double>(made->second));
  }
}

void MetricsPage::write_server(MetricsText& text) const {
  const auto& options = context_->options;
  text.gauge("paceline_build_info", "1: the program that serves.");
  text.sample({{"version", options.version}, {"build", options.build}}, 1);
  text.gauge("paceline_server_start_time_seconds", "When the server began, since 1970.");
  const auto& marks = context_->state().clock_marks();
  text.sample({}, to_seconds(shown(marks, context_->started_at)));
  text.counter("paceline_journal_entries", "Entries of the journal.");
  text.sample({}, static_cast<double>(context_->state().seq()));
  if (!options.measures) return;
  const Measures measures = options.measures();
  text.histogram("paceline_server_turn_seconds",
                 "Turns of the server's loop; nobody is answered meanwhile.", measures.turns);
  text.counter("paceline_server_cpu_seconds", "Processor time that the server used.");
  text.sample({}, measures.cpu_seconds);
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    text.gauge(name, help);
    text.sample({}, static_cast<double>(value));
  };
  gauge("paceline_server_resident_bytes", "The server's memory.", measures.resident_bytes);
  gauge("paceline_server_open_files", "File descriptors that the server holds.",
        measures.open_files);
  gauge("paceline_database_bytes", "The database, with its write-ahead log.",
        measures.database_bytes);
  gauge("paceline_journal_segment_bytes", "What of the journal lies in segments.",
        measures.segment_bytes);
  gauge("paceline_disk_free_bytes", "Left where the server's directory is.",
        measures.disk_free_bytes);
}

void MetricsPage::write_each_job(MetricsText& text) const {
  const State& state = context_->state();
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    text.gauge(name, help);
    for (const QueueKey& key : state.queue()) {
      const Job& job = state.job(key.job);
      if (const std::optional<double> of_it = value(job))
        text.sample({{"job", fmt::format("{}", job.id.value)},
                     {"user", job.spec->user},
                     {"name", job.spec->name}},
                    *of_it);
    }
  };
  const Time now = context_->controller.now();
  each("paceline_job_slots", "Slots that a job has.",
       [](const Job& job) { return std::optional<double>(job.leased); });
  each("paceline_job_waited_seconds", "For how long a job has waited in all.",
       [&](const Job& job) { return std::optional(waited(job, now)); });
  each("paceline_job_retries", "Starts again after a failure.",
       [](const Job& job) { return std::optional<double>(job.retries_used); });
  each("paceline_job_progress_ratio", "The part that is done, where a job tells its length.",
       [](const Job& job) {
         return job.progress ? job.progress->ratio(job.spec->expected_samples) : std::nullopt;
       });
}

}  // namespace paceline
