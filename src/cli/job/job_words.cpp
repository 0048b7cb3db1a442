#include "cli/job/job_words.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.hpp"
#include "base/nearest.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

constexpr Bounds kSlotsPerWorker{1, kSlotsPerWorkerMax};
constexpr Bounds kMesh{1, kMeshMax};
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

Result<void> true_or_false(const std::string& text) {
  if (text == "true" || text == "false") return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' is neither true nor false.", text));
}

Result<void> target(const std::string& text) { return verdict(parse_target(text)); }

Result<void> gpus(const std::string& text) {
  if (text != "all") return verdict(parse_range(text));
  return fail(ErrorCode::invalid, "'all' is no number of GPUs.",
              "Write a number, or a range as in 1..8: the job gets as many of them as are free.");
}

// The past is judged when the job is made.
Result<void> deadline(const std::string& text) {
  return verdict(parse_deadline(text, WallTime::min()));
}

constexpr std::array kWords = {
    JobWord{"name", "", "--name", "NAME", "name of the job (the script's)", &JobWords::name,
            short_text},
    JobWord{"workdir", "", "--workdir", "DIR", "directory to run in (this one)", &JobWords::workdir,
            anything},
    JobWord{"setup", "", "", "", "", &JobWords::setup, anything},
    JobWord{"slots", "resources", "--slots", "N|MIN..MAX[@WANT]", "slots to run on (1)",
            &JobWords::slots, parses<parse_range>},
    JobWord{"gpus", "resources", "--gpus", "N|MIN..MAX[@WANT]", "the same as --slots",
            &JobWords::gpus, gpus},
    JobWord{"slots_per_worker", "resources", "--slots-per-worker", "K",
            "slots that each worker sees (1)", &JobWords::slots_per_worker,
            whole_within<kSlotsPerWorker>},
    JobWord{"cpus", "resources", "--cpus", "N", "CPU cores each worker may use", &JobWords::cpus,
            parses<parse_cores>},
    JobWord{"memory", "resources", "--memory", "SIZE", "memory each worker may use: 512M, 8G",
            &JobWords::memory, parses<parse_bytes>},
    JobWord{"log_limit", "", "--log-limit", "SIZE", "its logs take at most this: 256M",
            &JobWords::log_limit, parses<parse_bytes>},
    JobWord{"priority", "", "--priority", "0..100", "larger goes first (50)", &JobWords::priority,
            whole_within<kPriority>},
    JobWord{"tensor", "mesh", "", "", "", &JobWords::tensor, whole_within<kMesh>},
    JobWord{"pipeline", "mesh", "", "", "", &JobWords::pipeline, whole_within<kMesh>},
    JobWord{"exclusive", "", "", "", "", &JobWords::exclusive, true_or_false},
    JobWord{"preemptible", "", "", "", "", &JobWords::preemptible, true_or_false},
    JobWord{"shared_shm", "", "", "", "", &JobWords::shared_shm, true_or_false},
    JobWord{"as_is", "", "", "", "", &JobWords::as_is, true_or_false},
    JobWord{"ship", "", "", "", "", &JobWords::ship, true_or_false},
    JobWord{"min_run", "", "--min-run", "TIME", "not resized or stopped for others earlier: 10m",
            &JobWords::min_run, parses<parse_span>},
    JobWord{"stop_loss", "", "--stop-loss", "PART",
            "of its time at most lost to stops for others: 1%", &JobWords::stop_loss,
            parses<parse_loss_limit>},
    JobWord{"resize_loss", "", "--resize-loss", "PART", "of its time at most lost to resizes: 2%",
            &JobWords::resize_loss, parses<parse_loss_limit>},
    JobWord{"max_duration", "", "--max-duration", "TIME", "stop it after running this long: 2h",
            &JobWords::max_duration, parses<parse_duration>},
    JobWord{"expect", "", "--expect", "LENGTH", "how long it will be: 2h or '60000 samples'",
            &JobWords::expect, parses<parse_expect>},
    JobWord{"expect_speeds", "", "--expect-speeds", "TABLE",
            "how fast with so many workers: 1:1,2:1.9,4:3.5", &JobWords::expect_speeds,
            parses<parse_speeds>},
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
    JobWord{"checkpoint_store", "", "--checkpoint-store", "server|none",
            "who keeps those that lie on one node alone (server)", &JobWords::checkpoint_store,
            parses<parse_checkpoint_store>},
    JobWord{"elastic", "", "--elastic", "auto|restart|no", "how its size may change (auto)",
            &JobWords::elastic, parses<parse_elastic>},
    JobWord{"on_disconnect", "", "--on-disconnect", "stop|continue",
            "when its machine hears of no server for long (stop)", &JobWords::on_disconnect,
            parses<parse_on_disconnect>},
    JobWord{"metric", "target", "--target", "METRIC>=VALUE", "good enough: 'accuracy>=0.95'",
            &JobWords::target, target},
    JobWord{"final", "target", "", "", "", &JobWords::target_final, target},
    JobWord{"stalled_after", "notify", "--stalled-after", "TIME",
            "without a report for so long it has stalled (30m)", &JobWords::stalled_after,
            parses<parse_duration>},
};

// Hands on the parts of a text between its commas until one is refused.
template <class Add>
Result<void> each_part(const std::string& text, Add add) {
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    if (auto added = add(text.substr(at, comma - at)); !added) return added;
    at = comma + 1;
  }
  return {};
}

Result<void> add_ids(const std::string& text, std::vector<std::string>& ids) {
  return each_part(text, [&](const std::string& part) -> Result<void> {
    const auto id = parse_id(part);
    if (!id) return fail(id.error());
    ids.push_back(std::to_string(*id));
    return {};
  });
}

Result<void> add_devices(const std::string& text, std::vector<std::string>& models) {
  return each_part(text, [&](const std::string& part) -> Result<void> {
    if (part.empty() || part.size() > kNameLengthMax) {
      return fail(ErrorCode::invalid, "A device model is empty or too long.",
                  "Write h100, or h100,a100 for either.");
    }
    models.push_back(part);
    return {};
  });
}

Result<void> add_affinity(const std::string& text, std::vector<std::string>& terms) {
  const auto affinity = parse_affinity(text, false);
  if (!affinity) return fail(affinity.error());
  terms.push_back(text);
  return {};
}

Result<void> add_addresses(const std::string& text, std::vector<std::string>& addresses) {
  auto address = parse_address(text);
  if (!address) return fail(std::move(address.error()));
  addresses.push_back(std::move(*address));
  return {};
}

Result<void> add_kinds(const std::string& text, std::vector<std::string>& kinds) {
  return each_part(text, [&](const std::string& part) -> Result<void> {
    if (part != "all") {
      if (const auto kind = parse_message_kind(part); !kind) return fail(kind.error());
      kinds.push_back(part);
      return {};
    }
    for (const auto kind : kMessageKinds) kinds.emplace_back(to_string(kind));
    return {};
  });
}

constexpr std::array kLists = {
    JobList{"to", "notify", "--notify-to", "ADDRESS",
            "who is told of it: me@lab.example, https://…; may be repeated", &JobWords::notify_to,
            add_addresses},
    JobList{"on", "notify", "--notify", "KIND[,KIND]",
            "what of: started, delivered, final, ended, failed, requeued, stalled, all",
            &JobWords::notify, add_kinds},
    JobList{"after", "", "--after", "ID[,ID]", "start once these jobs are COMPLETED",
            &JobWords::after, add_ids},
    JobList{"devices", "", "--devices", "MODEL[,MODEL]", "run on any of these models: h100,a100",
            &JobWords::devices, add_devices},
    JobList{"affinity", "", "--affinity", "TERM",
            "run where: label:disk=nvme, job:prep:rack, self~10m", &JobWords::affinity,
            add_affinity},
    JobList{"anti_affinity", "", "--anti-affinity", "TERM", "run away from there",
            &JobWords::anti_affinity, add_affinity},
};

// REQUIRES: the word passed its judge.
template <class T>
T sound(const Result<T>& result) {
  check(result.has_value(), "words are judged before they are used");
  return *result;
}

Error nothing_of_a_mesh(const std::string& key) {
  constexpr std::array<std::string_view, 2> kKnown = {"tensor", "pipeline"};
  const auto near = nearest(key, kKnown);
  return {ErrorCode::invalid,
          fmt::format("'{}' is nothing of a mesh{}", key,
                      near ? fmt::format("; did you mean '{}'?", *near) : "."),
          "Write tensor=2,pipeline=2.", Retry::useless};
}

std::int32_t small(const std::optional<std::string>& word, Bounds bounds, std::int32_t otherwise) {
  return word ? static_cast<std::int32_t>(sound(parse_whole(*word, bounds))) : otherwise;
}

bool divides(std::int32_t unit, const WorkerRange& range) {
  return range.min % unit == 0 && range.max % unit == 0 && range.want % unit == 0;
}

// `slots` counts slots, a spec counts workers. Without it: one copy of the model.
Result<WorkerRange> workers_of(const JobWords& words, const Mesh& mesh) {
  const auto each = small(words.slots_per_worker, kSlotsPerWorker, 1);
  if (!words.slots) return WorkerRange{mesh.step(), mesh.step(), mesh.step()};
  const auto slots = sound(parse_range(*words.slots));
  if (!divides(each, slots)) {
    return fail(
        ErrorCode::invalid,
        fmt::format("{} slots can't be divided into workers of {} slots each.", *words.slots, each),
        fmt::format("Give multiples of {}.", each));
  }
  const WorkerRange workers{slots.min / each, slots.max / each, slots.want / each};
  if (divides(mesh.step(), workers)) return workers;
  return fail(
      ErrorCode::invalid,
      fmt::format("{} slots can't be divided into meshes of tensor={} by pipeline={} workers"
                  " of {} slot{} each.",
                  *words.slots, mesh.tensor, mesh.pipeline, each, each == 1 ? "" : "s"),
      fmt::format("Give multiples of {}.", std::int64_t{mesh.step()} * each));
}

void read_places(const JobWords& words, JobSpec& spec) {
  spec.mesh = {small(words.tensor, kMesh, 1), small(words.pipeline, kMesh, 1)};
  spec.devices = words.devices;
  for (const auto& term : words.affinity)
    spec.affinity.push_back(sound(parse_affinity(term, false)));
  for (const auto& term : words.anti_affinity)
    spec.affinity.push_back(sound(parse_affinity(term, true)));
  spec.exclusive = words.exclusive == "true";
  spec.preemptible = words.preemptible != "false";
}

void read_resources(const JobWords& words, JobSpec& spec) {
  spec.slots_per_worker = small(words.slots_per_worker, kSlotsPerWorker, 1);
  if (words.cpus) spec.cpus = sound(parse_cores(*words.cpus));
  if (words.memory) spec.memory_bytes = sound(parse_bytes(*words.memory));
  if (words.log_limit) spec.log_limit_bytes = sound(parse_bytes(*words.log_limit));
  spec.priority = small(words.priority, kPriority, spec.priority);
}

void read_course(const JobWords& words, JobSpec& spec) {
  if (words.max_duration) spec.max_duration = sound(parse_duration(*words.max_duration));
  if (words.min_run) spec.minimum_run = sound(parse_span(*words.min_run));
  if (words.stop_loss) spec.stop_loss = sound(parse_loss_limit(*words.stop_loss));
  if (words.resize_loss) spec.resize_loss = sound(parse_loss_limit(*words.resize_loss));
  if (words.expect) {
    const auto expectation = sound(parse_expect(*words.expect));
    spec.expected_duration = expectation.duration;
    spec.expected_samples = expectation.samples;
  }
  if (words.expect_speeds) spec.expected_speeds = sound(parse_speeds(*words.expect_speeds));
  spec.retries = small(words.retry, kRetries, 0);
  if (words.signal) spec.notice.signal = sound(parse_signal(*words.signal));
  if (words.grace) spec.notice.grace = sound(parse_duration(*words.grace));
  if (words.elastic) spec.elastic = sound(parse_elastic(*words.elastic));
  if (words.on_disconnect) spec.on_disconnect = sound(parse_on_disconnect(*words.on_disconnect));
  spec.checkpoint_glob = words.checkpoint.value_or("");
  if (words.checkpoint_store)
    spec.checkpoint_store = sound(parse_checkpoint_store(*words.checkpoint_store));
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
std::span<const JobList> job_lists() { return kLists; }

bool ships(const JobWords& words) { return words.ship == "true"; }

Result<void> judge_words(const JobWords& words) {
  for (const auto& word : kWords) {
    const auto& text = words.*word.field;
    if (!text) continue;
    auto judged = word.judge(*text);
    if (judged) continue;
    judged.error().message =
        fmt::format("{}: {}", word.option.empty() ? word.key : word.option, judged.error().message);
    return judged;
  }
  return {};
}

Result<void> one_size(JobWords& words) {
  if (!words.gpus) return {};
  if (words.slots) {
    return fail(ErrorCode::invalid, "Both slots and gpus are given, which say the same.",
                "Give one of them.");
  }
  words.slots = std::exchange(words.gpus, {});
  return {};
}

JobWords overlaid(JobWords under, const JobWords& over) {
  if (over.target || over.target_final) {
    under.target.reset();
    under.target_final.reset();
  }
  if (over.tensor || over.pipeline) {
    under.tensor.reset();
    under.pipeline.reset();
  }
  for (const auto& word : kWords) {
    if (over.*word.field) under.*word.field = over.*word.field;
  }
  for (const auto& [name, value] : over.env) under.env[name] = value;
  if (!over.notify_to.empty()) under.mail_if_possible = over.mail_if_possible;
  for (const auto& list : kLists) {
    if (!(over.*list.field).empty()) under.*list.field = over.*list.field;
  }
  if (!over.ship_paths.empty()) under.ship_paths = over.ship_paths;
  if (!over.command.empty()) {
    under.command = over.command;
    under.shell = over.shell;
  }
  under.hold = under.hold || over.hold;
  return under;
}

Result<JobSpec> to_spec(const JobWords& words, WallTime now) {
  JobSpec spec;
  spec.name = words.name.value_or("");
  read_resources(words, spec);
  read_places(words, spec);
  read_course(words, spec);
  const auto workers = workers_of(words, spec.mesh);
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

Result<Notify> to_notify(const JobWords& words) {
  Notify notify{.to = words.notify_to};
  if (!words.notify.empty()) notify.on.clear();
  for (const auto& kind : words.notify) notify.on.insert(sound(parse_message_kind(kind)));
  if (words.stalled_after) notify.stalled_after = sound(parse_duration(*words.stalled_after));
  if (notify.to.empty() && !words.notify.empty()) {
    return fail(ErrorCode::invalid, "Nobody is named to be told.",
                "Say who with --notify-to me@lab.example, or 'to' in 'notify'.");
  }
  if (auto valid = validate(notify); !valid) return fail(std::move(valid.error()));
  return notify;
}

Result<std::pair<std::string, std::string>> parse_variable(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is not a variable.", text),
                "Write NAME=VALUE.");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<void> add_mesh(const std::string& text, JobWords& words) {
  return each_part(text, [&](const std::string& part) -> Result<void> {
    const auto equals = std::min(part.find('='), part.size());
    const auto key = part.substr(0, equals), count = part.substr(std::min(equals + 1, part.size()));
    if (key != "tensor" && key != "pipeline") return fail(nothing_of_a_mesh(key));
    if (auto ok = whole_within<kMesh>(count); !ok) {
      ok.error().message = fmt::format("{}: {}", key, ok.error().message);
      return ok;
    }
    (key == "tensor" ? words.tensor : words.pipeline) = count;
    return {};
  });
}

}  // namespace paceline
