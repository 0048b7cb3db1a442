#include "policy/las.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/draft.hpp"
#include "policy/pages.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kQueueGrowth = 10;

struct QueuePlace {
  std::int32_t queue = 0;
  double until = kNever;  // the service at which the next queue begins
};

QueuePlace place_of(double service, double threshold, std::int64_t queues) {
  QueuePlace place{0, threshold};
  for (; place.queue + 1 < queues && service >= place.until; place.until *= kQueueGrowth)
    ++place.queue;
  if (place.queue + 1 >= queues) place.until = kNever;
  return place;
}

std::int32_t queue_of(double service, double threshold, std::int64_t queues) {
  return place_of(service, threshold, queues).queue;
}

// By a threshold and the number of queues.
double queue_of_service(double service, const Order::Parameters& parameters) {
  return queue_of(service, parameters[0], static_cast<std::int64_t>(parameters[1]));
}

double service_measure(const Job& job, const Order::Parameters&) {
  return job.slot_seconds - job.service_from;
}

double slots_leased(const Job& job) { return job.leased; }

double first_start(const Job& job) { return job.started_at ? to_seconds(*job.started_at) : kNever; }

// When a job that waits from then on counts its service anew: never from the first queue.
double counts_anew_from(Time since, const Job& job, double service, double promote,
                        double threshold) {
  if (service < threshold) return kNever;
  return to_seconds(since) + promote * service / static_cast<double>(job.slots(job.range.want));
}

double counts_anew_at(const Job& job, const Order::Parameters& parameters) {
  return counts_anew_from(job.waiting_since, job, job.slot_seconds - job.service_from,
                          parameters[0], parameters[1]);
}

}  // namespace

Result<LasParameters> read_las(const Parameters& parameters) {
  LasParameters read;
  ParameterReader reader(parameters);
  reader.whole("queues", read.queues, 1, 16).real("threshold", read.threshold, 1e-3, 1e12);
  if (auto ok = reader.real("promote", read.promote, 0, 1e6).finish(); !ok) return fail(ok.error());
  return read;
}

PolicyInfo Las::info() {
  return {.name = "las",
          .summary = "Least attained service first, in queues; others are stopped for it.",
          .text = policy_page("las"),
          .defaults = {{"queues", "5"}, {"threshold", "3600"}, {"promote", "8"}},
          .make = make,
          .preempts = true};
}

Result<std::unique_ptr<Policy>> Las::make(const Parameters& parameters) {
  auto read = read_las(parameters);
  if (!read) return fail(read.error());
  return std::make_unique<Las>(*read);
}

void Las::decide(const Snapshot& snapshot, Draft& draft) const {
  if (snapshot.state.waiting().empty()) return;
  AttainedService service(snapshot, draft, parameters_);
  Shares shares(snapshot, draft, service.order(), Sizes::wanted);
  shares.all_in_order({.apart = service.apart()});
  settle(snapshot, draft,
         {.wishes = shares.wishes(),
          .precedence = "had less service",
          .rest = Rest{service.order(), Sizes::wanted, "jobs that had less service"}});
  service.revisit();
}

// ---- attained service ----
AttainedService::AttainedService(const Snapshot& snapshot, Draft& draft,
                                 const LasParameters& parameters)
    : snapshot_(snapshot), draft_(draft), parameters_(parameters) {
  if (parameters_.promote > 0) count_anew();
}

Order AttainedService::order() const {
  return {.measure = service_measure,
          .need = least_slots,
          .then = first_start,
          .parameters = {parameters_.threshold, static_cast<double>(parameters_.queues)},
          .slope = slots_leased,
          .counts = queue_of_service};
}

double AttainedService::attained(const Job& job) const {
  const double since = std::max(0.0, to_seconds(snapshot_.now - job.changed_at)) * job.leased;
  return job.slot_seconds + since - job.service_from;
}

std::int32_t AttainedService::queue(const Job& job) const {
  if (!is_counted_anew_.empty() && is_counted_anew_.contains(job.id)) return 0;
  return queue_of(attained(job), parameters_.threshold, parameters_.queues);
}

// The first instant at which that many seconds have passed; never now, however seconds are rounded.
Time AttainedService::instant(double seconds) const {
  const Time at = time_from_us(std::llround(std::ceil(seconds * 1e6)));
  return std::max(at, snapshot_.now + Duration{1});
}

// In an order that the state keeps. The walk goes by what comes first, the
// priority: in each, those whose instant
// has come stand in front.
void AttainedService::count_anew() {
  const double now = to_seconds(snapshot_.now);
  const WaitingOrder& waiting = snapshot_.state.waiting_by(
      {counts_anew_at, least_slots, nullptr, {parameters_.promote, parameters_.threshold}});
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  auto walk = waiting.walk();
  while (const OrderKey* at = walk.next(kAll)) {
    if (at->measure <= now) {
      counted_anew_.push_back(order_key(order(), snapshot_.state.job(at->job)));
      counted_anew_.back().measure = 0;
      is_counted_anew_.insert(at->job);
      draft_.count_anew(at->job);
      continue;
    }
    if (at->measure < kNever) draft_.revisit(instant(at->measure));
    walk = waiting.walk_after({at->first, kNever, kNever, Time::max(), JobId{~0U}});
  }
}

void AttainedService::revisit() {
  double soonest = kNever;
  for (const auto& row : snapshot_.state.running_by(order()).rows()) {
    if (row.slope > 0)
      soonest = std::min(soonest, seconds_to_fall(row.measure(snapshot_.now), row.slope));
  }
  for (const Change& change : draft_.changes()) {
    const Job& job = snapshot_.state.job(change.job);
    if (begins(change.kind)) {
      const double service = is_counted_anew_.contains(job.id) ? 0 : attained(job);
      const auto slots = job.slots(static_cast<std::int32_t>(change.placement.size()));
      soonest = std::min(soonest, seconds_to_fall(service, slots));
    }
    if (preempts(change.kind)) revisit_counting_anew(job);
  }
  if (soonest < kNever)
    draft_.revisit(snapshot_.now + Duration{std::llround(std::ceil(soonest * 1e6))});
}

void AttainedService::revisit_counting_anew(const Job& stopped) {
  if (parameters_.promote <= 0) return;
  const double at = counts_anew_from(snapshot_.now, stopped, attained(stopped), parameters_.promote,
                                     parameters_.threshold);
  if (at < kNever) draft_.revisit(instant(at));
}

double AttainedService::seconds_to_fall(double service, double slots) const {
  const QueuePlace place = place_of(service, parameters_.threshold, parameters_.queues);
  return (place.until - service) / slots;
}

}  // namespace paceline
