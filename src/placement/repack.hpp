// Least movement for several running jobs at once: seats for new sizes that keep as many workers
// where they are as any assignment could. Jobs may take each other's seats.
//
//   auto repacked = repack(draft, {{a, 4}, {b, 2}});
//   if (repacked) draft.resize_together(repacked->jobs, reason, {});
//
// Minimal wherever `exact`: a search over how many tensor groups of which job stand on which node,
// cut off where it can't beat what is found. It ends after kRepackSteps with the best found so far.
#pragma once

#include <span>
#include <vector>

#include "plan/draft.hpp"

namespace paceline {

struct NewSize {
  JobId job;
  std::int32_t workers = 0;
};

struct Repacked {
  std::vector<Draft::Resized> jobs;  // as they were given
  std::int32_t moved = 0;  // workers that lose their seat, beyond those that a smaller size costs
  bool exact = false;      // nothing moves fewer
};

inline constexpr int kRepackSteps = 100'000;

// May the job be repacked? It runs complete, may be resized now, the draft leaves it alone, and
// asks nothing of its nodes but labels and devices; its nodes have slots of one model each.
bool repackable(const Draft& draft, const Job& job);

// Nothing if the sizes don't fit together (or none was found in time). REQUIRES: every job is
// repackable, none is named twice, and the sizes are multiples of its mesh.
std::optional<Repacked> repack(const Draft& draft, std::span<const NewSize> sizes);

// The same for jobs whose seats were given back in a what-if, and perhaps taken by another job
// since.
struct Given {
  JobId job;
  Placement seats;
  std::int32_t workers = 0;
};
std::optional<Repacked> repack_given(const Draft& draft, std::span<const Given> jobs);

}  // namespace paceline
