#include "sim/traces/journal_trace.hpp"

#include <algorithm>

#include "model/accrual.hpp"

namespace paceline::sim {
namespace {

// Seconds at the wanted size that the job's running so far was worth.
double worth_of(const Job& job, Time now, const Speedup& speedup) {
  double seconds = 0;
  for (const RanAt& part : job.ran_at) seconds += to_seconds(part.span) * speedup.of(part.workers);
  if (job.state == JobState::running)
    seconds += to_seconds(accrued(job, now).passed) * speedup.of(job.current->size());
  return seconds / speedup.of(job.spec->workers.want);
}

// The same of a job that ran in one piece, with what its processes took to start: until then it held
// its slots as well.
double worth_held(const Job& job, const Speedup& speedup) {
  const bool one_piece = job.last_generation == Generation{1} && job.ran_at.size() == 1;
  if (!one_piece) return 0;
  const std::int32_t workers = job.ran_at.front().workers;
  const double held = job.slot_seconds / job.slots(workers) - to_seconds(job.paused);
  return held * speedup.of(workers) / speedup.of(job.spec->workers.want);
}

Duration length_of(const Job& job, Time now, const Speedup& speedup) {
  const double worth = worth_of(job, now, speedup);
  if (is_over(job.state)) return from_seconds(std::max(worth, worth_held(job, speedup)));
  const Duration ran = from_seconds(worth);
  return std::max(ran, job.spec->expected_duration.value_or(Duration::zero()));
}

// A script that neither vouches for itself nor ever acknowledged a checkpoint was never resized, and
// is not now.
Elastic elastic_of(const Job& job) {
  if (job.spec->elastic != Elastic::automatic) return job.spec->elastic;
  return job.checkpoint ? Elastic::restart : Elastic::no;
}

JobSpec spec_of(const Job& job, const State& state) {
  JobSpec spec = *job.spec;
  if (spec.deadline) *spec.deadline -= ahead_at(state.clock_marks(), job.submitted_at);
  spec.elastic = elastic_of(job);
  spec.expected_samples.reset();
  spec.max_duration.reset();
  spec.target.reset();
  spec.checkpoint_glob.clear();
  spec.hold = spec.pty = false;
  return spec;
}

TraceJob job_of(const Job& job, const State& state, Duration length) {
  TraceJob made;
  made.name = std::to_string(job.id.value);
  made.submitted = job.submitted_at;
  made.duration = length;
  made.slots = job.slots(job.spec->workers.want);
  made.user = job.spec->user;
  made.application = job.spec->name;
  made.models = job.spec->devices;
  made.line = job.id.value;
  made.spec = std::make_shared<const JobSpec>(spec_of(job, state));
  return made;
}

std::vector<NodeSpec> nodes_of(const State& state) {
  std::vector<NodeSpec> nodes;
  for (const Node& node : state.nodes()) {
    nodes.push_back(node.spec);
    std::erase_if(nodes.back().slots, [](const SlotSpec& slot) { return !slot.usable; });
  }
  std::erase_if(nodes, [](const NodeSpec& node) { return node.slots.empty(); });
  return nodes;
}

// Seconds, and how often.
struct Pauses {
  double seconds = 0;
  std::int64_t count = 0;

  void add(double mean, std::int32_t times) {
    seconds += mean * times;
    count += times;
  }
  [[nodiscard]] std::optional<Duration> mean() const {
    if (count == 0) return std::nullopt;
    return from_seconds(seconds / static_cast<double>(count));
  }
};

// Where jobs were resized in place, that is what a resize is; else it was a restart.
void measure_pauses(Trace& trace, const State& state, std::span<const Job> forgotten) {
  Pauses by_restart, in_place;
  const auto add = [&](const Job& job) {
    by_restart.add(job.resize_pause, job.resize_pauses);
    in_place.add(job.in_place_pause, job.in_place_pauses);
  };
  for (const Job& job : forgotten) add(job);
  for (const Job& job : state.jobs()) add(job);
  trace.restart_pause = by_restart.mean();
  trace.resize_pause = in_place.count > 0 ? in_place.mean() : by_restart.mean();
}

void take(Trace& trace, const Job& job, const State& state, const Speedup& speedup) {
  const Duration length = length_of(job, state.at(), speedup);
  if (length <= Duration::zero()) {
    ++trace.no_duration;
    return;
  }
  if (!is_over(job.state))
    ++trace.not_over;
  else if (job.state != JobState::completed)
    ++trace.cut_short;
  trace.jobs.push_back(job_of(job, state, length));
}

}  // namespace

Trace trace_of(const State& state, std::span<const Job> forgotten, const Speedup& speedup) {
  Trace trace;
  trace.format = kJournalFormat;
  trace.nodes = nodes_of(state);
  measure_pauses(trace, state, forgotten);
  std::size_t next = 0;
  for (const Job& job : state.jobs()) {
    for (; next < forgotten.size() && forgotten[next].id < job.id; ++next)
      take(trace, forgotten[next], state, speedup);
    take(trace, job, state, speedup);
  }
  for (; next < forgotten.size(); ++next) take(trace, forgotten[next], state, speedup);
  return trace;
}

}  // namespace paceline::sim
