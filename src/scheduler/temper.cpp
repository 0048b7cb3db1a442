#include "scheduler/temper.hpp"

#include <algorithm>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"
#include "estimate/scaling.hpp"
#include "plan/reclaim.hpp"

namespace paceline {
namespace {

class Trial {
 public:
  Trial(const TemperOptions& options, const Snapshot& snapshot, std::span<const Part> parts)
      : options_(options), snapshot_(snapshot), parts_(parts) {}

  Verdict judge(Owed owed) {
    for (const Part& part : parts_) {
      if (const auto until = too_soon(part)) {
        return {false, {ReasonCode::waits_for_window, {part.workers, to_us(*until)}, {}}, until};
      }
    }
    if (owed == Owed::yes) return {};
    if (knows_all_lengths()) waits_ = options_.wait_horizon;
    for (const Part& part : parts_) look_at(part);
    for (const Part& part : parts_) weigh(part);
    return verdict();
  }

  // The most that such a trade could gain: who is stopped would have worked for the whole horizon,
  // nothing of it is lost and nobody pauses.
  Verdict judge_stops(const Job& starts, std::int64_t slots, std::int64_t stopped) {
    if (remaining(starts, snapshot_.now)) waits_ = options_.wait_horizon;
    gain_ = static_cast<double>(slots) * to_seconds(waits_) -
            static_cast<double>(stopped) * seconds_left(starts, waits_);
    return verdict();
  }

 private:
  [[nodiscard]] Verdict verdict() const {
    if (gain_ <= cost_) return dropped(gain_, cost_);
    return soon_ > 0 && forgotten_ >= soon_ ? dropped(soon_, forgotten_) : Verdict();
  }

  [[nodiscard]] Verdict dropped(double gain, double cost) const {
    const auto whole = [](double slot_seconds) {
      return static_cast<std::int64_t>(std::max(0.0, slot_seconds));
    };
    return {false,
            {ReasonCode::too_costly, {whole(gain), whole(cost)}, {}},
            {},
            gain_ > cost_ - at_risk_,
            loser_};
  }

  std::optional<Time> too_soon(const Part& part) const {
    const Job& job = snapshot_.state.job(part.job);
    if (begins(part.kind) || job.lends()) return std::nullopt;
    Time until = job.current->started_at.value_or(snapshot_.now) + least_run(job, part);
    if (job.last_resized_at) until = std::max(until, *job.last_resized_at + options_.window);
    if (until <= snapshot_.now) return std::nullopt;
    return until;
  }

  // Who was interrupted before knows what it costs to be back, and runs a multiple of that.
  [[nodiscard]] Duration least_run(const Job& job, const Part& part) const {
    if (job.spec->minimum_run) return *job.spec->minimum_run;
    if (job.resize_pauses == 0) return options_.minimum_run;
    const double pauses =
        part.workers > 0 ? options_.pauses_before_resize : options_.pauses_before_stop;
    return std::max(options_.minimum_run, from_seconds(pauses * job.resize_pause));
  }

  [[nodiscard]] bool knows_all_lengths() const {
    return std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      return remaining(snapshot_.state.job(part.job), snapshot_.now).has_value();
    });
  }

  void look_at(const Part& part) {
    const Job& job = snapshot_.state.job(part.job);
    if (begins(part.kind))
      longest_start_ = std::max(longest_start_, seconds_left(job, waits_));
    else if (part.workers < job.planned_workers())
      longest_giver_ = std::max(longest_giver_.value_or(0), seconds_left(job, waits_));
  }

  void weigh(const Part& part) {
    const Job& job = snapshot_.state.job(part.job);
    if (part.kind != ChangeKind::pause && !begins(part.kind)) {
      lose(job, part.kind == ChangeKind::stop ? may_stop_from(snapshot_, job) : snapshot_.now);
    }
    const double served = seconds_left(job, options_.horizon);
    switch (part.kind) {
      case ChangeKind::start:
      case ChangeKind::resume:
        gain_ += useful(job, part.workers) * longest_giver_.value_or(served);
        soon_ += useful(job, part.workers) *
                 std::min(longest_giver_.value_or(served), to_seconds(options_.horizon));
        break;
      case ChangeKind::stop:
      case ChangeKind::pause:
        gain_ -= job.slots(job.planned_workers()) * longest_start_;
        break;
      default:
        const double more = useful(job, part.workers) - useful(job, job.planned_workers());
        gain_ += more * (more < 0 && longest_start_ > 0 ? gone(job) : served);
        break;
    }
  }

  // Who has to be asked before it is stopped works until then.
  void lose(const Job& job, Time when) {
    const double cost = resize_cost(job, when), work = work_at_risk(job, when);
    if (!loser_ || cost > largest_) {
      loser_ = job.id;
      largest_ = cost;
    }
    cost_ += cost;
    at_risk_ += work;
    if (job.begins_anew()) forgotten_ += work;
  }

  // Slots of that many workers, each counted by what it adds to the speed at the wanted size.
  [[nodiscard]] static double useful(const Job& job, std::int32_t workers) {
    const double speed = workers == job.range.want ? 1 : Scaling(job).speed(workers);
    return speed * job.slots(job.range.want);
  }

  // How long a job that shrinks for a start is without what it gives: no longer than it runs.
  [[nodiscard]] double gone(const Job& job) const {
    return std::min(longest_start_, seconds_left(job, waits_));
  }

  // What is not known lasts beyond the horizon.
  [[nodiscard]] double seconds_left(const Job& job, Duration horizon) const {
    return to_seconds(std::min(remaining(job, snapshot_.now).value_or(horizon), horizon));
  }

  const TemperOptions& options_;
  const Snapshot& snapshot_;
  std::span<const Part> parts_;
  Duration waits_ = options_.horizon;  // for which waits count
  // What a start is worth: the time its slots work, or where others give up slots for it, the wait
  // it is spared: else it would start when the last of them is done.
  std::optional<double> longest_giver_;  // seconds
  // How long who gives is without its slots: until those who start are done.
  double longest_start_ = 0;  // seconds
  double gain_ = 0;
  double cost_ = 0;
  double at_risk_ = 0;          // the part of the cost that a checkpoint would spare
  double forgotten_ = 0;        // of that, of jobs that would begin anew
  double soon_ = 0;             // what starts gain within the horizon of growth
  std::optional<JobId> loser_;  // whose part of the cost is largest
  double largest_ = 0;
};

}  // namespace

Judge make_temper(const TemperOptions& options) {
  return {[options](const Snapshot& snapshot, std::span<const Part> parts, Owed owed) {
            return Trial(options, snapshot, parts).judge(owed);
          },
          [options](const Snapshot& snapshot, const Job& starts, std::int64_t slots,
                    std::int64_t stopped) {
            return Trial(options, snapshot, {}).judge_stops(starts, slots, stopped);
          }};
}

}  // namespace paceline
