#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

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

// What an option serves: a study of a trace, a replay of a journal as well, or whatever is simulated.
enum class Of { study, journal, any };

// An option, once: how it is written, what it is for, and what it sets. Errors of `set` say nothing
// of the option's name.
struct SimulateOption {
  const char* name;
  const char* value;  // empty for flags
  const char* help;   // with the default
  Of of;
  Result<void> (*set)(const std::string& text, SimulateOptions& options);
};

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
  return fail(ErrorCode::invalid, fmt::format("'{}' is no pair of pauses.", typed),
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
    {"--costs", "PAUSES", "restart=30s,resize=1s (default), or none", Of::study, take_costs},
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
    {"--replay", "", "hold the rounds of a server's journal again and compare the plans",
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

struct Simulate {
  std::array<std::optional<std::string>, std::size(kOptions)> texts;  // of kOptions; flags: empty
  std::array<bool, std::size(kOptions)> flags{};
  FaultsTyped faults;
  OutputOptions output;

  [[nodiscard]] bool has(std::size_t option) const { return texts[option] || flags[option]; }
};

// Those of these that were given.
std::vector<std::string_view> given(const Simulate& typed, std::initializer_list<Of> of) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::size(kOptions); ++i)
    if (typed.has(i) && std::ranges::find(of, kOptions[i].of) != of.end())
      names.emplace_back(kOptions[i].name);
  return names;
}

// What the options that serve `of` say; nothing of the others is read.
Result<SimulateOptions> read_options(const Simulate& typed, std::initializer_list<Of> of) {
  SimulateOptions options;
  for (std::size_t i = 0; i < std::size(kOptions); ++i) {
    if (!typed.has(i) || std::ranges::find(of, kOptions[i].of) == of.end()) continue;
    if (auto set = kOptions[i].set(typed.texts[i].value_or(""), options); !set) {
      set.error().message = fmt::format("{}: {}", kOptions[i].name, set.error().message);
      return fail(std::move(set.error()));
    }
  }
  return options;
}

Result<SimulateOptions> read(const Simulate& typed) {
  if (typed.faults.story) {
    return fail(ErrorCode::invalid, "--story tells of a seed of --faults, and there is none.",
                "Name one: paceline simulate --faults 7 --story");
  }
  auto options = read_options(typed, {Of::study, Of::journal, Of::any});
  if (!options) return options;
  if (options->trace.empty()) {
    return fail(ErrorCode::invalid, "--trace names no file.",
                "Say what to simulate: paceline simulate --trace FILE --cluster 64x8");
  }
  // A replay has the policies, nodes and times of its journal.
  const auto others = given(typed, {Of::study});
  if (!options->replay || others.empty()) return options;
  return fail(ErrorCode::invalid,
              fmt::format("--replay holds the journal's own rounds again: {} changes nothing.",
                          others.front()),
              "Leave out one of both.");
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
  for (std::size_t i = 0; i < std::size(kOptions); ++i) {
    const SimulateOption& option = kOptions[i];
    if (*option.value == '\0')
      options.flag(option.name, typed.flags[i], option.help);
    else
      options.value(option.name, option.value, typed.texts[i], option.help);
  }
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
                const auto common = read_options(*typed, {Of::any});
                if (!common) return fail(common.error());
                typed->faults.threads = common->threads;
                return show_faults(context, typed->faults, *output,
                                   given(*typed, {Of::study, Of::journal}), bar);
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
