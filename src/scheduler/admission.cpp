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

Admission::Admission(const Limits& limits, std::function<bool(std::uint32_t)> keeper)
    : limits_(limits), keeper_(std::move(keeper)) {}

Result<void> Admission::admit(const State& state, Store& store, std::uint32_t uid,
                              const LaunchSpec& launch) {
  const bool keeps = keeper_ ? keeper_(uid) : uid == 0;
  if (waiting_ >= limits_.waiting_jobs) {
    return too_many(fmt::format("{} jobs wait already, the most that may.", waiting_),
                    "waiting-jobs");
  }
  if (keeps) return {};
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

void Admission::took(JobId job, std::uint32_t uid, const LaunchSpec& launch) {
  Known& one = known(job);
  one.uid = uid;
  count(one, true);
  set_bytes(one, bytes_of(launch));
}

void Admission::drop_from(JobId first) {
  while (jobs_.size() >= first.value) {
    count(jobs_.back(), false);
    set_bytes(jobs_.back(), 0);
    jobs_.pop_back();
  }
}

void Admission::follow(const State& state, std::span<const JobId> touched) {
  for (const JobId id : touched) {
    const Job& job = state.job(id);
    Known& one = known(id);
    one.uid = job.spec->uid;
    count(one, waits(job));
  }
}

void Admission::forget_launches(const State& state, std::span<const JobId> jobs) {
  for (const JobId id : jobs) {
    if (is_over(state.job(id).state)) set_bytes(known(id), 0);
  }
}

Admission::Known& Admission::known(JobId job) {
  if (jobs_.size() < job.value) jobs_.resize(job.value);
  return jobs_[job.value - 1];
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
    if (state.job(key.job).spec->uid != uid || known(key.job).bytes > 0) continue;
    const auto launch = store.launch(key.job);
    if (!launch && launch.error().code != ErrorCode::not_found) return fail(launch.error());
    if (launch) set_bytes(known(key.job), bytes_of(*launch));
  }
  return {};
}

}  // namespace paceline
