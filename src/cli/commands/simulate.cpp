#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/commands/command.hpp"
#include "cli/commands/faults.hpp"
#include "cli/words/replay_page.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

constexpr int kBarWidth = 24;
constexpr Bounds kSeeds{1, 10'000};
constexpr Bounds kThreads{1, 1'024};

struct Simulate {
  std::optional<std::string> trace, format, cluster, policy, seeds, load, from, until, elastic,
      speedup, device_speeds, reference_device, learning, reach, costs, protect, profiles, batch,
      placement, know, warmup, cooldown, failures, on_failure, save_every, reclaim_after, threads,
      jobs_out, report, plot, what_if, record;
  bool skip_bad_lines = false, replay = false;
  FaultsTyped faults;
  OutputOptions output;
};

// What belongs to the simulation of a trace.
std::vector<TraceOption> trace_options(const Simulate& typed) {
  return {{"--trace", typed.trace.has_value()},
          {"--format", typed.format.has_value()},
          {"--skip-bad-lines", typed.skip_bad_lines},
          {"--cluster", typed.cluster.has_value()},
          {"--policy", typed.policy.has_value()},
          {"--seeds", typed.seeds.has_value()},
          {"--load", typed.load.has_value()},
          {"--from", typed.from.has_value()},
          {"--until", typed.until.has_value()},
          {"--warmup", typed.warmup.has_value()},
          {"--cooldown", typed.cooldown.has_value()},
          {"--elastic", typed.elastic.has_value()},
          {"--speedup", typed.speedup.has_value()},
          {"--device-speeds", typed.device_speeds.has_value()},
          {"--reference-device", typed.reference_device.has_value()},
          {"--learning", typed.learning.has_value()},
          {"--reach", typed.reach.has_value()},
          {"--costs", typed.costs.has_value()},
          {"--failures", typed.failures.has_value()},
          {"--save-every", typed.save_every.has_value()},
          {"--reclaim-after", typed.reclaim_after.has_value()},
          {"--on-failure", typed.on_failure.has_value()},
          {"--protect", typed.protect.has_value()},
          {"--placement", typed.placement.has_value()},
          {"--know", typed.know.has_value()},
          {"--profiles", typed.profiles.has_value()},
          {"--batch", typed.batch.has_value()},
          {"--jobs-out", typed.jobs_out.has_value()},
          {"--report", typed.report.has_value()},
          {"--plot", typed.plot.has_value()},
          {"--what-if", typed.what_if.has_value()},
          {"--replay", typed.replay},
          {"--record", typed.record.has_value()}};
}

tl::unexpected<Error> refused(std::string_view option, Error error) {
  error.message = fmt::format("{}: {}", option, error.message);
  return fail(std::move(error));
}

Result<void> take_duration(std::string_view option, const std::optional<std::string>& typed,
                           std::optional<Duration>& value) {
  if (!typed) return {};
  const auto read = parse_duration(*typed);
  if (!read) return refused(option, read.error());
  value = *read;
  return {};
}

Result<void> take_number(std::string_view option, const std::optional<std::string>& typed,
                         double least, double& value) {
  if (!typed) return {};
  const char* end = typed->data() + typed->size();
  const auto [at, error] = std::from_chars(typed->data(), end, value);
  const bool read = error == std::errc{} && at == end && std::isfinite(value);
  if (read && value >= least && value <= 1e6) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{}: '{}' is no number from {} to 1000000.", option, *typed, least), "");
}

Result<void> take_count(std::string_view option, const std::optional<std::string>& typed,
                        const Bounds& bounds, std::int64_t& value) {
  if (!typed) return {};
  const auto read = parse_whole(*typed, bounds);
  if (!read) return refused(option, read.error());
  value = *read;
  return {};
}

// "restart=30s,resize=1s", one of them, or "none".
Result<void> take_costs(const std::optional<std::string>& typed, SimulateOptions& options) {
  if (!typed) return {};
  if (*typed == "none") {
    options.restart = options.resize = Duration::zero();
    return {};
  }
  std::string_view text = *typed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    if ((name != "restart" && name != "resize") || equals == part.size()) break;
    const auto read = parse_span(part.substr(equals + 1));
    if (!read) return refused("--costs", read.error());
    (name == "restart" ? options.restart : options.resize) = *read;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (text.empty() && !typed->empty()) return {};
  return fail(ErrorCode::invalid, fmt::format("--costs: '{}' is no pair of pauses.", *typed),
              "Give restart=30s,resize=1s, or none.");
}

Result<void> take_protect(const std::optional<std::string>& typed, bool& protects) {
  if (!typed || *typed == "on" || *typed == "off") {
    protects = !typed || *typed == "on";
    return {};
  }
  return fail(ErrorCode::invalid, fmt::format("--protect: '{}' is neither on nor off.", *typed),
              "");
}

// A replay has the policies, nodes and times of its journal.
Result<void> check_replay(const Simulate& typed) {
  if (!typed.replay) return {};
  for (const TraceOption& option : trace_options(typed)) {
    const bool serves = option.name == "--trace" || option.name == "--replay";
    if (!option.given || serves) continue;
    return fail(ErrorCode::invalid,
                fmt::format("--replay holds the journal's own rounds again: {} changes nothing.",
                            option.name),
                "Leave out one of both.");
  }
  return {};
}

Result<SimulateOptions> read(const Simulate& typed) {
  if (typed.faults.story) {
    return fail(ErrorCode::invalid, "--story tells of a seed of --faults, and there is none.",
                "Name one: paceline simulate --faults 7 --story");
  }
  if (!typed.trace) {
    return fail(ErrorCode::invalid, "--trace names no file.",
                "Say what to simulate: paceline simulate --trace FILE --cluster 64x8");
  }
  if (auto ok = check_replay(typed); !ok) return fail(ok.error());
  SimulateOptions options;
  options.trace = *typed.trace;
  options.replay = typed.replay;
  options.record = typed.record;
  options.format = typed.format.value_or(options.format);
  options.cluster = typed.cluster;
  options.what_if = typed.what_if;
  options.policies = typed.policy.value_or(options.policies);
  options.elastic = typed.elastic;
  options.speedup = typed.speedup;
  options.device_speeds = typed.device_speeds;
  options.reference_device = typed.reference_device;
  options.learning = typed.learning;
  options.reach = typed.reach;
  options.profiles = typed.profiles;
  options.batch = typed.batch;
  options.placement = typed.placement;
  options.know = typed.know;
  options.on_failure = typed.on_failure;
  options.jobs_out = typed.jobs_out;
  options.report = typed.report;
  options.plot = typed.plot;
  options.skip_bad_lines = typed.skip_bad_lines;
  std::optional<Duration> save_every;
  for (const auto& [option, word, value] :
       {std::tuple{"--save-every", &typed.save_every, &save_every},
        std::tuple{"--from", &typed.from, &options.from},
        std::tuple{"--until", &typed.until, &options.until},
        std::tuple{"--warmup", &typed.warmup, &options.warmup},
        std::tuple{"--cooldown", &typed.cooldown, &options.cooldown}}) {
    if (auto ok = take_duration(option, *word, *value); !ok) return fail(ok.error());
  }
  options.save_every = save_every.value_or(options.save_every);
  if (typed.reclaim_after) {
    const auto after = parse_reclaim_after(*typed.reclaim_after);
    if (!after) return refused("--reclaim-after", after.error());
    options.reclaim_after = *after;
  }
  if (auto ok = take_number("--load", typed.load, 1e-6, options.load); !ok) return fail(ok.error());
  if (auto ok = take_number("--failures", typed.failures, 0, options.failures); !ok)
    return fail(ok.error());
  if (auto ok = take_count("--seeds", typed.seeds, kSeeds, options.seeds); !ok)
    return fail(ok.error());
  if (auto ok = take_count("--threads", typed.threads, kThreads, options.threads); !ok)
    return fail(ok.error());
  if (auto ok = take_costs(typed.costs, options); !ok) return fail(ok.error());
  if (auto ok = take_protect(typed.protect, options.protects); !ok) return fail(ok.error());
  return options;
}

std::string progress_line(double done) {
  const int full = static_cast<int>(done * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < full ? "█" : "░";
  return fmt::format("simulating {} {:3.0f} %", bar, done * 100);
}

std::string percent(const Document& run, std::string_view key) {
  return fmt::format("{:.0f} %", 100 * number_of(run, key).value_or(0));
}

std::string count(const Document& run, std::string_view key) {
  return std::to_string(whole_of(run, key));
}

std::string duration(const Document& run, std::string_view key) {
  return human_duration(number_of(run, key).value_or(0));
}

bool any_run(const Document& study, const char* key) {
  return std::ranges::any_of(list_of(study, "runs"),
                             [&](const Document& run) { return whole_of(run, key) != 0; });
}

struct RunColumn {
  const char* title;
  const char* key;
  std::string (*text)(const Document& run, std::string_view key);
  enum { always, in_wide, if_any } shown = always;  // if_any: of the runs has some
};

constexpr RunColumn kRunColumns[] = {
    {"SEED", "seed", count, RunColumn::if_any},
    {"JOBS", "jobs", count},
    {"JCT", "average_jct_seconds", duration},
    {"MEDIAN", "median_jct_seconds", duration, RunColumn::in_wide},
    {"P99", "p99_jct_seconds", duration},
    {"WAIT", "average_wait_seconds", duration},
    {"MAKESPAN", "makespan_seconds", duration, RunColumn::in_wide},
    {"USED", "utilization", percent},
    {"USEFUL", "useful_utilization", percent, RunColumn::in_wide},
    {"STOPS", "preemptions", count},
    {"RESIZES", "resizes", count, RunColumn::if_any},
    {"FAILED ROUNDS", "failed_rounds", count, RunColumn::if_any},
};

std::string runs_table(const Document& study, const Console& console, const Output& output) {
  std::vector<RunColumn> shown;
  std::vector<Column> columns{{"POLICY", Align::left, 12}};
  for (const RunColumn& column : kRunColumns) {
    if (column.shown == RunColumn::in_wide && output.format != Format::wide) continue;
    if (column.shown == RunColumn::if_any && !any_run(study, column.key)) continue;
    shown.push_back(column);
    columns.push_back({column.title, Align::right});
  }
  columns.push_back({"UNFAIR", Align::right});
  Table table(std::move(columns));
  for (const auto& run : list_of(study, "runs")) {
    std::vector<Cell> row{{text_of(run, "policy"), Style::bold}};
    for (const RunColumn& column : shown) row.push_back({column.text(run, column.key)});
    row.push_back({percent(member(run, "unfairness"), "above_one")});
    table.add(std::move(row));
  }
  return table.render(console.look(output.header));
}

std::string comparisons_table(const Document& study, const Console& console, bool header) {
  Table table({{"POLICY"}, {"AGAINST"}, {"MEASURE"}, {"RATIO", Align::right}, {"95 %"}});
  for (const auto& one : list_of(study, "comparisons")) {
    const auto low = number_of(one, "low"), high = number_of(one, "high");
    table.add({{text_of(one, "policy"), Style::bold},
               {text_of(one, "against")},
               {text_of(one, "measure")},
               {fmt::format("{:.3f}", number_of(one, "ratio").value_or(0))},
               {low && high ? fmt::format("{:.3f} to {:.3f}", *low, *high) : "one seed"}});
  }
  return table.empty() ? "" : "\n" + table.render(console.look(header));
}

// Nothing where all devices are of one model.
std::string devices_line(const Document& settings) {
  std::vector<std::string> devices;
  for (const auto& device : list_of(settings, "devices"))
    devices.push_back(device.is_string() ? device.get<std::string>() : "?");
  if (devices.size() < 2) return "";
  const auto speeds = text_of(settings, "device_speeds");
  if (!speeds.empty()) return fmt::format("Devices: {}.\n", speeds);
  return fmt::format("Devices: {} count as equally fast; --device-speeds says otherwise.\n",
                     fmt::join(devices, " and "));
}

// What was left out, and what the numbers rest on.
std::string study_grounds(const Document& study) {
  const Document& trace = member(study, "trace");
  const Document& settings = member(study, "settings");
  const Document& costs = member(settings, "costs");
  const auto& runs = list_of(study, "runs");
  std::string text = fmt::format(
      "{}: {}, format {}.\nLeft out: {} without slots, {} without duration, {} too large, {} bad "
      "lines.\n",
      text_of(trace, "file"), plural(static_cast<std::uint64_t>(whole_of(trace, "jobs")), "job"),
      text_of(trace, "format"), whole_of(trace, "no_slots"), whole_of(trace, "no_duration"),
      runs.empty() ? 0 : whole_of(runs.front(), "rejected"), whole_of(trace, "bad_lines"));
  if (whole_of(trace, "cut_short") + whole_of(trace, "not_over") > 0)
    text += fmt::format("As long as they ran: {} cut short, {} not over yet.\n",
                        whole_of(trace, "cut_short"), whole_of(trace, "not_over"));
  if (const auto what_if = text_of(member(study, "cluster"), "what_if"); !what_if.empty())
    text +=
        fmt::format("What if: {}, from {}.\n", what_if, text_of(member(study, "cluster"), "text"));
  text += fmt::format(
      "{} slots on {} nodes; policies know: {}; placement {}; protection {};\n"
      "a restart costs {}, a resize {}; load {}.\n",
      whole_of(member(study, "cluster"), "slots"), whole_of(member(study, "cluster"), "nodes"),
      text_of(settings, "know"), text_of(settings, "placement"),
      flag_of(settings, "protect") ? "on" : "off",
      human_duration(number_of(costs, "restart_seconds").value_or(0)),
      human_duration(number_of(costs, "resize_seconds").value_or(0)),
      number_of(settings, "load").value_or(1));
  const auto elastic = text_of(settings, "elastic");
  const bool profiled = !text_of(member(settings, "profiles"), "batch").empty();
  if (!elastic.empty() || profiled)
    text += fmt::format("Sizes: {}; speed-up {}.\n", elastic.empty() ? "as asked for" : elastic,
                        text_of(settings, "speedup"));
  text += devices_line(settings);
  if (const auto learning = text_of(settings, "learning"); !learning.empty())
    text += fmt::format("Learning: {}; targets met after {} of a training.\n", learning,
                        text_of(settings, "reach"));
  return text + "\n";
}

std::string page_of(const Document& study, const Console& console, const Output& output) {
  return (output.header ? study_grounds(study) : "") + runs_table(study, console, output) +
         comparisons_table(study, console, output.header);
}

void declare_options(Options& options, Simulate& typed) {
  options.value("--trace", "FILE", typed.trace,
                "jobs to simulate; .gz and .xz as they are; or a server's directory: its journal");
  options.value(
      "--format", "NAME", typed.format,
      "of the trace: auto (default), itp, philly, alibaba-v2023, pollux, tiresias, gavel or "
      "paceline");
  options.flag("--skip-bad-lines", typed.skip_bad_lines, "count lines that can't be read, go on");
  options.value("--cluster", "NODESxSLOTS", typed.cluster,
                "64x8, or 2x8:A100;4x4:T4 (a journal's own nodes)");
  options.value("--what-if", "NODES", typed.what_if, "other nodes: '+2x8', '-node-3'");
  options.value("--policy", "LIST", typed.policy,
                "policies to compare: 'fifo,fifo(backfill=greedy),las', or a file of your own "
                "(elastic-fifo)");
  options.value("--seeds", "N", typed.seeds,
                "runs of each policy: the trace as it is, then resampled by days (1)");
  options.value("--load", "X", typed.load, "divide the times between submissions by this (1)");
  options.value("--from", "SPAN", typed.from, "leave out what was submitted before: 7d");
  options.value("--until", "SPAN", typed.until, "leave out what was submitted after: 14d");
  options.value("--warmup", "SPAN", typed.warmup, "leave the first jobs out of averages");
  options.value("--cooldown", "SPAN", typed.cooldown, "leave the last jobs out of averages");
  options.value("--elastic", "RULE", typed.elastic,
                "sizes jobs may have: 'min=1,max=2x' (as asked for)");
  options.value("--speedup", "CURVE", typed.speedup,
                "of elastic jobs: linear, amdahl=0.05 (default), table=1:1,2:1.9 or profile "
                "(default with --profiles)");
  options.value(
      "--device-speeds", "SPEEDS", typed.device_speeds,
      "of unequal devices: A100=1,V100=0.45, a JSON file of Gavel's throughputs, or a folder "
      "of Sia's profiles");
  options.value("--reference-device", "MODEL", typed.reference_device,
                "of such a file: the device that the trace's durations are of (its fastest)");
  options.value("--learning", "CURVE", typed.learning,
                "what jobs learn: exp=3, power=0.5 or table=0:0.1,1:0.95; they stop at a target");
  options.value("--reach", "PARTS", typed.reach,
                "after which part of its training a job meets its target: 0.5..0.9 (1)");
  options.value("--costs", "PAUSES", typed.costs, "restart=30s,resize=1s (default), or none");
  options.value("--failures", "RATE", typed.failures, "per slot and hour of running (0)");
  options.value("--save-every", "SPAN", typed.save_every,
                "how often jobs that may be stopped, resized or fail save (30m)");
  options.value("--reclaim-after", "SPAN", typed.reclaim_after,
                "how long who never saved is asked before it is stopped for others (0s: not; a "
                "server: 10m)");
  options.value(
      "--on-failure", "WORD", typed.on_failure,
      "when a policy of your own can't decide a round: stop (default), or fallback to the "
      "policy before it, as live");
  options.value("--protect", "on|off", typed.protect,
                "bound what running jobs lose for others (on)");
  options.value("--placement", "NAME", typed.placement, "pack (default), spread or any");
  options.value("--know", "WHAT", typed.know,
                "what policies know of lengths: oracle (default), estimate or none");
  options.value(
      "--profiles", "DIR", typed.profiles,
      "measured step times and curves: how long and how fast jobs of pollux traces train");
  options.value("--batch", "fixed|scaled", typed.batch,
                "what becomes of a profiled job's batch at other sizes (fixed)");
  options.value("--threads", "N", typed.threads, "runs side by side (one per core)");
  options.flag("--replay", typed.replay,
               "hold the rounds of a server's journal again and compare the plans");
  options.value("--record", "FILE", typed.record, "write the jobs simulated, as a trace");
  options.value("--jobs-out", "FILE", typed.jobs_out, "write what became of each job, as CSV");
  options.value("--report", "FILE", typed.report, "write tables and figures as one HTML page");
  options.value("--plot", "FILE", typed.plot,
                "draw how JCT and wait are distributed: .png or .svg");
  declare_faults(options, typed.faults);
  options.output(typed.output, Watchable::no);
}

}  // namespace

Command simulate_command() {
  return {"simulate",
          "",
          "Cluster",
          "Run policies on a trace, with the scheduler that runs live",
          "paceline simulate --trace jobs.csv --cluster 64x8 --policy 'fifo,srtf,las'\n"
          "paceline simulate --trace jobs.csv.xz --cluster 64x8 --policy srtf --seeds 5 -o json\n"
          "paceline simulate --trace ~/.local/share/paceline --policy afs --what-if '+2x8'\n"
          "paceline simulate --trace ~/.local/share/paceline --replay",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Simulate>();
            declare_options(options, *typed);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              Console& console = context.console;
              const ProgressBar bar = [&](double done) {
                console.status(progress_line(done));
                return true;
              };
              if (typed->faults.seeds) {
                const auto ok =
                    take_count("--threads", typed->threads, kThreads, typed->faults.threads);
                if (!ok) return fail(ok.error());
                return show_faults(context, typed->faults, *output, trace_options(*typed), bar);
              }
              const auto wanted = read(*typed);
              if (!wanted) return fail(wanted.error());
              const auto study = context.hooks.simulate(*wanted, bar);
              console.status("");
              if (!study) return fail(study.error());
              const auto document = parse_document(*study);
              if (!document) return fail(document.error());
              if (output->format == Format::json)
                console.print(json_text(*document, console));
              else
                console.print(wanted->replay ? replay_page(*document)
                                             : page_of(*document, console, *output));
              return wanted->replay && differs(*document) ? 1 : 0;
            };
          }};
}

}  // namespace paceline
