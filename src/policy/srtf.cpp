#include "policy/srtf.hpp"

#include "policy/shares.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

bool is_too_long(const Snapshot& snapshot, const Judge& judge, const Job& newcomer) {
  if (!judge.stops) return false;
  const std::int64_t slots = newcomer.slots(wanted(snapshot.state, newcomer));
  const auto lacking = slots - static_cast<std::int64_t>(snapshot.state.free_slots().total());
  return lacking > 0 && !judge.stops(snapshot, newcomer, slots, lacking).kept;
}

}  // namespace

void Srtf::decide(const Snapshot& snapshot, Draft& draft) const {
  if (snapshot.state.waiting().empty()) return;
  Shares shares(snapshot, draft, kShortest, Sizes::wanted);
  shares.all_in_order();
  settle(snapshot, draft, shares.wishes(), {Owed::no, "has less left"});
  fill(snapshot, draft, kShortest, Sizes::wanted);
  say_who_waits(snapshot, draft, Sizes::wanted, "jobs with less left");
}

Quiet Srtf::quiet() const { return {true, is_too_long}; }

}  // namespace paceline
