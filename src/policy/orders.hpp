// The orders that several policies go by. Each is one key (model/waiting_order.hpp): larger priority
// first, then what its name says, then arrival.
#pragma once

#include <cstdint>

#include "model/waiting_order.hpp"

namespace paceline {

extern const Order kArrival;  // the job that came first
extern const Order
    kShortest;  // the job with least left at its wanted size (estimate/remaining.hpp)

// Without regard to priority, in microseconds.
extern const Order kEligible;  // the job that may start first
extern const Order kDue;  // the job whose deadline comes first, by the wall; those without last

// Slots of the smallest size: what no start can do without.
std::int64_t least_slots(const Job& job);

}  // namespace paceline
