#include "faults/fault_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "faults/log_tap.hpp"
#include "scheduler/admission.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

const Time kBegin = time_from_us(1'700'000'000'000'000);
constexpr Duration kServerStepDelay = 100us;  // from a wake-up to the step
constexpr Duration kHearOut = 5s;
constexpr Duration kLostAfterMin = 20s;
constexpr double kTwins = 0.2;                     // worlds with one
constexpr std::array kShadowWork = {1, 1, 4, 20};  // pieces of it after a step, at most
constexpr std::size_t kAllEntries = std::numeric_limits<std::size_t>::max();

struct ArrivalPace {
  int jobs;
  Duration every;  // at most, between two deeds of people and between two misfortunes
};
constexpr std::array kPaces = {ArrivalPace{30, 20s}, ArrivalPace{50, 8s}, ArrivalPace{80, 2s}};

constexpr LinkHabits kBadLink{0.1, 0.1, 300ms, 3s, false};
constexpr LinkHabits kGoodLink{0, 0, 1ms, 1ms, false};

}  // namespace

FaultWorld::FaultWorld(FaultOptions options, const FaultParts& parts)
    : options_(std::move(options)),
      parts_(parts),
      queue_(kBegin),
      rng_(options_.seed),
      ledger_(kBegin),
      store_(parts.disk),
      server_clock_(queue_, parts_.make_clock, "server") {
  if (!options_.story) return;
  ledger_.on_story([this](std::string_view line) { options_.story(queue_.now() - kBegin, line); });
}

FaultWorld::~FaultWorld() = default;

void FaultWorld::build() {
  const ArrivalPace pace = kPaces[rng_.below(kPaces.size())];
  misfortune_every_ = pace.every;
  crash_every_commit_ = rng_.chance(0.1) && options_.misfortunes;
  if (crash_every_commit_) ledger_.set_patience(kPatienceAtEveryCommit);
  server_options_.hear_out = kHearOut;
  server_options_.protects = rng_.chance(0.7);
  // Of a sequence of its own, as a seed's story is told by the other one.
  Rng apart(~options_.seed);
  if (apart.chance(0.5))
    server_options_.unsaid_rules = {std::chrono::seconds{apart.between(1, 300)}};
  shadow_work_max_ = kShadowWork[apart.below(kShadowWork.size())];
  server_options_.placement = placers()[rng_.below(placers().size())].name;
  draw_bounds();
  People::Habits habits{options_.jobs.value_or(pace.jobs), pace.every, 0, parts_.scripts};
  LinkHabits link = kBadLink;
  link.as_text = rng_.chance(0.2);
  const auto count = 1 + rng_.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    NodeSpec node = draw_node(i);
    habits.slots += static_cast<std::int32_t>(node.slots.size());
    build_machine(link, std::move(node));
  }
  if (apart.chance(kTwins)) build_twin(link);
  draw_more_bounds(apart);
  draw_forgetting();
  people_.emplace(queue_, ledger_, Rng(rng_.next()), std::move(habits));
}

void FaultWorld::keep_all_points(Limits& limits) {
  limits.points_per_second = limits.points_per_second_per_user = 100'000;
}

// Small ones are met often.
void FaultWorld::draw_bounds() {
  static constexpr std::array<std::size_t, 5> kBounds = {1, 3, 20, 200, 10'000};
  bounds_.news_max = kBounds[rng_.below(kBounds.size())];
  unstored_max_ = kBounds[rng_.below(kBounds.size())];
  if (rng_.chance(0.3)) bounds_.lost_after = kLostAfterMin + up_to(2min);
  if (rng_.chance(0.3)) {
    server_options_.limits.emplace();
    server_options_.limits->waiting_jobs_per_user = static_cast<std::uint64_t>(rng_.between(1, 10));
    keep_all_points(*server_options_.limits);
  }
}

void FaultWorld::draw_more_bounds(Rng& rng) {
  static constexpr std::array<std::uint64_t, 4> kCheckpointEntries = {1, 7, 100, 10'000};
  server_options_.checkpoint_entries = kCheckpointEntries[rng.below(kCheckpointEntries.size())];
  if (!server_options_.limits) return;
  if (rng.chance(0.5)) {
    server_options_.limits->points_per_second = 1 + rng.below(3);
    server_options_.limits->points_per_second_per_user = 1 + rng.below(6);
    ledger_.passes_over();
  }
  if (rng.chance(0.5))
    server_options_.limits->launches_per_user = bytes_of(launch_of("job-00")) * (3 + rng.below(20));
}

// Of a sequence of its own, too. A server without limits forgets nothing.
void FaultWorld::draw_forgetting() {
  Rng rng(options_.seed ^ 0x666f72676f74ULL);
  if (!server_options_.limits && rng.chance(0.5)) {
    server_options_.limits.emplace();
    keep_all_points(*server_options_.limits);
  }
  if (!server_options_.limits) return;
  static constexpr std::array<std::uint64_t, 4> kJobs = {1, 3, 10, 10'000};
  static constexpr std::array<std::uint64_t, 4> kSeconds = {1, 20, 300, 7 * 24 * 3'600};
  server_options_.limits->ended_jobs = kJobs[rng.below(kJobs.size())];
  server_options_.limits->ended_jobs_age = kSeconds[rng.below(kSeconds.size())];
  static constexpr std::array<std::uint64_t, 3> kJournalEntries = {1, 20, 100'000};
  server_options_.limits->journal_entries = kJournalEntries[rng.below(kJournalEntries.size())];
  if (!rng.chance(0.5)) return;
  static constexpr std::array<std::int64_t, 3> kKeepSeconds = {1, 30, 600};
  server_options_.keep = std::chrono::seconds{kKeepSeconds[rng.below(kKeepSeconds.size())]};
  ledger_.keeps(*server_options_.keep);
  server_options_.remove_logs = [this, apart = Rng(rng.next())](JobId job) mutable -> Result<bool> {
    if (store_.crashed() || apart.chance(0.3)) return false;
    ledger_.logs_removed(queue_.now(), job);
    return true;
  };
}

NodeSpec FaultWorld::draw_node(std::uint64_t number) {
  NodeSpec node{fmt::format("box-{}", number),
                fmt::format("10.0.0.{}", number + 1),
                fmt::format("rack-{}", number / 2),
                64,
                1ULL << 38,
                {}};
  node.slots.resize(static_cast<std::size_t>(rng_.between(2, 6)),
                    SlotSpec{SlotKind::cpu, "cpu", "", 0, true, ""});
  if (number % 2 == 0) node.labels["disk"] = "nvme";
  node.machine = fmt::format("machine-{}", number);
  return node;
}

void FaultWorld::build_machine(const LinkHabits& link, NodeSpec node) {
  Machine machine;
  machine.name = node.name;
  machine.id = node.machine;
  machine.clock = std::make_unique<SetClock>(queue_, parts_.make_clock, machine.name);
  machine.clock->set_wrong(draw_clock_error());
  machine.host = std::make_unique<FaultyHost>(queue_, *machine.clock, ledger_, Rng(rng_.next()),
                                              std::move(node), unstored_max_);
  machine.heard = kBegin;
  machine.link = std::make_unique<FaultyLink>(queue_, ledger_, Rng(rng_.next()), sessions_);
  machine.link->set_habits(link);
  machines_.push_back(std::move(machine));
}

// Another machine that calls itself as the first one does. It is the last one.
void FaultWorld::build_twin(const LinkHabits& link) {
  NodeSpec node = machines_.front().host->describe();
  node.machine = "twin";
  build_machine(link, std::move(node));
  twin_goes();
}

FaultReport FaultWorld::run() {
  const LogTap::Listening ear([this](std::string_view line) {
    ledger_.note("log line", line);
    if (line.find("is refused") != std::string_view::npos)
      ledger_.wrong(queue_.now(), std::string(line));
  });
  build();
  start_server();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    start_agent(i);
    reconnect(i);
  }
  people_->begin();
  if (options_.misfortunes) befall();
  queue_.at(kBegin + options_.faults_for, [this] { heal(); });
  run_events();
  if (server_ && ledger_.faults().empty()) check_rest();
  return report();
}

void FaultWorld::run_events() {
  const Time end = kBegin + options_.faults_for + options_.calm_for_max;
  while (!at_rest() && queue_.now() < end && ledger_.faults().empty() && queue_.run_next()) {
    ledger_.passed(queue_.now());
    if (queue_.done() >= kEventsMax)
      ledger_.wrong(queue_.now(), fmt::format("{} events, and no end", queue_.done()));
  }
}

FaultReport FaultWorld::report() {
  ledger_.count("event", queue_.done());
  ledger_.count("commit", store_.commits());
  FaultReport report;
  report.faults = ledger_.faults();
  report.digest = ledger_.digest();
  report.happened = ledger_.happened();
  report.commits = store_.commits();
  if (server_) report.jobs = server_->controller->state().jobs().given();
  report.took = queue_.now() - kBegin;
  return report;
}

// ---- the server ----

void FaultWorld::start_server() {
  store_.revive();
  store_.on_stored([this](const Batch& batch) { ledger_.stored(batch); });
  ++server_life_;
  server_step_put_ = false;
  server_timer_.reset();
  if (!calm_) server_clock_.set_wrong(draw_clock_error());
  server_clock_.start_process();
  arm_crash();
  server_ = build_server();
  if (!recover()) {  // the disk is full, or it dies again
    server_.reset();
    queue_.after(1s, [this] { start_server(); });
    return;
  }
  listen_to(*server_);
  for (Machine& machine : machines_) machine.link->set_server(server_->parts.end);
  people_->set_server(server_->controller.get());
  wake_server();
}

FaultWorld::Server FaultWorld::build_server() {
  Server server;
  server.parts = parts_.make_engine(
      server_clock_, [this](JobId job) { return store_.launch(job); }, bounds_);
  server.controller = std::make_unique<Controller>(store_, *server.parts.engine, server_clock_,
                                                   parts_.policies, server_options_);
  return server;
}

void FaultWorld::listen_to(Server& server) {
  server.controller->on_wake([this] { wake_server(); });
  server.controller->on_commit(
      [this](std::span<const Entry> entries, std::span<const JobId> touched) {
        note_forgotten(entries);
        ledger_.committed(queue_.now(), entries, server_->controller->state(), touched);
      });
  server.parts.end->on_send([this](const ServerFrame& frame) {
    if (!store_.may_act()) return wake_server();
    ledger_.sent(queue_.now(), frame, server_->controller->state());
    for (Machine& machine : machines_) machine.link->send(frame);
  });
}

bool FaultWorld::recover() {
  if (!server_->controller->recover() || store_.crashed()) return false;
  const auto untold = parts_.disk.entries(ledger_.seq() + 1, kAllEntries);
  ledger_.recovered(queue_.now(), untold.value(), server_->controller->state());
  return true;
}

// Where it dies at every commit, all three ways take turns: it gets on nevertheless.
void FaultWorld::arm_crash() {
  if (const auto planned = std::exchange(options_.crash, std::nullopt))
    store_.crash_at(planned->commit, planned->point, planned->effects);
  if (!crash_every_commit_ || calm_) return;
  const auto turn = crashes_armed_++;
  store_.crash_at_next(static_cast<CrashPoint>(turn % kCrashPoints), turn / kCrashPoints % 4);
}

void FaultWorld::stop_server() {
  ledger_.note("server crash");
  note_passed_over();
  ++server_life_;
  people_->set_server(nullptr);
  for (Machine& machine : machines_) machine.link->set_server(nullptr);
  server_.reset();
  const Duration most = crash_every_commit_ ? Duration{1s} : Duration{10s};
  queue_.after(up_to(calm_ ? Duration::zero() : most), [this] { start_server(); });
}

void FaultWorld::wake_server() {
  if (std::exchange(server_step_put_, true)) return;
  queue_.after(kServerStepDelay, [this, life = server_life_] {
    if (life == server_life_) step_server();
  });
}

void FaultWorld::step_server() {
  server_step_put_ = false;
  if (store_.crashed()) return stop_server();
  server_->parts.end->step();
  (void)server_->controller->step();  // a refused write is tried again by itself
  if (store_.crashed()) return stop_server();
  work_in_the_shadow();
  check_reasons();
  set_server_timer();
}

void FaultWorld::work_in_the_shadow() {
  for (int i = 0; i < shadow_work_max_ && server_->controller->shadow().work(); ++i) {
  }
}

void FaultWorld::set_server_timer() {
  auto due = server_->controller->next_due();
  if (const auto other = server_->parts.end->next_due(); other)
    due = std::min(due.value_or(*other), *other);
  if (due) due = server_clock_.true_time(*due);
  if (!due || (server_timer_ && *server_timer_ <= *due && *server_timer_ > queue_.now())) return;
  server_timer_ = due;
  queue_.at(*due, [this, life = server_life_] {
    if (life == server_life_) wake_server();
  });
}

// ---- the end ----

// Whoever is not over is told why.
void FaultWorld::check_reasons() {
  const Controller& controller = *server_->controller;
  if (std::exchange(reasons_seen_, controller.state().seq()) == controller.state().seq()) return;
  for (const auto& key : controller.state().queue()) {
    if (controller.reason(controller.state().job(key.job)).code == ReasonCode::none)
      ledger_.wrong(queue_.now(), fmt::format("job {} has no reason", key.job.value));
  }
}

// What this server says of points that it did not keep.
void FaultWorld::note_passed_over() {
  if (!server_) return;
  for (const Job& job : server_->controller->state().jobs()) note_passed_over(job.id);
}

void FaultWorld::note_passed_over(JobId job) {
  const auto points = server_->controller->points_passed_over(job);
  if (points == 0) return;
  ledger_.count("point passed over", points);
  ledger_.passed_over(job, points);
}

// It is the last moment at which the server can say it.
void FaultWorld::note_forgotten(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    const auto* forgotten = forgotten_by(entry);
    if (!forgotten) continue;
    for (const JobId job : forgotten->jobs) note_passed_over(job);
  }
}

void FaultWorld::check_rest() {
  const Controller& controller = *server_->controller;
  note_passed_over();
  ledger_.at_rest(queue_.now(), controller.state());
  ledger_.compare(queue_.now(), controller.now(), parts_.disk);
  for (const auto& key : controller.state().queue()) {
    for (const auto& why : controller.why(controller.state().job(key.job)))
      ledger_.wrong(queue_.now(), fmt::format("job {}: {}", key.job.value, why));
  }
  for (const Machine& machine : machines_) {
    if (machine.host->claim_count() > 0) ledger_.wrong(queue_.now(), "a claim was not discarded");
  }
}

bool FaultWorld::at_rest() const {
  if (!calm_ || !server_ || !people_->done() || ledger_.alive() > 0) return false;
  const bool claims = std::any_of(machines_.begin(), machines_.end(),
                                  [](const Machine& m) { return m.host->claim_count() > 0; });
  return !claims && server_->controller->state().queue().empty();
}

void FaultWorld::heal() {
  ledger_.note("calm");
  calm_ = true;
  store_.set_full(false);
  for (Machine& machine : machines_) {
    machine.link->set_habits(kGoodLink);
    machine.host->calm();
    if (machine.agent) machine.agent->devices_changed();
  }
  people_->calm();
}

Duration FaultWorld::up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }

// Either way: mostly days, now and then hours or seconds.
Duration FaultWorld::draw_clock_error() {
  static constexpr std::array<Duration, 4> kMost = {kClockErrorMax, kClockErrorMax, 6h, 1min};
  const Duration most = kMost[rng_.below(kMost.size())];
  return up_to(2 * most) - most;
}

}  // namespace paceline::faults
