#include "faults/faulty_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAllEntries = std::numeric_limits<std::size_t>::max();

}  // namespace

FaultyServer::FaultyServer(Scene& scene, const FaultParts& parts, const WorldHabits& world,
                           std::optional<PlannedCrash> crash)
    : scene_(scene),
      parts_(parts),
      store_(parts.disk),
      clock_(scene.queue, parts.make_clock, "server"),
      options_(world.server),
      bounds_(world.engine),
      shadow_work_max_(world.shadow_work_max),
      crash_every_commit_(world.crash_every_commit),
      crash_(crash) {
  if (crash_every_commit_) scene_.ledger.set_patience(kPatienceAtEveryCommit);
  if (world.passes_over) scene_.ledger.passes_over();
  if (options_.limits)
    scene_.ledger.retires_after(std::chrono::seconds{options_.limits->absent_nodes_age});
  if (!world.log_mischance) return;
  scene_.ledger.keeps(*options_.keep);
  options_.remove_logs = [this, chance = *world.log_mischance](JobId job) mutable {
    return remove_logs(job, chance);
  };
}

Result<bool> FaultyServer::remove_logs(JobId job, Rng& chance) {
  if (store_.crashed() || chance.chance(0.3)) return false;
  scene_.ledger.logs_removed(scene_.queue.now(), job);
  return true;
}

const Controller* FaultyServer::controller() const {
  return process_ ? process_->controller.get() : nullptr;
}

void FaultyServer::start() {
  store_.revive();
  store_.on_stored([this](const Batch& batch) { scene_.ledger.stored(batch); });
  ++life_;
  step_put_ = false;
  timer_.reset();
  if (!scene_.calm) clock_.set_wrong(scene_.draw_clock_error());
  clock_.start_process();
  arm_crash();
  process_ = build();
  if (!recover()) {  // the disk is full, or it dies again
    process_.reset();
    scene_.queue.after(1s, [this] { start(); });
    return;
  }
  listen_to(*process_);
  here_(process_->controller.get(), process_->parts.end);
  wake();
}

FaultyServer::Process FaultyServer::build() {
  Process server;
  server.parts = parts_.make_engine(
      clock_,
      {[this](JobId job) { return store_.launch(job); },
       [this](const ProcessKey& key) { return store_.newest_report(key).value_or(0); }},
      bounds_);
  server.controller =
      std::make_unique<Controller>(store_, *server.parts.engine, clock_, parts_.policies, options_);
  return server;
}

void FaultyServer::listen_to(Process& server) {
  server.controller->on_wake([this] { wake(); });
  server.commits = server.controller->on_commit([this](std::span<const Entry> entries,
                                                       std::span<const JobId> touched) {
    scene_.ledger.committed(scene_.queue.now(), entries, process_->controller->state(), touched);
  });
  server.parts.end->on_send([this](const ServerFrame& frame) {
    if (!store_.may_act()) return wake();
    scene_.ledger.sent(scene_.queue.now(), frame, process_->controller->state());
    send_(frame);
  });
}

bool FaultyServer::recover() {
  if (!process_->controller->recover() || store_.crashed()) return false;
  const auto untold = parts_.disk.entries(scene_.ledger.seq() + 1, kAllEntries);
  scene_.ledger.recovered(scene_.queue.now(), untold.value(), process_->controller->state());
  return true;
}

// Where it dies at every commit, all three ways take turns: it gets on nevertheless.
void FaultyServer::arm_crash() {
  if (const auto planned = std::exchange(crash_, std::nullopt))
    store_.crash_at(planned->commit, planned->point, planned->effects);
  if (!crash_every_commit_ || scene_.calm) return;
  const auto turn = crashes_armed_++;
  store_.crash_at_next(static_cast<CrashPoint>(turn % kCrashPoints), turn / kCrashPoints % 4);
}

void FaultyServer::stop() {
  scene_.ledger.note("server crash");
  ++life_;
  here_(nullptr, nullptr);
  process_.reset();
  const Duration most = crash_every_commit_ ? Duration{1s} : Duration{10s};
  scene_.queue.after(scene_.up_to(scene_.calm ? Duration::zero() : most), [this] { start(); });
}

void FaultyServer::stop_after(Duration span) {
  scene_.queue.after(span, [this, life = life_] {
    if (process_ && life == life_) stop();
  });
}

void FaultyServer::restart_machine() {
  scene_.ledger.note("machine died", "of the server");
  stop();
  clock_.reboot();
  scene_.ledger.stands_still(clock_.boot()->id);
}

void FaultyServer::set_clock() {
  scene_.ledger.note("clock set", "of the server");
  clock_.set_wrong(scene_.draw_clock_error());
  if (process_) wake();
}

void FaultyServer::set_clock_right() {
  clock_.set_wrong({});
  if (process_) wake();
}

Result<void> FaultyServer::count_off(std::string_view node, std::string_view by) {
  return process_->parts.count_off(node, by);
}

Result<void> FaultyServer::take_kept(std::string_view node, const KeptCheckpoint& kept) {
  return process_->parts.take_kept(node, kept);
}

void FaultyServer::wake() {
  if (std::exchange(step_put_, true)) return;
  scene_.queue.after(kStepDelay, [this, life = life_] {
    if (life == life_) step();
  });
}

void FaultyServer::step() {
  step_put_ = false;
  if (store_.crashed()) return stop();
  process_->parts.end->step();
  (void)process_->controller->step();  // a refused write is tried again by itself
  if (store_.crashed()) return stop();
  work_in_the_shadow();
  check_reasons();
  set_timer();
}

void FaultyServer::work_in_the_shadow() {
  for (int i = 0; i < shadow_work_max_ && process_->controller->shadow().work(); ++i) {
  }
}

void FaultyServer::set_timer() {
  auto due = process_->controller->next_due();
  if (const auto other = process_->parts.end->next_due(); other)
    due = std::min(due.value_or(*other), *other);
  if (due) due = clock_.true_time(*due);
  if (!due || (timer_ && *timer_ <= *due && *timer_ > scene_.queue.now())) return;
  timer_ = due;
  scene_.queue.at(*due, [this, life = life_] {
    if (life == life_) wake();
  });
}

// Whoever is not over is told why.
void FaultyServer::check_reasons() {
  const Controller& controller = *process_->controller;
  if (std::exchange(reasons_seen_, controller.state().seq()) == controller.state().seq()) return;
  for (const auto& key : controller.state().queue()) {
    if (controller.reason(controller.state().job(key.job)).code == ReasonCode::none)
      scene_.ledger.wrong(scene_.queue.now(), fmt::format("job {} has no reason", key.job.value));
  }
}

void FaultyServer::check_rest() {
  const Controller& controller = *process_->controller;
  const Time now = scene_.queue.now();
  scene_.ledger.at_rest(now, controller.state());
  scene_.ledger.compare(now, controller.now(), parts_.disk);
  for (const auto& key : controller.state().queue()) {
    for (const auto& why : controller.why(controller.state().job(key.job)))
      scene_.ledger.wrong(now, fmt::format("job {}: {}", key.job.value, why));
  }
}

}  // namespace paceline::faults
