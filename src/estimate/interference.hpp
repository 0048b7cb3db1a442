// How much jobs slow each other down on one node, learned from the step times that they report.
//
//   if (slow_down(state.interference(), "train", "prep") > kSlowDownMax) keep them apart
//
// What holds for a job alone depends on its shape; a figure is used only beside the same shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/interference.hpp"

namespace paceline {

// What was not heard of for longest makes room beyond that.
inline constexpr std::size_t kShapesMax = 1'000;
inline constexpr std::size_t kPairsMax = 2'000;  // two for each pair of names

// A step took so long with nobody else on the job's nodes / with jobs of one other kind there. `seq`:
// of the entry that tells it.
void learn_alone(Interference& learned, const Shape& shape, double step_seconds, std::uint64_t seq);
void learn_beside(Interference& learned, const Shape& shape, const std::string& neighbour,
                  double step_seconds, std::uint64_t seq);

// The larger of what the two do to each other, as a part of the step time: 0.2 is 20 %; 0 if nothing
// is known.
double slow_down(const Interference& learned, const std::string& a, const std::string& b);
// Is anything known of jobs of that name beside others?
bool knows(const Interference& learned, const std::string& name);

// More than this separates two jobs, where there is another place as good.
inline constexpr double kSlowDownMax = 0.10;
// A figure counts once it has been measured so often.
inline constexpr std::uint32_t kSlowDownSamples = 3;

}  // namespace paceline
