#include "policy/orders.hpp"

#include <limits>

#include "estimate/remaining.hpp"
#include "model/job.hpp"

namespace paceline {
namespace {

double same(const Job&, const Order::Parameters&) { return 0; }
// Of a job that runs: as of its last change.
double length(const Job& job, const Order::Parameters&) { return length_left(job, Time{}); }
double eligible(const Job& job, const Order::Parameters&) {
  return static_cast<double>(to_us(job.eligible_at));
}
double due(const Job& job, const Order::Parameters&) {
  const auto& deadline = job.spec->deadline;
  return deadline ? static_cast<double>(to_us(*deadline)) : std::numeric_limits<double>::infinity();
}
double of_any_priority(const Job&) { return 0; }

}  // namespace

const Order kArrival{same, least_slots};
const Order kShortest{length, least_slots, nullptr, {}, length_slope};
const Order kEligible{.measure = eligible, .need = least_slots, .first = of_any_priority};
const Order kDue{.measure = due, .need = least_slots, .first = of_any_priority};

std::int64_t least_slots(const Job& job) { return job.slots(job.range.min); }

}  // namespace paceline
