#include "cli/job_words.hpp"

#include <fmt/format.h>

#include <array>

#include "base/check.hpp"
#include "cli/units.hpp"

namespace paceline {
namespace {

constexpr Bounds kSlotsPerWorker{1, kSlotsPerWorkerMax};
constexpr Bounds kPriority{0, 100};
constexpr Bounds kRetries{0, kRetriesMax};

using Judge = Result<void> (*)(const std::string&);

template <class T>
Result<void> verdict(const Result<T>& result) {
  if (!result) return fail(result.error());
  return {};
}

Result<void> anything(const std::string&) { return {}; }

Result<void> short_text(const std::string& text) {
  if (!text.empty() && text.size() <= kNameLengthMax) return {};
  return fail(ErrorCode::invalid, "The name is empty or too long.",
              fmt::format("A name has 1 to {} bytes.", kNameLengthMax));
}

template <Bounds bounds>
Result<void> whole_within(const std::string& text) {
  return verdict(parse_whole(text, bounds));
}

template <auto parse>
Result<void> parses(const std::string& text) {
  return verdict(parse(text));
}

Result<void> target(const std::string& text) { return verdict(parse_target(text)); }

// The past is judged when the job is made.
Result<void> deadline(const std::string& text) {
  return verdict(parse_deadline(text, Time::min()));
}

constexpr std::array kWords = {
    JobWord{"name", "", "--name", "NAME", "name of the job (the script's)", &JobWords::name,
            short_text},
    JobWord{"workdir", "", "--workdir", "DIR", "directory to run in (this one)", &JobWords::workdir,
            anything},
    JobWord{"setup", "", "", "", "", &JobWords::setup, anything},
    JobWord{"slots", "resources", "--slots", "N|MIN..MAX[@WANT]", "slots to run on (1)",
            &JobWords::slots, parses<parse_range>},
    JobWord{"slots_per_worker", "resources", "--slots-per-worker", "K",
            "slots that each worker sees (1)", &JobWords::slots_per_worker,
            whole_within<kSlotsPerWorker>},
    JobWord{"cpus", "resources", "--cpus", "N", "CPU cores each worker may use", &JobWords::cpus,
            parses<parse_cores>},
    JobWord{"memory", "resources", "--memory", "SIZE", "memory each worker may use: 512M, 8G",
            &JobWords::memory, parses<parse_bytes>},
    JobWord{"priority", "", "--priority", "0..100", "larger goes first (50)", &JobWords::priority,
            whole_within<kPriority>},
    JobWord{"max_duration", "", "--max-duration", "TIME", "stop it after running this long: 2h",
            &JobWords::max_duration, parses<parse_duration>},
    JobWord{"expect", "", "--expect", "LENGTH", "how long it will be: 2h or '60000 samples'",
            &JobWords::expect, parses<parse_expect>},
    JobWord{"deadline", "", "--deadline", "TIME",
            "when it should be done: 2025-11-20T18:00:00Z, +2h", &JobWords::deadline, deadline},
    JobWord{"retry", "", "--retry", "N", "starts again after a failure, at most (0)",
            &JobWords::retry, whole_within<kRetries>},
    JobWord{"signal", "", "--signal", "NAME", "signal that announces a stop (SIGTERM)",
            &JobWords::signal, parses<parse_signal>},
    JobWord{"grace", "", "--grace", "TIME", "time to checkpoint after it (120s)", &JobWords::grace,
            parses<parse_duration>},
    JobWord{"checkpoint", "", "--checkpoint", "GLOB", "files whose appearance is a checkpoint",
            &JobWords::checkpoint, anything},
    JobWord{"elastic", "", "--elastic", "auto|restart|no", "how its size may change (auto)",
            &JobWords::elastic, parses<parse_elastic>},
    JobWord{"metric", "target", "--target", "METRIC>=VALUE", "good enough: 'accuracy>=0.95'",
            &JobWords::target, target},
    JobWord{"final", "target", "", "", "", &JobWords::target_final, target},
};

// REQUIRES: the word passed its judge.
template <class T>
T sound(const Result<T>& result) {
  check(result.has_value(), "words are judged before they are used");
  return *result;
}

// `slots` counts slots, a spec counts workers.
Result<WorkerRange> workers_of(const JobWords& words) {
  const auto each = static_cast<std::int32_t>(
      sound(parse_whole(words.slots_per_worker.value_or("1"), kSlotsPerWorker)));
  if (!words.slots) return WorkerRange{};
  const auto slots = sound(parse_range(*words.slots));
  if (slots.min % each != 0 || slots.max % each != 0 || slots.want % each != 0) {
    return fail(
        ErrorCode::invalid,
        fmt::format("{} slots can't be divided into workers of {} slots each.", *words.slots, each),
        fmt::format("Give multiples of {}.", each));
  }
  return WorkerRange{slots.min / each, slots.max / each, slots.want / each};
}

void read_resources(const JobWords& words, JobSpec& spec) {
  if (words.slots_per_worker) {
    spec.slots_per_worker =
        static_cast<std::int32_t>(sound(parse_whole(*words.slots_per_worker, kSlotsPerWorker)));
  }
  if (words.cpus) spec.cpus = sound(parse_cores(*words.cpus));
  if (words.memory) spec.memory_bytes = sound(parse_bytes(*words.memory));
  if (words.priority) {
    spec.priority = static_cast<std::int32_t>(sound(parse_whole(*words.priority, kPriority)));
  }
}

void read_course(const JobWords& words, JobSpec& spec) {
  if (words.max_duration) spec.max_duration = sound(parse_duration(*words.max_duration));
  if (words.expect) {
    const auto expectation = sound(parse_expect(*words.expect));
    spec.expected_duration = expectation.duration;
    spec.expected_samples = expectation.samples;
  }
  if (words.retry) {
    spec.retries = static_cast<std::int32_t>(sound(parse_whole(*words.retry, kRetries)));
  }
  if (words.signal) spec.notice.signal = sound(parse_signal(*words.signal));
  if (words.grace) spec.notice.grace = sound(parse_duration(*words.grace));
  if (words.elastic) spec.elastic = sound(parse_elastic(*words.elastic));
  spec.checkpoint_glob = words.checkpoint.value_or("");
  spec.hold = words.hold;
  for (const auto& id : words.after) spec.after.emplace_back(sound(parse_id(id)));
}

Result<void> read_target(const JobWords& words, JobSpec& spec) {
  const auto& first = words.target ? words.target : words.target_final;
  if (!first) return {};
  auto target = words.target && words.target_final
                    ? parse_target(*words.target, *words.target_final)
                    : parse_target(*first);
  if (!target) return fail(std::move(target.error()));
  spec.target = std::move(*target);
  return {};
}

}  // namespace

std::span<const JobWord> job_words() { return kWords; }

JobWords overlaid(JobWords under, const JobWords& over) {
  if (over.target || over.target_final) {
    under.target.reset();
    under.target_final.reset();
  }
  for (const auto& word : kWords) {
    if (over.*word.field) under.*word.field = over.*word.field;
  }
  for (const auto& [name, value] : over.env) under.env[name] = value;
  if (!over.after.empty()) under.after = over.after;
  if (!over.command.empty()) {
    under.command = over.command;
    under.shell = over.shell;
  }
  under.hold = under.hold || over.hold;
  return under;
}

Result<JobSpec> to_spec(const JobWords& words, Time now) {
  JobSpec spec;
  spec.name = words.name.value_or("");
  read_resources(words, spec);
  read_course(words, spec);
  const auto workers = workers_of(words);
  if (!workers) return fail(workers.error());
  spec.workers = *workers;
  if (auto read = read_target(words, spec); !read) return fail(std::move(read.error()));
  if (words.deadline) {
    const auto at = parse_deadline(*words.deadline, now);
    if (!at) return fail(at.error());
    spec.deadline = *at;
  }
  return spec;
}

Result<std::pair<std::string, std::string>> parse_variable(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is not a variable.", text),
                "Write NAME=VALUE.");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<void> add_ids(const std::string& text, std::vector<std::string>& ids) {
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    const auto id = parse_id(std::string_view(text).substr(at, comma - at));
    if (!id) return fail(id.error());
    ids.push_back(std::to_string(*id));
    at = comma + 1;
  }
  return {};
}

}  // namespace paceline
