#include "scheduler/thinning.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace paceline {
namespace {

// Is it the first of its batch to meet a tier that was not met before?
class Tiers {
 public:
  explicit Tiers(const Job* job) : job_(job) {}

  bool met_by(const MetricPoint& point) {
    if (!job_ || !job_->spec->target) return false;
    const Target& target = *job_->spec->target;
    const auto value = point.values.find(target.metric);
    if (value == point.values.end()) return false;
    const auto first = [&](bool& told, const std::optional<Time>& known, double threshold) {
      return !known && meets(target, threshold, value->second) && !std::exchange(told, true);
    };
    const bool delivers = first(delivered_, job_->target.delivered_at, target.deliver);
    return first(reached_, job_->target.reached_at, target.final) || delivers;
  }

 private:
  const Job* job_;
  bool delivered_ = false, reached_ = false;
};

}  // namespace

Thinning::Taken Thinning::take(std::vector<MetricPoint> points, std::span<const Event> events,
                               const State& state, Time now) {
  if (points.empty() && held_.empty()) return {};
  std::map<JobId, std::vector<MetricPoint>> by_job;
  for (auto& point : points) by_job[point.job].push_back(std::move(point));
  for (auto& [id, of_job] : by_job) take_job(id, state.find_job(id), std::move(of_job), now);
  if (!held_.empty()) catch_up(events, now);
  forget_idle(now);
  Taken taken{std::exchange(kept_, {}), {}};
  for (const auto& [process, passed] : std::exchange(passed_over_, {}))
    taken.passed_over.push_back(passed);
  return taken;
}

void Thinning::pass_over(const MetricPoint& point, std::int64_t points) {
  const ProcessKey process{point.job, point.born, point.number};
  auto& known = passed_over_[process];
  known = {process, known.points + points, std::max(known.newest, point.report)};
}

void Thinning::take_job(JobId id, const Job* job, std::vector<MetricPoint> points, Time now) {
  const auto [found, fresh] = shares_.try_emplace(id);
  Share& share = found->second;
  if (fresh) {
    const std::uint32_t owner = job ? job->spec->uid : 0;
    ++owners_[owner];
    share = {owner, limit_of(owner), now};
  }
  refill(share, now);
  const auto room = static_cast<std::size_t>(share.room), count = points.size();
  const bool all = count <= room;
  Tiers tiers(job);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool chosen = all || (i + 1) * room / count > i * room / count;
    const bool stays = tiers.met_by(points[i]) || share.fresh;
    share.fresh = false;
    if (chosen || stays) {
      ++taken;
      share.newest.reset();
      kept_.push_back(std::move(points[i]));
    } else {
      pass_over(points[i], 1);
      share.newest = std::move(points[i]);
    }
  }
  share.room = std::max(0.0, share.room - static_cast<double>(taken));
  if (share.newest)
    held_.insert(id);
  else
    held_.erase(id);
}

// At least one point fits, however long it takes until there is room for it.
double Thinning::limit_of(std::uint32_t owner) const {
  return std::min(per_job_, per_user_ / static_cast<double>(owners_.at(owner)));
}

void Thinning::refill(Share& share, Time now) const {
  const double limit = limit_of(share.owner);
  const double passed = std::max(0.0, to_seconds(now - share.at));
  share.room = std::min(std::max(1.0, limit), share.room + passed * limit);
  share.at = now;
}

void Thinning::catch_up(std::span<const Event> events, Time now) {
  std::set<JobId> ended;
  for (const Event& event : events) {
    if (const auto* end = std::get_if<WorkerEnded>(&event)) ended.insert(end->worker.job);
  }
  for (auto id = held_.begin(); id != held_.end();) {
    Share& share = shares_.at(*id);
    refill(share, now);
    if (share.room < 1 && !ended.contains(*id)) {
      ++id;
      continue;
    }
    share.room = std::max(0.0, share.room - 1);
    pass_over(*share.newest, -1);
    kept_.push_back(std::move(*std::exchange(share.newest, std::nullopt)));
    id = held_.erase(id);
  }
}

// A job that reported nothing for a second has all its room again.
void Thinning::forget_idle(Time now) {
  constexpr Duration kIdle = std::chrono::seconds{1};
  if (now - forgotten_at_ < kIdle && now >= forgotten_at_) return;
  forgotten_at_ = now;
  std::erase_if(shares_, [&](const auto& each) {
    const Share& share = each.second;
    if (share.newest || now - share.at <= kIdle) return false;
    if (const auto owner = owners_.find(share.owner); --owner->second == 0) owners_.erase(owner);
    return true;
  });
}

}  // namespace paceline
