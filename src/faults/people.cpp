#include "faults/people.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnswerWithin = 5s;     // then they ask again
constexpr Duration kDrainSoon = 2min;      // drains begin and end so soon at the latest
constexpr const char* kBrought = "slurm";  // a label of nodes that Slurm brings

std::string_view word(Request request) {
  switch (request) {
    case Request::cancel:
      return "cancel";
    case Request::pause:
      return "pause";
    default:
      return "resume";
  }
}

}  // namespace

People::People(EventQueue& queue, Ledger& ledger, Rng rng, Habits habits)
    : queue_(queue), ledger_(ledger), rng_(rng), habits_(std::move(habits)) {}

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
  queue_.after(Duration{rng_.between(0, habits_.every.count())}, [this] { act(); });
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
  server_->submit({wish.spec, launch_of(name), name},
                  [this, name, life = server_life_](const Result<JobId>& id) {
                    Wish& mine = wishes_[name];
                    if (!id && id.error().retry == Retry::useless)
                      give_in(mine.spec, id.error().message);
                    if (!id || life != server_life_ || mine.promised) return;
                    mine.promised = true;
                    ++promised_;
                    ledger_.promised(*id, name, mine.spec.uid);
                  });
}

// What it waited for is over, its deadline has passed, or it fits nowhere.
void People::give_in(JobSpec& spec, std::string_view why) {
  ledger_.note("submission refused", why);
  spec.after.clear();
  spec.deadline.reset();
  spec.affinity.clear();
}

void People::meddle() {
  if (!server_ || server_->state().jobs().given() == 0) return;
  switch (rng_.below(10)) {
    case 0:
      return ask(Request::cancel);
    case 1:
    case 2:
      return ask(Request::pause);
    case 3:
    case 4:
      return ask(Request::resume);
    case 5:
    case 6:
      return meddle_with_policies();
    case 7:
      return meddle_with_nodes();
    default:
      return change_range();
  }
}

void People::ask(Request request) {
  server_->request(any_job(), request, account(kPeople), deed(word(request)));
}

void People::change_range() {
  const JobId job = any_job();
  const Job* known = server_->state().find_job(job);
  server_->set_range(job, known ? draw_range(*known->spec) : WorkerRange{1, 1, 1}, account(kPeople),
                     deed("range set"));
}

// One that has an order already gets another, or none.
void People::meddle_with_nodes() {
  const auto& nodes = server_->state().nodes();
  if (nodes.empty()) return;
  const Node& node = nodes[rng_.below(nodes.size())];
  const std::string name = node.spec.name;
  if (node.drain && rng_.chance(0.7))
    return server_->drains().undrain(name, account(kPeople), deed("undrain"));
  DrainOrder order;
  if (rng_.chance(0.3))
    order.from = server_->wall() + Duration{rng_.between(1, kDrainSoon.count())};
  if (rng_.chance(0.6)) order.within = Duration{rng_.between(0, kDrainSoon.count())};
  server_->drains().drain(name, std::move(order), account(kPeople), deed("drain"));
}

void People::undrain_all() {
  for (const Node& node : server_->state().nodes())
    if (node.drain && !node.spec.labels.contains(kBrought))
      server_->drains().undrain(node.spec.name, account(kPeople), [](const Result<void>&) {});
}

Done<void> People::deed(std::string_view what) {
  return [this, what](const Result<void>& done) {
    if (done) ledger_.count(what);
  };
}

JobId People::any_job() {
  return JobId{static_cast<std::uint32_t>(1 + rng_.below(server_->state().jobs().given()))};
}

void People::calm() {
  calm_ = true;
  while (submitted_ < habits_.jobs) submit_one();
  let_go_on();
}

void People::let_go_on() {
  if (server_) {
    keep_to_one_policy();
    undrain_all();
    for (const auto& key : server_->state().queue())
      server_->request(key.job, Request::resume, account(kPeople), [](const Result<void>&) {});
  }
  queue_.after(10s, [this] { let_go_on(); });
}

}  // namespace paceline::faults
