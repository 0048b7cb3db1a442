#include "scheduler/commands.hpp"

#include <fmt/format.h>

#include "scheduler/room.hpp"

namespace paceline {
namespace {

Result<void> admit_after(const State& state, const std::vector<JobId>& after, JobId next) {
  for (const JobId id : after) {
    if (id == next) {
      return fail(ErrorCode::invalid, "A job can't wait for itself.",
                  "Name earlier jobs in --after.");
    }
    if (id.value < 1 || id > next) {
      return fail(ErrorCode::not_found, fmt::format("There is no job {} to wait for.", id.value),
                  "List jobs with 'paceline queue --all'.");
    }
    const Job* before = state.find_job(id);
    if (auto ok = before ? may_come_after(*before) : Result<void>{}; !ok) return ok;
  }
  return {};
}

tl::unexpected<Error> conflict(const Job& job, std::string_view what, std::string hint,
                               Retry retry = Retry::useless) {
  return fail(ErrorCode::conflict,
              fmt::format("Job {} is {}: {}.", job.id.value, to_string(job.state), what),
              std::move(hint), retry);
}

Result<void> admit_pause(const Job& job) {
  if ((job.state == JobState::pending || job.lends()) && !job.held) return {};
  if (job.state == JobState::running) return {};
  if (job.held || job.state == JobState::paused) {
    return conflict(job, "it is paused already",
                    fmt::format("'paceline resume {}' lets it go on.", job.id.value));
  }
  return conflict(job, "only a waiting or running job can be paused", "Try again in a moment.",
                  Retry::may_help);
}

Result<const Node*> known(const State& state, std::string_view name) {
  const Node* node = state.find_node(name);
  if (node != nullptr && !node->retired) return node;
  return fail(ErrorCode::not_found, fmt::format("There is no node '{}'.", name),
              "'paceline nodes' lists them.");
}

constexpr Duration kDrainMax = std::chrono::hours{24 * 366};

}  // namespace

Result<const Node*> admit(const State& state, std::string_view name, const DrainOrder& order,
                          WallTime now) {
  const auto node = known(state, name);
  if (!node) return node;
  const auto wrong = [](std::string message, std::string hint) -> Result<const Node*> {
    return fail(ErrorCode::invalid, std::move(message), std::move(hint));
  };
  if (order.keeps && (order.until || order.within))
    return wrong("A drain that keeps what runs there has no end.",
                 "Leave out --by and --within, or --keep.");
  if (order.until && order.within)
    return wrong("A drain ends at an instant or after a span, not both.",
                 "Leave out --by or --within.");
  if (order.from && (*order.from <= now || *order.from > now + kDrainMax))
    return wrong("A drain is announced for an instant within a year from now.",
                 "Give a later --at, or none to begin at once.");
  if (order.until &&
      (*order.until <= order.from.value_or(now) || *order.until > now + 2 * kDrainMax))
    return wrong("That is over before the drain begins, or too far away.",
                 "Give a later --by, for example +2h; --within 0s stops what is there at once.");
  if (order.within && (*order.within < Duration::zero() || *order.within > kDrainMax))
    return wrong("A drain takes from 0s to a year.", "Give such a --within.");
  if (order.reason.size() > kDrainReasonMax)
    return wrong(fmt::format("The reason is longer than {} bytes.", kDrainReasonMax),
                 "Say it in fewer words.");
  return node;
}

Result<const Node*> admit_undrain(const State& state, std::string_view name) {
  const auto node = known(state, name);
  if (!node || (*node)->drain) return node;
  return fail(ErrorCode::conflict, fmt::format("Node '{}' does not drain.", name),
              "'paceline nodes' tells which nodes do.");
}

Result<void> may_come_after(const Job& before) {
  if (!is_over(before.state) || before.state == JobState::completed) return {};
  return fail(ErrorCode::conflict,
              fmt::format("Job {} is {}: a job that waits for it would never start.",
                          before.id.value, to_string(before.state)),
              "Submit without --after, or name another job.");
}

Result<const Job*> find_job(const State& state, JobId id) {
  if (const Job* job = state.find_job(id)) return job;
  if (state.is_forgotten(id)) {
    return fail(ErrorCode::conflict, fmt::format("Job {} is over.", id.value),
                fmt::format("'paceline show {}' tells how it ended.", id.value));
  }
  return fail(ErrorCode::not_found, fmt::format("There is no job {}.", id.value),
              "List jobs with 'paceline queue --all'.");
}

Result<void> admit(const State& state, const JobSpec& spec, const LaunchSpec& launch, JobId next,
                   WallTime now, const ComingNodes& coming) {
  if (auto ok = validate(spec); !ok) return ok;
  if (auto ok = validate(launch); !ok) return ok;
  if (auto ok = fits_some_day(state, spec, spec.workers.min, coming); !ok) return ok;
  if (spec.deadline && *spec.deadline <= now) {
    return fail(ErrorCode::invalid, "The deadline has passed already.",
                "Give a later --deadline, for example +2h.");
  }
  return admit_after(state, spec.after, next);
}

Result<void> admit(const Rules& rules) {
  const auto& after = rules.reclaim_after;
  if (after && (*after < Duration::zero() || *after > kReclaimAfterMax))
    return fail(ErrorCode::invalid, "reclaim-after is a span from 0s to a year.");
  return {};
}

Result<void> admit(const State& state, JobId id, Request request) {
  const auto found = find_job(state, id);
  if (!found) return fail(found.error());
  const Job& job = **found;
  if (is_over(job.state)) return conflict(job, "it is over", "");
  switch (request) {
    case Request::cancel:
      return {};
    case Request::pause:
      return admit_pause(job);
    case Request::resume:
      break;
  }
  if (job.held || (job.state == JobState::paused && !job.lends())) return {};
  return conflict(job,
                  job.lends() ? "it goes on by itself, as soon as it has its slots back"
                              : "it is not paused or held",
                  fmt::format("'paceline why {}' says what it waits for.", id.value));
}

Result<void> admit(const State& state, JobId id, const WorkerRange& range,
                   const ComingNodes& coming) {
  const auto found = find_job(state, id);
  if (!found) return fail(found.error());
  const Job& job = **found;
  if (is_over(job.state)) return conflict(job, "it is over", "");
  if (job.spec->elastic == Elastic::no && job.state != JobState::pending) {
    return conflict(job, "it was submitted with --elastic no",
                    "Its size can be changed only while it is PENDING.");
  }
  if (auto ok = validate_range(range); !ok) return ok;
  if (auto ok = fits_mesh(range, job.spec->mesh); !ok) return ok;
  return fits_some_day(state, *job.spec, range.min, coming);
}

}  // namespace paceline
