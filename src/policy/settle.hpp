// From what a policy wishes to trades. A policy says how many workers each job should have, in order
// of precedence; settling finds the changes: starts from what is free, then with what others give
// up, least harm first, then by moving others together; growth; evening out. Nobody gives up
// anything unless somebody starts or grows from it, and nobody is stopped unless somebody starts.
// Where givers give more than the first who starts needs, others start on the rest in the same
// trade, which is weighed as a whole.
//
//   settle(snapshot, draft, {{&a, 8, 4, 2, 8}, {&b, 0, 4, 2, 4}}, {Owed::yes, "came first"});
//
// Who gives first: who is hurt least (policy/harm.hpp), then who comes last. Where somebody who never
// saved would have to be stopped before its time, all of a trade waits, and those are asked for their
// slots (plan/reclaim.hpp): nobody else is asked for the same.
//
// Cost: O(wishes) when nothing changes; per start with givers O(log givers) placements and their
// slots.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/draft.hpp"

namespace paceline {

struct Wish {
  const Job* job = nullptr;
  std::int32_t now = 0;       // workers it has; 0: it waits
  std::int32_t workers = 0;   // it should have; 0: it should give way
  std::int32_t at_least = 0;  // the smallest size it may start with
  std::int32_t most = 0;      // what it would like, for the sentence
  std::string_view words{};   // why, where the policy has words of its own; told instead
};

struct Terms {
  Owed owed = Owed::yes;   // starts with what others give up
  std::string precedence;  // why who gets goes first: "has less left"; or nothing
};

// REQUIRES: each job at most once; sizes are multiples of its step; `now` is what it has or is to
// have. Wishes that a job can't follow now (not RUNNING yet, checkpoint, range, window) are passed
// over.
void settle(const Snapshot& snapshot, Draft& draft, std::vector<Wish> wishes, const Terms& terms);

// May a running job be asked for its slots, in part or whole?
bool may_shrink(const Job& job);
bool may_stop(const Job& job);

}  // namespace paceline
