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

// Thinning goes first: logs that can't be removed hold up no more than what is dropped.
Result<void> Upkeep::let_go(const State& state, Time now) {
  const auto whole = store_.first_ended(Kept::whole);
  const auto thinned = store_.first_ended(Kept::thinned);
  if (!whole) return fail(whole.error());
  if (!thinned) return fail(thinned.error());
  drop_at_ = now + kPause;
  if (*whole && (*whole)->at + *options_.keep <= now) {
    const auto done = store_.thin((*whole)->job);
    return done ? Result<void>() : fail(done.error());
  }
  if (*thinned && (*thinned)->at + 2 * *options_.keep <= now)
    return drop(state, (*thinned)->job, now);
  drop_at_.reset();
  if (*whole) drop_at_ = (*whole)->at + *options_.keep;
  if (*thinned) {
    const Time due = (*thinned)->at + 2 * *options_.keep;
    drop_at_ = drop_at_ ? std::min(*drop_at_, due) : due;
  }
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
