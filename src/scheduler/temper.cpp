#include "scheduler/temper.hpp"

#include <algorithm>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"
#include "estimate/scaling.hpp"

namespace paceline {
namespace {

class Trial {
 public:
  Trial(const TemperOptions& options, const Snapshot& snapshot, std::span<const Change> changes)
      : options_(options), snapshot_(snapshot), changes_(changes) {}

  Verdict judge(Owed owed) {
    for (const Change& change : changes_) {
      if (const auto until = too_soon(change)) {
        return {
            false, {ReasonCode::waits_for_window, {workers_of(change), to_us(*until)}, {}}, until};
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
    const Job& job = snapshot_.state.job(change.job);
    if (begins(change.kind) || job.lends()) return std::nullopt;
    Time until = job.current->started_at.value_or(snapshot_.now) + least_run(job, change);
    if (job.last_resized_at) until = std::max(until, *job.last_resized_at + options_.window);
    if (until <= snapshot_.now) return std::nullopt;
    return until;
  }

  // Who was interrupted before knows what it costs to be back, and runs a multiple of that.
  [[nodiscard]] Duration least_run(const Job& job, const Change& change) const {
    if (job.spec->minimum_run) return *job.spec->minimum_run;
    if (job.resize_pauses == 0) return options_.minimum_run;
    const double pauses =
        workers_of(change) > 0 ? options_.pauses_before_resize : options_.pauses_before_stop;
    return std::max(options_.minimum_run, from_seconds(pauses * job.resize_pause));
  }

  void weigh(const Change& change) {
    const Job& job = snapshot_.state.job(change.job);
    if (change.kind != ChangeKind::pause && !begins(change.kind)) {
      cost_ += resize_cost(job, snapshot_.now);
      at_risk_ += work_at_risk(job, snapshot_.now);
    }
    switch (change.kind) {
      case ChangeKind::start:
      case ChangeKind::resume:
        gain_ += useful(job, workers_of(change)) * start_serves(change);
        break;
      case ChangeKind::stop:
      case ChangeKind::pause:
        gain_ -= job.slots(job.planned_workers()) * longest_start();
        break;
      default:
        const double more = useful(job, workers_of(change)) - useful(job, job.planned_workers());
        gain_ += more * (more < 0 && longest_start() > 0 ? longest_start() : seconds_left(job));
        break;
    }
  }

  [[nodiscard]] static std::int32_t workers_of(const Change& change) {
    return static_cast<std::int32_t>(change.placement.size());
  }

  // Slots of that many workers, each counted by what it adds to the speed at the wanted size.
  [[nodiscard]] static double useful(const Job& job, std::int32_t workers) {
    return Scaling(job).speed(workers) * job.slots(job.range.want);
  }

  // Does it give up slots?
  [[nodiscard]] bool gives(const Change& change) const {
    return !begins(change.kind) &&
           workers_of(change) < snapshot_.state.job(change.job).planned_workers();
  }

  // Seconds that the change serves the job, at most the horizon.
  [[nodiscard]] double seconds_left(const Job& job) const {
    const Duration left = remaining(job, snapshot_.now).value_or(options_.horizon);
    return to_seconds(std::min(left, options_.horizon));
  }

  // What a start is worth: the time its slots work, or where others give up slots for it, the wait it
  // is spared: else it would start when the last of them is done.
  [[nodiscard]] double start_serves(const Change& start) const {
    double spared = 0;
    bool given = false;
    for (const Change& change : changes_) {
      if (!gives(change)) continue;
      given = true;
      spared = std::max(spared, seconds_left(snapshot_.state.job(change.job)));
    }
    return given ? spared : seconds_left(snapshot_.state.job(start.job));
  }

  // How long who gives is without its slots: until those who start are done.
  [[nodiscard]] double longest_start() const {
    double longest = 0;
    for (const Change& change : changes_) {
      if (begins(change.kind))
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
