#include "scheduler/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

constexpr std::uint64_t kKeptPart = 20;  // one in so many places

// Where there is more than one, at least one.
std::uint64_t kept_places(std::uint64_t places) {
  return places > 1 ? std::max<std::uint64_t>(1, places / kKeptPart) : 0;
}

bool waits(const Job& job) { return !is_over(job.state) && job.leased == 0; }

tl::unexpected<Error> too_many(std::string what, std::string_view limit) {
  return fail(
      ErrorCode::unavailable, std::move(what),
      fmt::format("Wait for some to end, or cancel some; 'paceline limits' shows {}.", limit),
      Retry::useless);
}

}  // namespace

std::uint64_t bytes_of(const LaunchSpec& launch) {
  std::uint64_t bytes = launch.setup.size() + launch.directory.size();
  for (const auto& word : launch.command) bytes += word.size() + 1;
  for (const auto& [name, value] : launch.environment) bytes += name.size() + value.size() + 2;
  return bytes;
}

Result<void> Admission::admit(const State& state, Store& store, const Principal& by,
                              std::uint32_t uid, const LaunchSpec& launch) {
  if (waiting_ >= limits_.waiting_jobs) {
    return too_many(fmt::format("{} jobs wait already, the most that may.", waiting_),
                    "waiting-jobs");
  }
  if (by.is(Role::admin)) return {};
  if (const auto kept = kept_places(limits_.waiting_jobs);
      waiting_ >= limits_.waiting_jobs - kept) {
    return too_many(
        fmt::format("{} jobs wait already, the most that users' may: room for {} more is kept for "
                    "root's.",
                    waiting_, kept),
        "waiting-jobs");
  }
  if (auto ok = sum_launches(state, store, uid); !ok) return ok;
  const User& user = users_[uid];
  if (user.waiting >= limits_.waiting_jobs_per_user) {
    return too_many(
        fmt::format("{} of your jobs wait already, the most that may of one user.", user.waiting),
        "waiting-jobs-per-user");
  }
  if (user.bytes + bytes_of(launch) > limits_.launches_per_user) {
    return too_many("The commands and environments of your jobs are as large as one user's may be.",
                    "launches-per-user");
  }
  return {};
}

Result<void> Admission::admit_limits(const JobSpec& spec) const {
  if (spec.log_limit_bytes <= limits_.logs_per_job) return {};
  const auto text = [](std::uint64_t bytes) { return limit_text(LimitUnit::bytes, bytes); };
  return fail(ErrorCode::invalid,
              fmt::format("Logs of {} are more than the {} that one job may have here.",
                          text(spec.log_limit_bytes), text(limits_.logs_per_job)),
              "Give a smaller --log-limit, or leave it out; 'paceline limits' shows logs-per-job.");
}

void Admission::took(JobId job, std::uint32_t uid, const LaunchSpec& launch) {
  Known& one = jobs_[job];
  one.uid = uid;
  count(one, true);
  set_bytes(one, bytes_of(launch));
}

void Admission::drop_from(JobId first) {
  const auto from = jobs_.lower_bound(first);
  for (auto job = from; job != jobs_.end(); ++job) {
    count(job->second, false);
    set_bytes(job->second, 0);
  }
  jobs_.erase(from, jobs_.end());
}

void Admission::follow(const State& state, std::span<const JobId> touched) {
  for (const JobId id : touched) {
    const Job& job = state.job(id);
    const auto known = jobs_.find(id);
    if (known == jobs_.end() && !waits(job)) continue;
    Known& one = known == jobs_.end() ? jobs_[id] : known->second;
    one.uid = job.spec->uid;
    count(one, waits(job));
    if (!one.waits && one.bytes == 0) jobs_.erase(id);
  }
}

void Admission::forget_launches(const State& state, std::span<const JobId> jobs) {
  for (const JobId id : jobs) {
    const Job* job = state.find_job(id);
    const auto known = jobs_.find(id);
    if (known == jobs_.end() || (job && !is_over(job->state))) continue;
    set_bytes(known->second, 0);
    jobs_.erase(known);
  }
}

void Admission::count(Known& job, bool waits) {
  if (job.waits == waits) return;
  job.waits = waits;
  auto& waiting = users_[job.uid].waiting;
  waits ? (++waiting, ++waiting_) : (--waiting, --waiting_);
}

void Admission::set_bytes(Known& job, std::uint64_t bytes) {
  if (job.bytes == bytes) return;
  users_[job.uid].bytes += bytes - job.bytes;
  job.bytes = bytes;
}

// Those from before the server started are read when their owner first submits again.
Result<void> Admission::sum_launches(const State& state, Store& store, std::uint32_t uid) {
  if (std::exchange(users_[uid].summed, true)) return {};
  for (const auto& key : state.queue()) {
    if (state.job(key.job).spec->uid != uid) continue;
    const auto known = jobs_.find(key.job);
    if (known != jobs_.end() && known->second.bytes > 0) continue;
    const auto launch = store.launch(key.job);
    if (!launch && launch.error().code != ErrorCode::not_found) return fail(launch.error());
    if (!launch) continue;
    Known& one = jobs_[key.job];
    one.uid = uid;
    set_bytes(one, bytes_of(*launch));
  }
  return {};
}

}  // namespace paceline
