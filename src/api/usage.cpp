#include "api/usage.hpp"

#include "model/accrual.hpp"

namespace paceline {
namespace {

void add(Usage& usage, const Job& job, Time now) {
  const Accrual since = accrued(job, now);
  ++usage.jobs;
  if (!is_over(job.state)) ++(job.leased > 0 ? usage.running : usage.waiting);
  usage.slots += job.leased;
  usage.waited += job.waited;
  if (since.spent == &Job::waited) usage.waited += since.passed;
  usage.slot_seconds += job.slot_seconds + since.slot_seconds;
  usage.lost += lost_with(job, since);
}

void add(Usage& usage, const ForgottenSums& sums) {
  usage.jobs += static_cast<std::int64_t>(sums.jobs());
  usage.waited += sums.waited;
  usage.slot_seconds += sums.slot_seconds;
  usage.lost += sums.lost;
}

}  // namespace

std::map<std::string_view, Usage> usage_by_user(const State& state, Time now) {
  std::map<std::string_view, Usage> users;
  for (const Job& job : state.jobs()) add(users[job.spec->user], job, now);
  for (const auto& [user, sums] : state.forgotten()) add(users[user], sums);
  return users;
}

}  // namespace paceline
