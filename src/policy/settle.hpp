// From what a policy wants to changes: the one call with which a policy ends. It says how many
// workers each job should have, the most important first, and what becomes of the other waiting
// jobs. Settling finds the trades:
//   1. it starts jobs on free slots, then on slots that other jobs (the givers) give up, least harm
//      first, then by moving other jobs closer together, then, where smallest sizes come first, on
//      slots of jobs that shrink below what they should have;
//   2. it lets jobs grow;
//   3. it evens out sizes among running jobs;
//   4. it starts other waiting jobs that fit on what is left free (Rest), and says of the others
//      what they wait for.
// A job gives up slots only where another starts or grows on them, and is stopped only where
// another starts. Givers may free more than the starting job needs: then further jobs start on the
// rest, in the same trade.
//
//   settle(snapshot, draft,
//          {.wishes = {{&a, 8, 4, 2, 8}, {&b, 0, 4, 2, 4, Owed::yes}},  // b starts on 4 of a's
//           .precedence = "came first",
//           .rest = Rest{kArrival, Sizes::smallest, "older jobs"}});
//
// The giver that is hurt least gives first (policy/harm.hpp); of equals the one that comes last in
// order. Where a giver never saved and may not be stopped yet, the whole trade waits, and the giver
// is asked for its slots (plan/reclaim.hpp). No second job is asked for the same slots.
//
// Cost: O(wishes) when nothing changes; per start with givers O(log givers) placements and their
// slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/draft.hpp"
#include "policy/waiting.hpp"

namespace paceline {

struct Wish {
  const Job* job = nullptr;
  std::int32_t now = 0;       // workers it has; 0: it waits
  std::int32_t workers = 0;   // it should have; 0: it should stop
  std::int32_t at_least = 0;  // the smallest size it may start with
  std::int32_t most = 0;      // what it would like, for the sentence
  Owed owed = Owed::no;       // if it waits: are the slots owed to it that others give up?
  std::string_view words{};   // why, where the policy has words of its own; told instead
};

// What a policy wants of a round.
struct Intent {
  std::vector<Wish> wishes{};  // the most important first
  std::string precedence{};    // why a starting job goes first: "has less left"; or nothing
  std::optional<Rest> rest{};  // nothing: other waiting jobs stay as they are
  // A start at its smallest size comes before what others have above theirs. Rules count slots
  // alone: where a free one counted that the starting job can't use, its givers give more.
  bool smallest_first = false;
};

// REQUIRES: each job at most once; sizes are multiples of its step; `now` is what it has or is to
// have. Wishes that a job can't follow now (not RUNNING yet, checkpoint, range, window) are passed
// over.
void settle(const Snapshot& snapshot, Draft& draft, const Intent& intent);
// As settle(), but where slots are free it leaves off at the first job that should start and fits
// nowhere, however far others would shrink: it returns that one and those of the later ones that
// don't either. Their shares are to be divided among the others.
[[nodiscard]] std::vector<JobId> settle_unless_nowhere(const Snapshot& snapshot, Draft& draft,
                                                       const Intent& intent);

// May a running job be asked for its slots, in part or whole?
bool may_shrink(const Job& job);
bool may_stop(const Job& job);

// Of each running job that is not changed yet and could go on smaller the wish that it does, with
// its smallest size.
std::vector<Wish> smallest_sizes(const Snapshot& snapshot, const Draft& draft, Owed owed);

}  // namespace paceline
