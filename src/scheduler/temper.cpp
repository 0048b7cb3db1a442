#include "scheduler/temper.hpp"

#include <algorithm>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"

namespace paceline {
namespace {

class Trial {
 public:
  Trial(const TemperOptions& options, const Snapshot& snapshot, std::span<const Change> changes)
      : options_(options), snapshot_(snapshot), changes_(changes) {}

  Verdict judge(Owed owed) {
    for (const Change& change : changes_) {
      if (const auto until = too_soon(change)) {
        const auto workers = static_cast<std::int64_t>(change.placement.size());
        return {false, {ReasonCode::waits_for_window, {workers, to_us(*until)}, {}}, until};
      }
    }
    if (owed == Owed::yes) return {};
    for (const Change& change : changes_) weigh(change);
    return verdict();
  }

  // The most that such a trade could gain: who is stopped would have worked for the whole horizon,
  // nothing of it is lost and nobody pauses.
  Verdict judge_stops(const Job& starts, std::int64_t slots, std::int64_t stopped) {
    gain_ = static_cast<double>(slots) * to_seconds(options_.horizon) -
            static_cast<double>(stopped) * seconds_left(starts);
    return verdict();
  }

 private:
  [[nodiscard]] Verdict verdict() const {
    if (gain_ > cost_) return {};
    const auto whole = [](double slot_seconds) { return static_cast<std::int64_t>(slot_seconds); };
    return {false,
            {ReasonCode::too_costly, {whole(gain_), whole(cost_)}, {}},
            {},
            gain_ > cost_ - at_risk_};
  }

  std::optional<Time> too_soon(const Change& change) const {
    if (change.kind == ChangeKind::start) return std::nullopt;
    const Job& job = snapshot_.state.job(change.job);
    const Duration least = job.spec->minimum_run.value_or(options_.minimum_run);
    Time until = job.current->started_at.value_or(snapshot_.now) + least;
    if (job.last_resized_at) until = std::max(until, *job.last_resized_at + options_.window);
    if (until <= snapshot_.now) return std::nullopt;
    return until;
  }

  void weigh(const Change& change) {
    const Job& job = snapshot_.state.job(change.job);
    if (change.kind != ChangeKind::start) {
      cost_ += resize_cost(job, snapshot_.now);
      at_risk_ += work_at_risk(job, snapshot_.now);
    }
    switch (change.kind) {
      case ChangeKind::start:
        gain_ += slots_of(change) * start_serves(change);
        break;
      case ChangeKind::stop:
        gain_ -= job.slots(job.planned_workers()) * longest_start();
        break;
      default:
        gain_ += (slots_of(change) - job.slots(job.planned_workers())) * seconds_left(job);
        break;
    }
  }

  [[nodiscard]] double slots_of(const Change& change) const {
    const auto workers = static_cast<std::int32_t>(change.placement.size());
    return snapshot_.state.job(change.job).slots(workers);
  }

  // Seconds that the change serves the job, at most the horizon.
  [[nodiscard]] double seconds_left(const Job& job) const {
    const Duration left = remaining(job, snapshot_.now).value_or(options_.horizon);
    return to_seconds(std::min(left, options_.horizon));
  }

  // What a start is worth: the time its slots work, or where somebody is stopped for it, the wait it
  // is spared: without the stop it would start when the last of them is done.
  [[nodiscard]] double start_serves(const Change& start) const {
    double spared = 0;
    bool stops = false;
    for (const Change& change : changes_) {
      if (change.kind != ChangeKind::stop) continue;
      stops = true;
      spared = std::max(spared, seconds_left(snapshot_.state.job(change.job)));
    }
    return stops ? spared : seconds_left(snapshot_.state.job(start.job));
  }

  // How long who is stopped waits: until those who start are done.
  [[nodiscard]] double longest_start() const {
    double longest = 0;
    for (const Change& change : changes_) {
      if (change.kind == ChangeKind::start)
        longest = std::max(longest, seconds_left(snapshot_.state.job(change.job)));
    }
    return longest;
  }

  const TemperOptions& options_;
  const Snapshot& snapshot_;
  std::span<const Change> changes_;
  double gain_ = 0;
  double cost_ = 0;
  double at_risk_ = 0;  // the part of the cost that a checkpoint would spare
};

}  // namespace

Judge make_temper(const TemperOptions& options) {
  return {[options](const Snapshot& snapshot, std::span<const Change> changes, Owed owed) {
            return Trial(options, snapshot, changes).judge(owed);
          },
          [options](const Snapshot& snapshot, const Job& starts, std::int64_t slots,
                    std::int64_t stopped) {
            return Trial(options, snapshot, {}).judge_stops(starts, slots, stopped);
          }};
}

}  // namespace paceline
