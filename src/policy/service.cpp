#include "policy/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "policy/shares.hpp"

namespace paceline {
namespace {

constexpr std::string_view kMemo = "las.base.";
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kQueueGrowth = 10;

std::int32_t queue_of(double service, double threshold, std::int64_t queues) {
  std::int32_t queue = 0;
  for (double bound = threshold; queue + 1 < queues && service >= bound; bound *= kQueueGrowth)
    ++queue;
  return queue;
}

double queue_measure(const Job& job, const Order::Parameters& parameters) {
  return queue_of(job.slot_seconds, parameters[0], static_cast<std::int64_t>(parameters[1]));
}

double first_start(const Job& job) { return job.started_at ? to_seconds(*job.started_at) : kNever; }

// When a job that waits and had so much service is promoted: never from the first queue.
double promotion_after(const Job& job, double service, double promote, double threshold) {
  if (service < threshold) return kNever;
  const auto slots = static_cast<double>(job.slots(job.range.want));
  return to_seconds(job.waiting_since) + promote * service / slots;
}

double first_promotion(const Job& job, const Order::Parameters& parameters) {
  return promotion_after(job, job.slot_seconds, parameters[0], parameters[1]);
}

}  // namespace

Service::Service(const Snapshot& snapshot, Draft& draft, const LasParameters& parameters)
    : snapshot_(snapshot), draft_(draft), parameters_(parameters) {
  read_memo();
  if (parameters_.promote > 0) find_promoted();
}

Order Service::order() const {
  return {queue_measure,
          least_slots,
          first_start,
          {parameters_.threshold, static_cast<double>(parameters_.queues)}};
}

double Service::attained(const Job& job) const {
  const double since = std::max(0.0, to_seconds(snapshot_.now - job.changed_at)) * job.leased;
  const auto base = base_.find(job.id);
  return job.slot_seconds + since - (base == base_.end() ? 0 : base->second);
}

std::int32_t Service::queue(const Job& job) const {
  return queue_of(attained(job), parameters_.threshold, parameters_.queues);
}

OrderKey Service::key(const Job& job) const {
  OrderKey key = order_key(order(), job);
  key.measure = queue(job);
  return key;
}

void Service::read_memo() {
  const auto& memo = snapshot_.state.memo();
  for (auto at = memo.lower_bound(std::string(kMemo)); at != memo.end(); ++at) {
    if (!at->first.starts_with(kMemo)) break;
    const std::string_view digits = std::string_view(at->first).substr(kMemo.size());
    JobId id;
    std::from_chars(digits.data(), digits.data() + digits.size(), id.value);
    const Job* job = snapshot_.state.find_job(id);
    if (!job || is_over(job->state)) {
      over_.push_back(id);
      continue;
    }
    double base = 0;
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), base);
    base_[id] = base;
    if (snapshot_.state.waiting().contains(queue_key(*job))) apart_.push_back(job);
  }
}

// The first instant at which that many seconds have passed; never now, however seconds are rounded.
Time Service::instant(double seconds) const {
  const Time at = time_from_us(std::llround(std::ceil(seconds * 1e6)));
  return std::max(at, snapshot_.now + Duration{1});
}

void Service::promote(const Job& job) {
  promoted_.push_back(&job);
  base_[job.id] = job.slot_seconds;
}

// Of those who were promoted before, each for itself; of all others in an order that the state
// keeps. The walk goes by priority first: in each, those whose instant has come stand in front.
void Service::find_promoted() {
  const double now = to_seconds(snapshot_.now);
  for (const Job* job : apart_) {
    const double at =
        promotion_after(*job, attained(*job), parameters_.promote, parameters_.threshold);
    if (at <= now)
      promote(*job);
    else if (at < kNever)
      draft_.revisit(instant(at));
  }
  const WaitingOrder& waiting = snapshot_.state.waiting_by(
      {first_promotion, least_slots, nullptr, {parameters_.promote, parameters_.threshold}});
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  for (auto at = waiting.first(kAll); at;) {
    if (at->measure <= now) {
      const Job& job = snapshot_.state.job(at->job);
      if (!base_.contains(job.id)) {
        promote(job);
        apart_.push_back(&job);
      }
      at = waiting.next(*at, kAll);
      continue;
    }
    if (at->measure < kNever) draft_.revisit(instant(at->measure));
    at = waiting.next({at->negative_priority, kNever, kNever, Time::max(), JobId{~0U}}, kAll);
  }
}

void Service::remember() {
  for (const JobId id : over_) draft_.remember(fmt::format("{}{}", kMemo, id.value), "");
  for (const Job* job : promoted_) {
    if (draft_.workers(job->id) == 0) continue;
    draft_.remember(fmt::format("{}{}", kMemo, job->id.value),
                    fmt::format("{}", job->slot_seconds));
  }
  revisit_demotions();
}

void Service::revisit_demotions() {
  for (const auto& key : snapshot_.state.active()) {
    const Job& job = snapshot_.state.job(key.job);
    if (job.leased == 0) continue;
    const std::int32_t in = queue(job);
    if (in + 1 >= parameters_.queues) continue;
    const double bound = parameters_.threshold * std::pow(kQueueGrowth, in);
    const double seconds = (bound - attained(job)) / job.leased;
    draft_.revisit(snapshot_.now + Duration{std::llround(std::ceil(seconds * 1e6))});
  }
}

}  // namespace paceline
