// What was measured of how much jobs slow each other down on one node: their step times, alone and
// beside one other kind of job. A kind is a job's name. Part of the state: every figure is a fold of
// the journal (estimate/interference.hpp says how, and what follows from it).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace paceline {

// A mean in which the newest values count most.
struct Mean {
  double value = 0;
  std::uint32_t count = 0;
  std::uint64_t seq = 0;  // of the entry that changed it last; the oldest make room

  friend bool operator==(const Mean&, const Mean&) = default;
};

// A job's step time means the same only on the same devices at the same size.
struct Shape {
  std::string name;
  std::string model;
  std::int32_t workers = 0;
  std::int32_t nodes = 0;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

struct Interference {
  std::map<Shape, Mean> alone;
  // Step times of the first beside the second, as a factor of those alone: 1.2 is 20 % slower. Both
  // orders of two names are there, or neither.
  std::map<std::pair<std::string, std::string>, Mean> pairs;

  friend bool operator==(const Interference&, const Interference&) = default;
};

}  // namespace paceline
