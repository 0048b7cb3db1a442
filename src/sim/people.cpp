#include "sim/people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnswerWithin = 5s;  // then they ask again
constexpr std::array kPolicies = {"fifo", "elastic-fifo", "round-robin"};

LaunchSpec launch() { return {{"python3", "train.py"}, false, "", {}, "/home/ann", 022}; }

}  // namespace

People::People(EventQueue& queue, Ledger& ledger, Rng rng, const Habits& habits)
    : queue_(queue), ledger_(ledger), rng_(rng), habits_(habits) {}

void People::set_server(Controller* server) {
  server_ = server;
  ++server_life_;
}

void People::begin() { act(); }

void People::act() {
  if (calm_) return;
  if (submitted_ < habits_.jobs && rng_.chance(0.5))
    submit_one();
  else
    meddle();
  queue_.after(Duration{rng_.between(0, habits_.pause_max.count())}, [this] { act(); });
}

void People::submit_one() {
  const auto name = fmt::format("job-{}", ++submitted_);
  wishes_[name].spec = draw_spec();
  wishes_[name].spec.name = name;
  insist(name);
}

// The same key again and again until there is an id.
void People::insist(const std::string& name) {
  Wish& wish = wishes_[name];
  if (wish.promised) return;
  queue_.after(kAnswerWithin, [this, name] { insist(name); });
  if (!server_) return;
  server_->submit({wish.spec, launch(), name},
                  [this, name, life = server_life_](const Result<JobId>& id) {
                    Wish& mine = wishes_[name];
                    if (!id && id.error().retry == Retry::useless)
                      mine.spec.after.clear();  // what it waited for is over
                    if (!id || life != server_life_ || mine.promised) return;
                    mine.promised = true;
                    ++promised_;
                    ledger_.promised(*id, name);
                  });
}

void People::meddle() {
  if (!server_ || server_->state().jobs().empty()) return;
  const auto ignore = [](const Result<void>&) {};
  const JobId job = any_job();
  switch (rng_.below(8)) {
    case 0:
      return server_->request(job, Request::cancel, 1000, ignore);
    case 1:
    case 2:
      return server_->request(job, Request::pause, 1000, ignore);
    case 3:
    case 4:
      return server_->request(job, Request::resume, 1000, ignore);
    case 5:
      return server_->set_policy(kPolicies[rng_.below(kPolicies.size())], {}, ignore);
    default:
      return server_->set_range(job, draw_range(server_->state().job(job).spec->slots_per_worker),
                                ignore);
  }
}

JobId People::any_job() {
  return JobId{static_cast<std::uint32_t>(1 + rng_.below(server_->state().jobs().size()))};
}

WorkerRange People::draw_range(std::int32_t slots_per_worker) {
  const auto most = std::max<std::int64_t>(1, habits_.slots / slots_per_worker / 2);
  const auto low = static_cast<std::int32_t>(rng_.between(1, most));
  const auto high = static_cast<std::int32_t>(rng_.between(low, 2 * most));
  return {low, high, static_cast<std::int32_t>(rng_.between(low, high))};
}

JobSpec People::draw_spec() {
  JobSpec spec;
  spec.user = "ann";
  spec.uid = 1000;
  spec.slots_per_worker = rng_.chance(0.2) ? 2 : 1;
  spec.workers = draw_range(spec.slots_per_worker);
  spec.priority = static_cast<std::int32_t>(rng_.between(45, 55));
  spec.retries = static_cast<std::int32_t>(rng_.below(3));
  spec.elastic = rng_.chance(0.5)   ? Elastic::restart
                 : rng_.chance(0.7) ? Elastic::automatic
                                    : Elastic::no;
  spec.notice.grace = Duration{rng_.between(0, Duration{20s}.count())};
  spec.hold = rng_.chance(0.1);
  if (rng_.chance(0.2))
    spec.max_duration = Duration{rng_.between(Duration{10s}.count(), Duration{2min}.count())};
  if (rng_.chance(0.2)) spec.target = Target{"accuracy", Direction::at_least, 0.95, 0.98};
  if (server_ && !server_->state().jobs().empty() && rng_.chance(0.15)) spec.after = {any_job()};
  return spec;
}

void People::calm() {
  calm_ = true;
  while (submitted_ < habits_.jobs) submit_one();
  let_go_on();
}

void People::let_go_on() {
  if (server_) {
    for (const auto& key : server_->state().queue())
      server_->request(key.job, Request::resume, 1000, [](const Result<void>&) {});
  }
  queue_.after(10s, [this] { let_go_on(); });
}

}  // namespace paceline::sim
