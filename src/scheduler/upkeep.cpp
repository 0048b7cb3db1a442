#include "scheduler/upkeep.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/check.hpp"

namespace paceline {

void Upkeep::step(const State& state, Time now) {
  const auto tell = [&](const Result<void>& done, std::optional<Time>& again_at) {
    if (done) return;
    spdlog::warn("{} {}", done.error().message, done.error().hint);
    again_at = now + kRetry;
  };
  if (drop_at_ && *drop_at_ <= now)
    tell(let_go(state, now), drop_at_);
  else if (tidy_at_ && *tidy_at_ <= now)
    tell(tidy(now), tidy_at_);
}

std::optional<Time> Upkeep::next() const {
  if (!tidy_at_ || !drop_at_) return tidy_at_ ? tidy_at_ : drop_at_;
  return std::min(*tidy_at_, *drop_at_);
}

Result<void> Upkeep::tidy(Time now) {
  const auto more = store_.tidy(options_.journal);
  if (!more) return fail(more.error());
  tidy_at_ = *more ? std::optional(now + kPause) : std::nullopt;
  return {};
}

// Jobs are dropped before others are thinned: that makes more room.
Result<void> Upkeep::let_go(const State& state, Time now) {
  const auto thinned = store_.first_ended(Kept::thinned);
  const auto whole = store_.first_ended(Kept::whole);
  if (!thinned) return fail(thinned.error());
  if (!whole) return fail(whole.error());
  drop_at_.reset();
  if (*thinned) drop_at_ = (*thinned)->at + 2 * *options_.keep;
  if (drop_at_ && *drop_at_ <= now) {
    drop_at_ = now + kPause;
    return drop(state, (*thinned)->job, now);
  }
  if (!*whole) return {};
  const Time due = (*whole)->at + *options_.keep;
  if (due > now) {
    drop_at_ = drop_at_ ? std::min(*drop_at_, due) : due;
    return {};
  }
  drop_at_ = now + kPause;
  if (auto done = store_.thin((*whole)->job); !done) return fail(done.error());
  return {};
}

// Its logs go first: as long as the store tells of the job, what is left of them is found again.
Result<void> Upkeep::drop(const State& state, JobId job, Time now) {
  check(state.is_forgotten(job), "only what the state forgot is dropped");
  const auto removed = options_.remove_logs(job);
  if (!removed) return fail(removed.error());
  if (!*removed) return {};
  const auto done = store_.drop(job, now);
  if (!done) return fail(done.error());
  if (*done) ++drops_;
  return {};
}

}  // namespace paceline
