#include "cli/job/sbatch_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "base/points.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

using Whole = std::optional<std::int64_t>;

constexpr Bounds kCount{1, 1'000'000};

tl::unexpected<Error> bad_value(const std::string& value, std::string_view what, std::string hint) {
  return fail(ErrorCode::invalid, fmt::format("'{}' is not {}.", value, what), std::move(hint));
}

template <Whole SbatchRequest::*field>
Result<void> take_count(const std::string& value, SbatchRequest& request) {
  const auto count = parse_whole(value, kCount);
  if (!count) return fail(count.error());
  request.*field = *count;
  return {};
}

template <std::optional<std::string> JobWords::*field>
Result<void> take_text(const std::string& value, SbatchRequest& request) {
  request.words.*field = value;
  return {};
}

// "2", "gpu:2" of --gres, "a100:2", "gpu:a100:2": a number with a model in front, 1 if there is
// none.
Result<std::int64_t> take_model(std::string_view text, SbatchRequest& request) {
  text = text.substr(0, text.find('('));
  const auto colon = text.rfind(':');
  const auto last = text.substr(colon == std::string_view::npos ? 0 : colon + 1);
  const auto count = parse_whole(last, kCount);
  std::string_view model = text;
  if (count) model = colon == std::string_view::npos ? "" : text.substr(0, colon);
  if (!model.empty()) request.words.devices = {std::string(model)};
  const bool number = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  if (!count && (number || last.empty())) return fail(count.error());
  return count.value_or(1);
}

template <Whole SbatchRequest::*field>
Result<void> take_gpus(const std::string& value, SbatchRequest& request) {
  const auto count = take_model(value, request);
  if (!count) return fail(count.error());
  request.*field = *count;
  return {};
}

Result<void> take_gres(const std::string& value, SbatchRequest& request) {
  if (value == "none") return {};
  if (value == "gpu") {
    request.gpus_per_node = 1;
    return {};
  }
  if (!value.starts_with("gpu:") || value.find(',') != std::string::npos)
    return bad_value(value, "a number of GPUs", "Write gpu:2, or gpu:a100:2 for a model.");
  return take_gpus<&SbatchRequest::gpus_per_node>(value.substr(4), request);
}

// "2" or "1-2": the fewest count.
Result<void> take_nodes(const std::string& value, SbatchRequest& request) {
  return take_count<&SbatchRequest::nodes>(value.substr(0, value.find('-')), request);
}

// Kibibytes and their like as Slurm counts them; mebibytes where no unit stands.
template <std::optional<std::uint64_t> SbatchRequest::*field>
Result<void> take_memory(const std::string& value, SbatchRequest& request) {
  if (value == "0") return {};
  const bool bare = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  auto unit = value;
  if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
  std::ranges::transform(unit, unit.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  const auto bytes = parse_bytes(bare ? value + "M" : unit);
  if (!bytes) return bad_value(value, "an amount of memory", "Write 16G, or 4000 for mebibytes.");
  request.*field = *bytes;
  return {};
}

// The numbers of "1:30:00" from the left.
std::optional<std::vector<std::int64_t>> between_colons(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (true) {
    const auto colon = std::min(text.find(':'), text.size());
    const auto number = number_of<std::int32_t>(text.substr(0, colon));
    if (!number || *number < 0) return {};
    numbers.push_back(*number);
    if (colon == text.size()) return numbers;
    text.remove_prefix(colon + 1);
  }
}

// "90" minutes, "90:00", "1:30:00", "1-12", "1-12:30", "1-12:30:00" as seconds.
std::optional<std::int64_t> slurm_seconds(std::string_view text) {
  const auto dash = text.find('-');
  const auto parts = between_colons(dash == std::string_view::npos ? text : text.substr(dash + 1));
  if (!parts || parts->size() > 3) return {};
  const auto part = [&](std::size_t i) { return i < parts->size() ? (*parts)[i] : 0; };
  if (dash != std::string_view::npos) {
    const auto days = number_of<std::int32_t>(text.substr(0, dash));
    if (!days || *days < 0) return {};
    return *days * std::int64_t{86'400} + part(0) * 3600 + part(1) * 60 + part(2);
  }
  if (parts->size() == 3) return part(0) * 3600 + part(1) * 60 + part(2);
  return part(0) * 60 + part(1);
}

Result<void> take_time(const std::string& value, SbatchRequest& request) {
  if (value == "UNLIMITED" || value == "INFINITE" || value == "0") return {};
  const auto seconds = slurm_seconds(value);
  if (!seconds || *seconds == 0)
    return bad_value(value, "a time", "Write 90 for minutes, 1:30:00, or 1-12:00:00.");
  auto text = fmt::format("{}s", *seconds);
  if (const auto duration = parse_duration(text); !duration) return fail(duration.error());
  request.words.max_duration = std::move(text);
  return {};
}

// "B:USR1@90": Slurm warns 60 seconds before the end where no time is given.
Result<void> take_signal(const std::string& value, SbatchRequest& request) {
  const auto begin = value.rfind(':') == std::string::npos ? 0 : value.rfind(':') + 1;
  const auto at = std::min(value.find('@'), value.size());
  if (begin > at) return bad_value(value, "a signal", "Write USR1@90.");
  const auto name = value.substr(begin, at - begin);
  const auto seconds = at == value.size() ? "60" : value.substr(at + 1);
  if (const auto signal = parse_signal(name); !signal) return fail(signal.error());
  if (const auto count = parse_whole(seconds, {1, 65535}); !count) return fail(count.error());
  request.words.signal = name;
  request.words.grace = seconds + "s";
  return {};
}

Result<void> take_dependency(const std::string& value, SbatchRequest& request) {
  constexpr std::string_view kCompleted = "afterok:";
  if (!value.starts_with(kCompleted) || value.find_first_of(",?") != std::string::npos) {
    return bad_value(value, "a dependency that there is here",
                     "Write afterok:ID: a job starts once others are COMPLETED, as by --after.");
  }
  for (std::size_t at = kCompleted.size(); at <= value.size();) {
    const auto colon = std::min(value.find(':', at), value.size());
    const auto id = parse_id(value.substr(at, colon - at));
    if (!id) return fail(id.error());
    request.words.after.push_back(std::to_string(*id));
    at = colon + 1;
  }
  return {};
}

Result<void> take_array(const std::string& value, SbatchRequest& request) {
  if (request.array) return {};
  return fail(ErrorCode::invalid, fmt::format("There are no arrays of jobs: '{}'.", value),
              "Submit each task, as in 'for i in 0 1 2; do paceline submit --env "
              "SLURM_ARRAY_TASK_ID=$i train.sh; done'.");
}

Result<void> take_component(const std::string&, SbatchRequest&) {
  return fail(ErrorCode::invalid, "A job has one component.",
              "Submit each as a job of its own; --after and --affinity tie them together.");
}

// "ALL", "ALL,SEED=1", "SEED=1".
Result<void> take_export(const std::string& value, SbatchRequest& request) {
  for (std::size_t at = 0; at <= value.size();) {
    const auto comma = std::min(value.find(',', at), value.size());
    const auto part = value.substr(at, comma - at);
    at = comma + 1;
    if (part.find('=') == std::string::npos) continue;
    auto variable = parse_variable(part);
    if (!variable) return fail(variable.error());
    request.words.env.insert(std::move(*variable));
  }
  if (value.starts_with("ALL")) return {};
  return bad_value(value, "an environment that there is here",
                   "Write ALL, or ALL,NAME=VALUE; --clean-env hands over little.");
}

Result<void> take_exclusive(const std::string&, SbatchRequest& request) {
  request.words.exclusive = "true";
  return {};
}

Result<void> take_hold(const std::string&, SbatchRequest& request) {
  request.words.hold = true;
  return {};
}

// Slurm's words. Those for what there isn't here say nothing.
Result<void> take_mail_type(const std::string& value, SbatchRequest& request) {
  struct Word {
    std::string_view slurm;
    std::array<std::string_view, 4> kinds;
  };
  constexpr std::array kMailWords = {
      Word{"BEGIN", {"started"}},
      Word{"END", {"ended"}},
      Word{"FAIL", {"failed"}},
      Word{"REQUEUE", {"requeued"}},
      Word{"TIME_LIMIT", {"failed"}},
      Word{"ALL", {"started", "ended", "failed", "requeued"}},
      Word{"NONE", {}},
      Word{"INVALID_DEPEND", {}},
      Word{"STAGE_OUT", {}},
      Word{"ARRAY_TASKS", {}},
      Word{"TIME_LIMIT_90", {}},
      Word{"TIME_LIMIT_80", {}},
      Word{"TIME_LIMIT_50", {}},
  };
  for (std::size_t at = 0; at <= value.size();) {
    const auto comma = std::min(value.find(',', at), value.size());
    std::string part = value.substr(at, comma - at);
    std::ranges::transform(part, part.begin(), [](char c) {
      return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    const auto* const word = std::ranges::find(kMailWords, part, &Word::slurm);
    if (word == kMailWords.end())
      return bad_value(part, "a kind of mail", "Write BEGIN, END, FAIL, REQUEUE, ALL or NONE.");
    for (const auto kind : word->kinds)
      if (!kind.empty()) request.mail_types.emplace_back(kind);
    at = comma + 1;
  }
  return {};
}

Result<void> take_mail_user(const std::string& value, SbatchRequest& request) {
  request.mail_user = value;
  return {};
}

Result<void> take_already(const std::string&, SbatchRequest&) { return {}; }

constexpr std::string_view kLogs = "what a job writes is in 'paceline logs', not in this file";
constexpr std::string_view kOnePool = "there are no partitions, accounts or qualities of service";
constexpr std::string_view kPlaces = "--affinity and --anti-affinity say where a job runs";
constexpr std::string_view kOrder = "--priority 0..100 says which job goes first";

constexpr std::array kOptions = {
    SbatchOption{"--job-name", 'J', true, take_text<&JobWords::name>, ""},
    SbatchOption{"--time", 't', true, take_time, ""},
    SbatchOption{"--time-min", 0, true, nullptr, "a job has one --max-duration"},
    SbatchOption{"--gres", 0, true, take_gres, ""},
    SbatchOption{"--gpus", 'G', true, take_gpus<&SbatchRequest::gpus>, ""},
    SbatchOption{"--gpus-per-node", 0, true, take_gpus<&SbatchRequest::gpus_per_node>, ""},
    SbatchOption{"--gpus-per-task", 0, true, take_gpus<&SbatchRequest::gpus_per_task>, ""},
    SbatchOption{"--nodes", 'N', true, take_nodes, ""},
    SbatchOption{"--ntasks", 'n', true, take_count<&SbatchRequest::tasks>, ""},
    SbatchOption{"--ntasks-per-node", 0, true, take_count<&SbatchRequest::tasks_per_node>, ""},
    SbatchOption{"--tasks-per-node", 0, true, take_count<&SbatchRequest::tasks_per_node>, ""},
    SbatchOption{"hetjob", 0, false, take_component, ""},
    SbatchOption{"packjob", 0, false, take_component, ""},
    SbatchOption{"--cpus-per-task", 'c', true, take_count<&SbatchRequest::cpus_per_task>, ""},
    SbatchOption{"--cpus-per-gpu", 0, true, take_count<&SbatchRequest::cpus_per_gpu>, ""},
    SbatchOption{"--mem", 0, true, take_memory<&SbatchRequest::memory>, ""},
    SbatchOption{"--mem-per-cpu", 0, true, take_memory<&SbatchRequest::memory_per_cpu>, ""},
    SbatchOption{"--mem-per-gpu", 0, true, take_memory<&SbatchRequest::memory_per_gpu>, ""},
    SbatchOption{"--array", 'a', true, take_array, ""},
    SbatchOption{"--dependency", 'd', true, take_dependency, ""},
    SbatchOption{"--signal", 0, true, take_signal, ""},
    SbatchOption{"--chdir", 'D', true, take_text<&JobWords::workdir>, ""},
    SbatchOption{"--export", 0, true, take_export, ""},
    SbatchOption{"--exclusive", 0, false, take_exclusive, ""},
    SbatchOption{"--hold", 'H', false, take_hold, ""},
    // A job that is stopped for others, or whose machine fails, starts again anyway.
    SbatchOption{"--requeue", 0, false, take_already, ""},
    SbatchOption{"--parsable", 0, false, take_already, ""},
    SbatchOption{"--verbose", 'v', false, take_already, ""},
    SbatchOption{"--quiet", 'Q', false, take_already, ""},
    SbatchOption{"--no-requeue", 0, false, nullptr,
                 "what is stopped for others starts again; --no-preempt keeps it from being "
                 "stopped"},
    SbatchOption{"--output", 'o', true, nullptr, kLogs},
    SbatchOption{"--error", 'e', true, nullptr, kLogs},
    SbatchOption{"--open-mode", 0, true, nullptr, kLogs},
    SbatchOption{"--input", 'i', true, nullptr, "a job reads nothing from standard input"},
    SbatchOption{"--partition", 'p', true, nullptr, kOnePool},
    SbatchOption{"--account", 'A', true, nullptr, kOnePool},
    SbatchOption{"--qos", 'q', true, nullptr, kOnePool},
    SbatchOption{"--reservation", 0, true, nullptr, "there are no reservations"},
    SbatchOption{"--licenses", 'L', true, nullptr, "licences are not counted"},
    SbatchOption{"--constraint", 'C', true, nullptr, kPlaces},
    SbatchOption{"--nodelist", 'w', true, nullptr, kPlaces},
    SbatchOption{"--exclude", 'x', true, nullptr, kPlaces},
    SbatchOption{"--mail-type", 0, true, take_mail_type, ""},
    SbatchOption{"--mail-user", 0, true, take_mail_user, ""},
    SbatchOption{"--nice", 0, false, nullptr, kOrder},  // its value stands behind "=" alone
    SbatchOption{"--priority", 0, true, nullptr, kOrder},
    SbatchOption{"--begin", 'b', true, nullptr, "it starts once slots are free; see --hold"},
    SbatchOption{"--deadline", 0, true, nullptr, "paceline's own --deadline orders jobs by it"},
    SbatchOption{"--comment", 0, true, nullptr, "nothing is kept of it"},
};

// One number that several lines may give. Errors: invalid (they differ).
Result<Whole> agreed(std::string_view what, std::initializer_list<Whole> numbers) {
  Whole all;
  for (const auto& number : numbers) {
    if (number && all && *number != *all) {
      return fail(ErrorCode::invalid,
                  fmt::format("The #SBATCH lines contradict each other: {} {} and {}.", *all, what,
                              *number),
                  "Leave one of them out, or give the number as an option of paceline's.");
    }
    if (number) all = number;
  }
  return all;
}

Whole times(Whole number, std::int64_t count) {
  return number ? Whole(*number * count) : std::nullopt;
}

Result<std::int64_t> tasks_of(const SbatchRequest& request) {
  auto nodes = request.nodes.value_or(1);
  if (request.tasks && request.tasks_per_node && !request.nodes)
    nodes = (*request.tasks + *request.tasks_per_node - 1) / *request.tasks_per_node;
  if (nodes > 1) {
    return fail(ErrorCode::invalid,
                fmt::format("The script wants {} nodes, and it is one worker on one node.", nodes),
                "Submit the training itself, as in 'paceline submit --slots 16 -- python3 "
                "train.py': Paceline starts its workers on all nodes.");
  }
  const auto tasks = agreed("tasks", {request.tasks, request.tasks_per_node});
  if (!tasks) return fail(tasks.error());
  return tasks->value_or(1);
}

// At most what 64 bits hold, which is refused as too much.
std::uint64_t bytes_of(std::uint64_t each, Whole count) {
  std::uint64_t all = 0;
  const bool over =
      __builtin_mul_overflow(each, static_cast<std::uint64_t>(count.value_or(1)), &all);
  return over ? std::numeric_limits<std::uint64_t>::max() : all;
}

}  // namespace

const SbatchOption* find_sbatch_option(std::string_view name) {
  const auto found = std::ranges::find_if(kOptions, [&](const SbatchOption& option) {
    const bool letter = name.size() == 2 && name[0] == '-' && name[1] == option.letter;
    return name == option.name || (letter && option.letter != 0);
  });
  return found == kOptions.end() ? nullptr : &*found;
}

std::optional<std::string> add_mail(const SbatchRequest& request, JobWords& words) {
  if (request.mail_types.empty()) return std::nullopt;
  const auto address = parse_address(request.mail_user.value_or(""));
  if (!address || !is_mail(*address))
    return "--mail-type is left out: --mail-user names no mail address, like me@lab.example";
  words.notify_to = {*address};
  words.notify = request.mail_types;
  words.mail_if_possible = true;
  return std::nullopt;
}

Result<JobWords> words_of(const SbatchRequest& request) {
  auto words = request.words;
  const auto tasks = tasks_of(request);
  if (!tasks) return fail(tasks.error());
  const auto gpus =
      agreed("GPUs", {request.gpus, request.gpus_per_node, times(request.gpus_per_task, *tasks)});
  if (!gpus) return fail(gpus.error());
  const auto cpus = agreed("cores", {times(request.cpus_per_task, *tasks),
                                     times(request.cpus_per_gpu, gpus->value_or(1))});
  if (!cpus) return fail(cpus.error());
  if (*gpus) words.slots = std::to_string(**gpus);
  if (*cpus) words.cpus = std::to_string(**cpus);
  auto memory = request.memory;
  if (request.memory_per_cpu)
    memory = bytes_of(*request.memory_per_cpu, *cpus ? *cpus : Whole(*tasks));
  if (request.memory_per_gpu) memory = bytes_of(*request.memory_per_gpu, *gpus);
  if (memory) words.memory = fmt::format("{}B", *memory);
  return words;
}

}  // namespace paceline
