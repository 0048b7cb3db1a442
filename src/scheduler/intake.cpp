#include "scheduler/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/check.hpp"
#include "scheduler/commands.hpp"

namespace paceline {
namespace {

// Of a job that is over only the command and the directory are known.
Result<JobId> same_or_conflict(JobId job, const JobSpec& spec, const LaunchSpec& launch, bool over,
                               const Submission& submission) {
  const bool starts_alike = over ? launch.command == submission.launch.command &&
                                       launch.directory == submission.launch.directory
                                 : launch == submission.launch;
  if (spec == submission.spec && starts_alike) return job;
  return fail(
      ErrorCode::conflict,
      fmt::format("The Idempotency-Key was used for job {}, which is another one.", job.value),
      "Use a new key for every submission.");
}

}  // namespace

Result<Intake::Taken> Intake::take(Batch& batch, Submission& submission) {
  const std::uint32_t uid = submission.spec.uid;
  const JobId id{parts_.state.next_job_id().value + taken_};
  auto before = find_repeated(batch, submission);
  if (!before) return fail(before.error());
  if (*before) return **before;
  if (auto ok = admit_submission(submission, id); !ok) return fail(ok.error());
  ++taken_;
  if (parts_.admission) parts_.admission->took(id, uid, submission.launch);
  batch.launches.emplace_back(id, std::move(submission.launch));
  if (!submission.notify.to.empty()) batch.notify.emplace_back(id, std::move(submission.notify));
  if (!submission.key.empty()) {
    keys_.emplace(std::pair{uid, submission.key}, id);
    batch.keys.push_back({uid, std::move(submission.key), id, parts_.now});
  }
  return Taken{id};
}

Result<std::optional<Intake::Taken>> Intake::find_repeated(const Batch& batch,
                                                           const Submission& submission) const {
  if (submission.key.empty()) return std::nullopt;
  const auto stored = parts_.store.find_submission(submission.spec.uid, submission.key, parts_.now);
  if (!stored) return fail(stored.error());
  const auto here = keys_.find({submission.spec.uid, submission.key});
  if (!*stored && here == keys_.end()) return std::nullopt;
  const auto same =
      *stored ? repeated(**stored, submission) : repeated(batch, here->second, submission);
  if (!same) return fail(same.error());
  return Taken{*same, false, stored->has_value()};
}

Result<void> Intake::admit_submission(const Submission& submission, JobId id) const {
  if (auto ok = parts_.room(); !ok) return ok;
  if (auto ok =
          admit(parts_.state, submission.spec, submission.launch, id, parts_.wall, parts_.coming);
      !ok)
    return ok;
  if (auto ok = admit_after_forgotten(submission.spec); !ok) return ok;
  if (!parts_.admission) return {};
  if (auto ok = parts_.admission->admit_limits(submission.spec); !ok) return ok;
  return parts_.admission->admit(parts_.state, parts_.store, submission.by, submission.spec.uid,
                                 submission.launch);
}

// What the state can't tell of the jobs that it waits for. One that the store has not is dropped:
// it is taken for completed, as the fold takes it.
Result<void> Intake::admit_after_forgotten(const JobSpec& spec) const {
  for (const JobId id : spec.after) {
    if (!parts_.state.is_forgotten(id)) continue;
    const auto found = parts_.store.forgotten(id, 1);
    if (!found) return fail(found.error());
    if (found->empty() || found->front().id != id) continue;
    if (auto ok = may_come_after(found->front()); !ok) return ok;
  }
  return {};
}

// The job that was submitted with the same key, if it was asked for in the same words; of one that
// was dropped, nobody knows them.
Result<JobId> Intake::repeated(JobId job, const Submission& submission) const {
  const auto left = parts_.store.remains(job);
  if (!left) return fail(left.error());
  if (*left && (*left)->kept == Kept::nothing) return job;
  const auto launch = parts_.store.launch(job);
  if (!launch) return fail(launch.error());
  if (const Job* known = parts_.state.find_job(job))
    return same_or_conflict(job, *known->spec, *launch, is_over(known->state), submission);
  const auto found = parts_.store.forgotten(job, 1);
  if (!found) return fail(found.error());
  if (found->empty() || found->front().id != job)
    return fail(ErrorCode::data, fmt::format("Job {} is in the store no longer.", job.value));
  return same_or_conflict(job, *found->front().spec, *launch, true, submission);
}

Result<JobId> Intake::repeated(const Batch& batch, JobId job, const Submission& submission) {
  const JobSpec* spec = nullptr;
  for (const Entry& entry : batch.entries) {
    const auto* event = std::get_if<Event>(&entry.body);
    const auto* submitted = event ? std::get_if<JobSubmitted>(event) : nullptr;
    if (submitted && submitted->job == job) spec = &submitted->spec;
  }
  const auto launch = std::find_if(batch.launches.begin(), batch.launches.end(),
                                   [&](const auto& each) { return each.first == job; });
  check(spec && launch != batch.launches.end(), "what was taken is in the batch");
  return same_or_conflict(job, *spec, launch->second, false, submission);
}

}  // namespace paceline
