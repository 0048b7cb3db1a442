#include "model/job_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.hpp"
#include "model/label.hpp"
#include "model/limits.hpp"

namespace paceline {
namespace {

std::optional<std::int32_t> parse_count(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::unexpected<Error> bad_range(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::invalid, fmt::format("'{}' is not a range: {}.", text, why),
      "Write a number (4), a range (2..8) or a range with a wish (2..8@4), all at least 1.");
}

tl::unexpected<Error> invalid(std::string message, std::string hint) {
  return fail(ErrorCode::invalid, std::move(message), std::move(hint));
}

Result<void> validate_mesh(const JobSpec& spec) {
  const auto [tensor, pipeline] = spec.mesh;
  if (tensor < 1 || pipeline < 1 || tensor > kMeshMax || pipeline > kMeshMax) {
    return invalid(fmt::format("The mesh tensor={}, pipeline={} is impossible.", tensor, pipeline),
                   fmt::format("Give 1 to {} for each.", kMeshMax));
  }
  return fits_mesh(spec.workers, spec.mesh);
}

Result<void> validate_affinity(const Affinity& affinity) {
  const bool label = affinity.to == AffinityTo::label;
  const auto name_max = label ? kLabelKeyMax : kNameLengthMax;
  if (affinity.name.size() <= name_max && affinity.value.size() <= kLabelValueMax) return {};
  return invalid(fmt::format("An affinity names {} that is too long.", label ? "a label" : "jobs"),
                 fmt::format("A label's key has at most {} bytes, its value {}, a job's name {}.",
                             kLabelKeyMax, kLabelValueMax, kNameLengthMax));
}

Result<void> validate_places(const JobSpec& spec) {
  if (spec.devices.size() > kDevicesMax || spec.affinity.size() > kAffinityMax) {
    return fail(ErrorCode::too_large,
                fmt::format("A job names at most {} device models and {} affinities.", kDevicesMax,
                            kAffinityMax),
                "Give fewer; label nodes by what they have in common.");
  }
  for (const auto& device : spec.devices) {
    if (device.empty() || device.size() > kNameLengthMax)
      return invalid("A device model is empty or too long.", "Write it as h100 or a100.");
  }
  for (const auto& affinity : spec.affinity) {
    if (auto ok = validate_affinity(affinity); !ok) return ok;
  }
  return {};
}

Result<void> validate_resources(const JobSpec& spec) {
  if (auto ok = validate_range(spec.workers); !ok) return ok;
  if (spec.slots_per_worker < 1 || spec.slots_per_worker > kSlotsPerWorkerMax) {
    return invalid(fmt::format("{} slots per worker is impossible.", spec.slots_per_worker),
                   fmt::format("Give 1 to {}.", kSlotsPerWorkerMax));
  }
  if (auto ok = validate_mesh(spec); !ok) return ok;
  if (!(spec.cpus >= 0 && spec.cpus <= 1e6)) {
    return invalid("The number of CPU cores is impossible.",
                   "Give a positive number, such as 0.5 or 4.");
  }
  if (spec.log_limit_bytes > 0 && spec.log_limit_bytes < kLogsPerJobMin) {
    return invalid("A log_limit that small would keep next to nothing.",
                   fmt::format("Give at least {}M.", kLogsPerJobMin >> 20));
  }
  return {};
}

Result<void> validate_speeds(const Points<std::int32_t>& speeds) {
  if (speeds.size() > kExpectedSpeedsMax) {
    return fail(ErrorCode::too_large,
                fmt::format("A job expects speeds of at most {} sizes.", kExpectedSpeedsMax),
                "Leave some out: in between they are taken to be linear.");
  }
  std::int32_t before = 0;
  for (const auto& [workers, speed] : speeds) {
    if (workers <= before || !(speed > 0 && std::isfinite(speed)))
      return invalid("Expected speeds are above 0, for sizes that rise from 1.",
                     "Write them as 1:1,2:1.9,4:3.5.");
    before = workers;
  }
  return {};
}

Result<void> validate_times(const JobSpec& spec) {
  const auto positive = [](const std::optional<Duration>& d) {
    return !d || *d > Duration::zero();
  };
  if (!positive(spec.max_duration))
    return invalid("max_duration must be positive.", "Write it as 90s, 10m, 2h or 1d.");
  for (const auto& limit : {spec.stop_loss, spec.resize_loss}) {
    if (limit && !(*limit >= 0 && *limit <= 1))
      return invalid("stop_loss and resize_loss are parts of a job's time.",
                     "Write them as 0% to 100%.");
  }
  if (spec.minimum_run && *spec.minimum_run < Duration::zero())
    return invalid("min_run can't be negative.", "Write it as 90s, 10m or 2h.");
  if (!positive(spec.expected_duration))
    return invalid("expect must be positive.", "Write it as 2h or '60000 samples'.");
  if (spec.expected_samples && *spec.expected_samples == 0) {
    return invalid("expect must be positive.", "Write it as 2h or '60000 samples'.");
  }
  if (spec.notice.grace < Duration::zero() || spec.notice.grace > std::chrono::hours{24}) {
    return invalid("The grace period is impossible.", "Give between 0s and 24h.");
  }
  if (spec.notice.signal < 1 || spec.notice.signal > 64 || spec.notice.signal == 9 ||
      spec.notice.signal == 19) {
    return invalid(fmt::format("Signal {} can't be a notice.", spec.notice.signal),
                   "Choose one that a script can handle, such as TERM, USR1 or USR2.");
  }
  return {};
}

}  // namespace

Result<WorkerRange> parse_range(std::string_view text) {
  const auto at = text.find('@');
  const auto bounds = text.substr(0, at);
  const auto dots = bounds.find("..");
  const auto min = parse_count(bounds.substr(0, dots));
  const auto max = dots == std::string_view::npos ? min : parse_count(bounds.substr(dots + 2));
  const auto want = at == std::string_view::npos ? min : parse_count(text.substr(at + 1));
  if (!min || !max || !want) return bad_range(text, "it is no number or range of numbers");
  if (*min < 1) return bad_range(text, "less than 1 is impossible");
  if (*min > *max) return bad_range(text, "its minimum is larger than its maximum");
  if (*max > kWorkersMax * kSlotsPerWorkerMax)
    return bad_range(text, "it is larger than any cluster");
  if (*want < *min || *want > *max) return bad_range(text, "the wish lies outside");
  return WorkerRange{*min, *max, *want};
}

bool keeps_others_off(const JobSpec& spec) {
  return spec.exclusive ||
         std::any_of(spec.affinity.begin(), spec.affinity.end(), [](const Affinity& a) {
           return a.anti && a.required() && a.to == AffinityTo::job;
         });
}

Result<void> validate_range(const WorkerRange& range) {
  const auto& [min, max, want] = range;
  if (min >= 1 && min <= max && range.contains(want) && max <= kWorkersMax) return {};
  return invalid(fmt::format("The worker range {}..{}@{} is impossible.", min, max, want),
                 fmt::format("Need 1 <= min <= want <= max <= {}.", kWorkersMax));
}

Result<void> fits_mesh(const WorkerRange& range, const Mesh& mesh) {
  const std::int32_t step = mesh.step();
  if (range.min % step == 0 && range.max % step == 0 && range.want % step == 0) return {};
  return invalid(fmt::format("The sizes {} don't fit a mesh of tensor={}, pipeline={}.",
                             to_string(range), mesh.tensor, mesh.pipeline),
                 fmt::format("Give multiples of {} workers.", step));
}

std::string to_string(const WorkerRange& range) {
  if (range.min == range.max) return fmt::format("{}", range.min);
  if (range.want == range.min) return fmt::format("{}..{}", range.min, range.max);
  return fmt::format("{}..{}@{}", range.min, range.max, range.want);
}

std::string_view to_string(Elastic elastic) {
  switch (elastic) {
    case Elastic::automatic:
      return "auto";
    case Elastic::restart:
      return "restart";
    case Elastic::no:
      return "no";
  }
  return "auto";
}

Result<Elastic> parse_elastic(std::string_view text) {
  if (text == "auto") return Elastic::automatic;
  if (text == "restart") return Elastic::restart;
  if (text == "no") return Elastic::no;
  return invalid(fmt::format("'{}' is no way to be elastic.", text), "Choose auto, restart or no.");
}

std::string_view to_string(OnDisconnect on_disconnect) {
  return on_disconnect == OnDisconnect::stop ? "stop" : "continue";
}

Result<OnDisconnect> parse_on_disconnect(std::string_view text) {
  if (text == "stop") return OnDisconnect::stop;
  if (text == "continue") return OnDisconnect::go_on;
  return invalid(fmt::format("'{}' is nothing to do without a server.", text),
                 "Choose stop or continue.");
}

std::string_view to_string(CheckpointStore store) {
  return store == CheckpointStore::server ? "server" : "none";
}

Result<CheckpointStore> parse_checkpoint_store(std::string_view text) {
  if (text == "server") return CheckpointStore::server;
  if (text == "none") return CheckpointStore::none;
  return invalid(fmt::format("'{}' is nowhere to keep checkpoints.", text),
                 "Choose server or none.");
}

Result<void> validate(const JobSpec& spec) {
  if (spec.name.empty() || spec.name.size() > kNameLengthMax) {
    return invalid(fmt::format("A job's name has 1 to {} bytes.", kNameLengthMax),
                   "Give another --name.");
  }
  if (!is_visible(spec.name)) {
    return invalid(
        "A job's name is text without control characters or marks that turn its direction.",
        "Give another --name.");
  }
  if (auto ok = validate_resources(spec); !ok) return ok;
  if (auto ok = validate_places(spec); !ok) return ok;
  if (auto ok = validate_times(spec); !ok) return ok;
  if (auto ok = validate_speeds(spec.expected_speeds); !ok) return ok;
  if (spec.priority < 0 || spec.priority > 100) {
    return invalid(fmt::format("Priority {} is out of range.", spec.priority), "Give 0 to 100.");
  }
  if (spec.retries < 0 || spec.retries > kRetriesMax) {
    return invalid(fmt::format("{} retries is out of range.", spec.retries),
                   fmt::format("Give 0 to {}.", kRetriesMax));
  }
  if (spec.after.size() > kAfterMax) {
    return fail(ErrorCode::too_large, fmt::format("A job waits for at most {} others.", kAfterMax),
                "Chain them instead.");
  }
  return {};
}

}  // namespace paceline
