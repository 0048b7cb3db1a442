#include "faults/faulty_machine.hpp"

#include <utility>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr LinkHabits kGoodLink{0, 0, 1ms, 1ms, false};

}  // namespace

FaultyMachine::FaultyMachine(Scene& scene, const MakeClock& make_clock, NodeSpec node,
                             const Options& options, std::uint64_t& sessions)
    : scene_(scene),
      name_(node.name),
      id_(node.machine),
      clock_(scene.queue, make_clock, options.boots.empty() ? name_ : options.boots,
             scene.draw_clock_error()),
      host_(scene.queue, clock_, scene.ledger, Rng(scene.rng.next()), std::move(node),
            options.unstored_max, options.boots),
      link_(scene.queue, scene.ledger, Rng(scene.rng.next()), sessions) {
  link_.set_habits(options.link);
}

void FaultyMachine::start() {
  start_agent();
  reconnect();
}

void FaultyMachine::begin() {
  if (agent_)
    stop_agent(Duration{});
  else
    start_agent();
}

void FaultyMachine::start_agent() {
  if (agent_ || off_ || ended_ || (may_begin_ && !may_begin_())) return;
  scene_.ledger.note("agent starts", name_);
  clock_.start_process();
  agent_ = std::make_unique<agent::Agent>(host_);
  step_put_ = false;
  timer_.reset();
  agent_->on_send([this](const AgentFrame& frame) {
    scene_.ledger.sent(frame);
    link_.send(frame);
  });
  agent_->on_wake([this] { wake(); });
  agent_->start();
  link_.set_agent(agent_.get());
  wake();
}

void FaultyMachine::stop_agent(std::optional<Duration> back_after) {
  if (!agent_) return;
  ++life_;
  host_.agent_died();
  link_.set_agent(nullptr);
  agent_.reset();
  if (back_after) scene_.queue.after(*back_after, [this] { start_agent(); });
}

void FaultyMachine::wake() {
  if (std::exchange(step_put_, true)) return;
  scene_.queue.after(kStepDelay, [this, life = life_] {
    if (life == life_) step();
  });
}

void FaultyMachine::step() {
  step_put_ = false;
  agent_->step(clock_.now());
  set_timer();
}

void FaultyMachine::set_timer() {
  auto due = agent_->next_due();
  if (due) due = clock_.true_time(*due);
  if (!due || (timer_ && *timer_ <= *due && *timer_ > scene_.queue.now())) return;
  timer_ = due;
  scene_.queue.at(*due, [this, life = life_] {
    if (life == life_) wake();
  });
}

void FaultyMachine::reconnect() {
  if (scrapped_) return;
  link_.connect();
  host_.hold_leases(link_.carries());
  scene_.queue.after(100ms + scene_.up_to(1s), [this] { reconnect(); });
}

// ---- what befalls it ----

void FaultyMachine::crash_agent(Duration back_after) {
  scene_.ledger.note("agent crash", name_);
  stop_agent(back_after);
}

void FaultyMachine::restart(Duration back_after) {
  if (!agent_) return;
  host_.reboot();
  scene_.ledger.away(id_, scene_.queue.now() + back_after);
  if (may_begin_ && scene_.rng.chance(0.5)) link_.vanish();
  stop_agent(back_after);
  reboot();
}

void FaultyMachine::reboot() {
  clock_.reboot();
  clock_set_at_ = scene_.queue.now();
  clock_.set_wrong(scene_.calm && may_begin_ ? Duration{} : scene_.draw_clock_error());
}

void FaultyMachine::switch_off() {
  if (std::exchange(off_, true)) return;
  scene_.ledger.note("machine switched off", id_);
  host_.reboot();
  link_.vanish();
  stop_agent({});
}

void FaultyMachine::end_agent() {
  ended_ = true;
  stop_agent({});
}

void FaultyMachine::scrap() {
  switch_off();
  ended_ = scrapped_ = true;
}

void FaultyMachine::switch_on() {
  if (!std::exchange(off_, false)) return;
  scene_.ledger.note("machine switched on", id_);
  reboot();
  start_agent();
}

void FaultyMachine::cut_for(FaultyLink::Cut cut, Duration span) {
  scene_.ledger.note("link cut", name_);
  link_.cut(cut);
  const bool breaks = scene_.rng.chance(0.5);
  scene_.queue.after(span, [this, breaks] {
    link_.cut({});
    if (breaks) link_.break_connection();
  });
}

void FaultyMachine::set_clock() {
  scene_.ledger.note("clock set", name_);
  clock_set_at_ = scene_.queue.now();
  clock_.set_wrong(scene_.draw_clock_error());
}

void FaultyMachine::set_clock_right() {
  clock_set_at_ = scene_.queue.now();
  clock_.set_wrong({});
}

void FaultyMachine::change_devices() {
  host_.change_devices();
  if (agent_) agent_->devices_changed();
}

void FaultyMachine::calm() {
  link_.set_habits(kGoodLink);
  if (may_begin_) set_clock_right();
  host_.calm();
  if (agent_) agent_->devices_changed();
}

}  // namespace paceline::faults
