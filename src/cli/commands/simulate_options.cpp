#include "cli/commands/simulate_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/words/units.hpp"

namespace paceline {
namespace {

constexpr Bounds kSeeds{1, 10'000};
constexpr Bounds kThreads{1, 1'024};

template <auto field>
Result<void> word(const std::string& text, SimulateOptions& options) {
  options.*field = text;
  return {};
}

template <auto field>
Result<void> flag(const std::string&, SimulateOptions& options) {
  options.*field = true;
  return {};
}

template <auto field>
Result<void> span(const std::string& text, SimulateOptions& options) {
  const auto read = parse_duration(text);
  if (!read) return fail(read.error());
  options.*field = *read;
  return {};
}

Result<void> take_number(const std::string& text, double least, double& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool read = error == std::errc{} && at == end && std::isfinite(value);
  if (read && value >= least && value <= 1e6) return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' is no number from {} to 1000000.", text, least),
              "");
}

Result<void> take_load(const std::string& text, SimulateOptions& options) {
  return take_number(text, 1e-6, options.load);
}

Result<void> take_failures(const std::string& text, SimulateOptions& options) {
  return take_number(text, 0, options.failures);
}

Result<void> take_count(const std::string& text, const Bounds& bounds, std::int64_t& value) {
  const auto read = parse_whole(text, bounds);
  if (!read) return fail(read.error());
  value = *read;
  return {};
}

Result<void> take_seeds(const std::string& text, SimulateOptions& options) {
  return take_count(text, kSeeds, options.seeds);
}

Result<void> take_threads(const std::string& text, SimulateOptions& options) {
  return take_count(text, kThreads, options.threads);
}

Result<void> take_reclaim_after(const std::string& text, SimulateOptions& options) {
  const auto after = parse_reclaim_after(text);
  if (!after) return fail(after.error());
  options.reclaim_after = *after;
  return {};
}

// "restart=30s,resize=1s", one of them, or "none".
Result<void> take_costs(const std::string& typed, SimulateOptions& options) {
  if (typed == "none") {
    options.restart = options.resize = Duration::zero();
    return {};
  }
  std::string_view text = typed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    if ((name != "restart" && name != "resize") || equals == part.size()) break;
    const auto read = parse_span(part.substr(equals + 1));
    if (!read) return fail(read.error());
    (name == "restart" ? options.restart : options.resize) = *read;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (text.empty() && !typed.empty()) return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' is no pair of costs.", typed),
              "Give restart=30s,resize=1s, or none.");
}

Result<void> take_protect(const std::string& text, SimulateOptions& options) {
  options.protects = text == "on";
  if (options.protects || text == "off") return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' is neither on nor off.", text), "");
}

constexpr SimulateOption kOptions[] = {
    {"--trace", "FILE",
     "jobs to simulate; .gz and .xz as they are; or a server's directory: its journal", Of::journal,
     word<&SimulateOptions::trace>},
    {"--format", "NAME",
     "of the trace: auto (default), itp, philly, alibaba-v2023, pollux, tiresias, gavel or "
     "paceline",
     Of::study, word<&SimulateOptions::format>},
    {"--columns", "NAME=COLUMN,…",
     "of a CSV file of your own: submitted_at=when,duration=seconds,slots=gpus,user=who", Of::study,
     word<&SimulateOptions::columns>},
    {"--skip-bad-lines", "", "count lines that can't be read, go on", Of::study,
     flag<&SimulateOptions::skip_bad_lines>},
    {"--cluster", "NODESxSLOTS", "64x8, or 2x8:A100;4x4:T4 (a journal's own nodes)", Of::study,
     word<&SimulateOptions::cluster>},
    {"--what-if", "NODES", "other nodes: '+2x8', '-node-3'", Of::study,
     word<&SimulateOptions::what_if>},
    {"--policy", "LIST",
     "policies to compare: 'fifo,fifo(backfill=greedy),las', or a file of your own "
     "(elastic-fifo)",
     Of::study, word<&SimulateOptions::policies>},
    {"--seeds", "N", "runs of each policy: the trace as it is, then resampled by days (1)",
     Of::study, take_seeds},
    {"--load", "X", "divide the times between submissions by this (1)", Of::study, take_load},
    {"--from", "SPAN", "leave out what was submitted before: 7d", Of::study,
     span<&SimulateOptions::from>},
    {"--until", "SPAN", "leave out what was submitted after: 14d", Of::study,
     span<&SimulateOptions::until>},
    {"--warmup", "SPAN", "leave the first jobs out of averages", Of::study,
     span<&SimulateOptions::warmup>},
    {"--cooldown", "SPAN", "leave the last jobs out of averages", Of::study,
     span<&SimulateOptions::cooldown>},
    {"--elastic", "RULE", "sizes jobs may have: 'min=1,max=2x' (as asked for)", Of::study,
     word<&SimulateOptions::elastic>},
    {"--speedup", "CURVE",
     "of elastic jobs: linear, amdahl=0.05 (default), table=1:1,2:1.9 or profile "
     "(default with --profiles)",
     Of::study, word<&SimulateOptions::speedup>},
    {"--device-speeds", "SPEEDS",
     "of unequal devices: A100=1,V100=0.45, a JSON file of Gavel's throughputs, or a folder "
     "of Sia's profiles",
     Of::study, word<&SimulateOptions::device_speeds>},
    {"--reference-device", "MODEL",
     "of such a file: the device that the trace's durations are of (its fastest)", Of::study,
     word<&SimulateOptions::reference_device>},
    {"--learning", "CURVE",
     "what jobs learn: exp=3, power=0.5 or table=0:0.1,1:0.95; they stop at a target", Of::study,
     word<&SimulateOptions::learning>},
    {"--reach", "PARTS", "after which part of its training a job meets its target: 0.5..0.9 (1)",
     Of::study, word<&SimulateOptions::reach>},
    {"--costs", "SPANS", "restart=30s,resize=1s, or none (a journal's own, else these)", Of::study,
     take_costs},
    {"--failures", "RATE", "per slot and hour of running (0)", Of::study, take_failures},
    {"--save-every", "SPAN", "how often jobs that may be stopped, resized or fail save (30m)",
     Of::study, span<&SimulateOptions::save_every>},
    {"--reclaim-after", "SPAN",
     "how long a job that never saved is asked before it is stopped for others (0s: not; a "
     "server: 10m)",
     Of::study, take_reclaim_after},
    {"--on-failure", "WORD",
     "when a policy of your own can't decide a round: stop (default), or fallback to the "
     "policy before it, as live",
     Of::study, word<&SimulateOptions::on_failure>},
    {"--protect", "on|off", "bound what running jobs lose for others (on)", Of::study,
     take_protect},
    {"--placement", "NAME", "pack (default), spread or any", Of::study,
     word<&SimulateOptions::placement>},
    {"--know", "WHAT", "what policies know of lengths: oracle (default), estimate or none",
     Of::study, word<&SimulateOptions::know>},
    {"--profiles", "DIR",
     "measured step times and curves: how long and how fast jobs of pollux traces train", Of::study,
     word<&SimulateOptions::profiles>},
    {"--batch", "fixed|scaled", "what becomes of a profiled job's batch at other sizes (fixed)",
     Of::study, word<&SimulateOptions::batch>},
    {"--threads", "N", "runs side by side (one per core)", Of::any, take_threads},
    {"--replay", "", "decide the rounds of a server's journal again and compare the plans",
     Of::journal, flag<&SimulateOptions::replay>},
    {"--record", "FILE", "write the jobs simulated, as a trace", Of::study,
     word<&SimulateOptions::record>},
    {"--jobs-out", "FILE", "write what became of each job, as CSV", Of::study,
     word<&SimulateOptions::jobs_out>},
    {"--report", "FILE", "write tables and figures as one HTML page", Of::study,
     word<&SimulateOptions::report>},
    {"--plot", "FILE", "draw how JCT and wait are distributed: .png or .svg", Of::study,
     word<&SimulateOptions::plot>},
};

}  // namespace

std::span<const SimulateOption> simulate_options() { return kOptions; }

}  // namespace paceline
