#include "sim/fault_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;

const Time kBegin = time_from_us(1'700'000'000'000'000);
constexpr Duration kStepDelay = 100us;  // from a wake-up to the step
struct Pace {
  int jobs;
  Duration every;  // at most, between two deeds of people and between two misfortunes
};
constexpr std::array kPaces = {Pace{30, 20s}, Pace{50, 8s}, Pace{80, 2s}};

constexpr LinkHabits kBadLink{0.1, 0.1, 300ms, 3s, false};
constexpr LinkHabits kGoodLink{0, 0, 1ms, 1ms, false};

}  // namespace

FaultWorld::FaultWorld(const FaultOptions& options, Store& disk, MakeEngine make_engine)
    : options_(options),
      queue_(kBegin),
      rng_(options.seed),
      store_(disk),
      make_engine_(std::move(make_engine)) {}

FaultWorld::~FaultWorld() = default;

void FaultWorld::build_machines() {
  const Pace pace = kPaces[rng_.below(kPaces.size())];
  misfortune_every_ = pace.every;
  People::Habits habits{pace.jobs, pace.every, 0};
  LinkHabits bad = kBadLink;
  bad.as_text = rng_.chance(0.2);
  const auto count = 1 + rng_.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto slots = static_cast<std::int32_t>(rng_.between(2, 6));
    habits.slots += slots;
    NodeSpec node{
        fmt::format("box-{}", i), fmt::format("10.0.0.{}", i + 1), "", 64, 1ULL << 38, {}};
    node.slots.resize(static_cast<std::size_t>(slots),
                      SlotSpec{SlotKind::cpu, "cpu", "", 0, true, ""});
    Machine machine;
    machine.host = std::make_unique<SimHost>(queue_, ledger_, Rng(rng_.next()), std::move(node));
    machine.link = std::make_unique<SimLink>(queue_, Rng(rng_.next()), sessions_);
    machine.link->set_habits(bad);
    machines_.push_back(std::move(machine));
  }
  people_.emplace(queue_, ledger_, Rng(rng_.next()), habits);
}

FaultReport FaultWorld::run() {
  build_machines();
  start_server();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    start_agent(i);
    reconnect(i);
  }
  people_->begin();
  befall();
  queue_.at(kBegin + options_.faults_for, [this] { heal(); });
  const Time end = kBegin + options_.faults_for + options_.calm_for_max;
  while (!at_rest() && queue_.now() < end && ledger_.faults().empty() && queue_.run_next()) {
  }
  if (server_) check_rest();
  for (const Machine& machine : machines_) {
    if (machine.host->claim_count() > 0) ledger_.wrong(queue_.now(), "a claim was not discarded");
  }
  report_.faults = ledger_.faults();
  report_.digest = ledger_.digest();
  ledger_.note("event", queue_.done());
  report_.happened = ledger_.happened();
  if (server_) report_.jobs = server_->controller->state().jobs().size();
  report_.took = queue_.now() - kBegin;
  return report_;
}

void FaultWorld::check_rest() {
  const State& state = server_->controller->state();
  ledger_.at_rest(queue_.now(), state);
  for (const auto& key : state.queue()) {
    for (const auto& why : server_->controller->why(key.job)) {
      ledger_.wrong(queue_.now(), fmt::format("job {}: {}", key.job.value, why));
    }
  }
}

bool FaultWorld::at_rest() const {
  if (!calm_ || !server_ || !people_->done() || ledger_.alive() > 0) return false;
  const bool claims = std::any_of(machines_.begin(), machines_.end(),
                                  [](const Machine& m) { return m.host->claim_count() > 0; });
  return !claims && server_->controller->state().queue().empty();
}

Duration FaultWorld::up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }

// ---- the server ----

void FaultWorld::start_server() {
  store_.revive();
  ++server_life_;
  server_step_put_ = false;
  server_timer_.reset();
  Server server;
  if (!calm_) server_clock_.ahead = up_to(kClockErrorMax) - kClockErrorMax / 2;
  server.parts = make_engine_(server_clock_, [this](JobId job) { return store_.launch(job); });
  Controller::Options options;
  options.checkpoint_entries = 100;
  server.controller =
      std::make_unique<Controller>(store_, *server.parts.engine, server_clock_, policies_, options);
  server_ = std::move(server);
  Controller& controller = *server_->controller;
  if (!controller.recover()) {  // the disk is full
    server_.reset();
    queue_.after(1s, [this] { start_server(); });
    return;
  }
  ledger_.recovered(queue_.now(), controller.state());
  controller.on_wake([this] { wake_server(); });
  controller.on_commit([this](std::span<const Entry> entries, std::span<const JobId> touched) {
    ledger_.committed(queue_.now(), entries, server_->controller->state(), touched);
  });
  server_->parts.end->on_send([this](const ServerFrame& frame) {
    if (store_.crashed()) return;
    for (Machine& machine : machines_) machine.link->send(frame);
  });
  for (Machine& machine : machines_) machine.link->set_server(server_->parts.end);
  people_->set_server(&controller);
  wake_server();
}

void FaultWorld::stop_server() {
  ledger_.note("server crash");
  ++server_life_;
  people_->set_server(nullptr);
  for (Machine& machine : machines_) machine.link->set_server(nullptr);
  server_.reset();
  queue_.after(up_to(calm_ ? 0s : 10s), [this] { start_server(); });
}

void FaultWorld::wake_server() {
  if (std::exchange(server_step_put_, true)) return;
  queue_.after(kStepDelay, [this, life = server_life_] {
    if (life == server_life_) step_server();
  });
}

void FaultWorld::step_server() {
  server_step_put_ = false;
  server_->parts.end->step();
  (void)server_->controller->step();  // a refused write is tried again by itself
  if (store_.crashed()) return stop_server();
  set_server_timer();
}

void FaultWorld::set_server_timer() {
  auto due = server_->controller->next_due();
  if (const auto other = server_->parts.end->next_due(); other)
    due = std::min(due.value_or(*other), *other);
  if (due) *due -= server_clock_.ahead;
  if (!due || (server_timer_ && *server_timer_ <= *due && *server_timer_ > queue_.now())) return;
  server_timer_ = due;
  queue_.at(*due, [this, life = server_life_] {
    if (life == server_life_) wake_server();
  });
}

// ---- agents ----

void FaultWorld::start_agent(std::size_t i) {
  Machine& machine = machines_[i];
  machine.agent = std::make_unique<agent::Agent>(*machine.host);
  machine.step_put = false;
  machine.timer.reset();
  machine.agent->on_send([&machine](const AgentFrame& frame) { machine.link->send(frame); });
  machine.agent->on_wake([this, i] { wake_agent(i); });
  machine.agent->start();
  machine.link->set_agent(machine.agent.get());
  wake_agent(i);
}

void FaultWorld::stop_agent(std::size_t i, Duration back_after) {
  Machine& machine = machines_[i];
  if (!machine.agent) return;
  ++machine.life;
  machine.host->agent_died();
  machine.link->set_agent(nullptr);
  machine.agent.reset();
  queue_.after(back_after, [this, i] { start_agent(i); });
}

void FaultWorld::wake_agent(std::size_t i) {
  if (std::exchange(machines_[i].step_put, true)) return;
  queue_.after(kStepDelay, [this, i, life = machines_[i].life] {
    if (life == machines_[i].life) step_agent(i);
  });
}

void FaultWorld::step_agent(std::size_t i) {
  machines_[i].step_put = false;
  machines_[i].agent->step(queue_.now());
  set_agent_timer(i);
}

void FaultWorld::set_agent_timer(std::size_t i) {
  Machine& machine = machines_[i];
  const auto due = machine.agent->next_due();
  if (!due || (machine.timer && *machine.timer <= *due && *machine.timer > queue_.now())) return;
  machine.timer = due;
  queue_.at(*due, [this, i, life = machine.life] {
    if (life == machines_[i].life) wake_agent(i);
  });
}

void FaultWorld::reconnect(std::size_t i) {
  machines_[i].link->connect();
  queue_.after(100ms + up_to(1s), [this, i] { reconnect(i); });
}

// ---- the end ----

void FaultWorld::heal() {
  calm_ = true;
  store_.set_full(false);
  for (Machine& machine : machines_) {
    machine.link->set_habits(kGoodLink);
    machine.host->calm();
    if (machine.agent) machine.agent->devices_changed();
  }
  people_->calm();
}

}  // namespace paceline::sim
