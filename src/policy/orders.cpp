#include "policy/orders.hpp"

#include "estimate/remaining.hpp"
#include "model/job.hpp"

namespace paceline {
namespace {

double same(const Job&, const Order::Parameters&) { return 0; }
// Of a job that runs: as of its last change.
double length(const Job& job, const Order::Parameters&) { return length_left(job, Time{}); }

}  // namespace

const Order kArrival{same, least_slots};
const Order kShortest{length, least_slots, nullptr, {}, length_slope};

std::int64_t least_slots(const Job& job) { return job.slots(job.range.min); }

}  // namespace paceline
