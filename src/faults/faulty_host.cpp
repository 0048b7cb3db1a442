#include "faults/faulty_host.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/wants.hpp"
#include "faults/worker_text.hpp"

namespace paceline::faults {
namespace {

constexpr std::uint64_t kReportsPerWarning = 5;
constexpr std::uint64_t kReportsPerModel = 3;
constexpr std::int32_t kSigkill = 9;
constexpr std::int32_t kSigsegv = 11;
constexpr Duration kHostSlack = std::chrono::seconds{1};
constexpr double kStalls = 0.1;                         // of newcomers
constexpr Duration kMeetMax = std::chrono::seconds{2};  // until a generation has met
constexpr std::int64_t kSlotsMore = 2;                  // than at first may a machine come to have
constexpr double kPartsChange = 0.4;                    // where slots do

constexpr std::array kModels = {"cpu", "A100", "V100"};
constexpr std::array kRacks = {"rack-0", "rack-1", ""};
constexpr std::array<std::uint64_t, 4> kMemoryGib = {2, 4, 16, 256};
constexpr std::array<double, 4> kCores = {2, 4, 8, 64};

Duration between(Rng& rng, Duration low, Duration high) {
  return Duration{rng.between(low.count(), high.count())};
}

}  // namespace

using namespace std::chrono_literals;

Habits draw_habits(Rng& rng, bool calm) {
  Habits habits;
  habits.setup = between(rng, 1ms, 500ms);
  habits.work = between(rng, 1s, 40s);
  habits.report_every = between(rng, 500ms, 8s);
  habits.leaving = between(rng, 1ms, 3s);
  habits.dying = between(rng, 0ms, 50ms);
  if (calm) return habits;
  habits.never_runs = rng.chance(0.02);
  const auto ending = rng.below(100);
  if (ending < 6)
    habits.exit_code = 1;
  else if (ending < 10)
    habits.exit_code = 75;
  else if (ending < 13)
    habits.end = Cause::signalled;
  else if (ending < 15)
    habits.end = Cause::out_of_memory;
  else if (ending < 17)
    habits.end = Cause::launch_failed;
  const auto notice = rng.below(10);
  if (notice < 2)
    habits.on_notice = Habits::OnNotice::hangs;
  else if (notice < 3)
    habits.on_notice = Habits::OnNotice::fails;
  else if (notice < 4)
    habits.on_notice = Habits::OnNotice::leaves;
  if (rng.chance(0.1)) habits.work = between(rng, 1min, 10min);
  if (rng.chance(0.1)) habits.dying = between(rng, 1s, 10s);
  if (rng.chance(0.05)) habits.kills = 2;
  return habits;
}

FaultyHost::FaultyHost(EventQueue& queue, Clock& clock, Ledger& ledger, Rng rng, NodeSpec node,
                       std::size_t unstored_max, std::string boots)
    : queue_(queue),
      clock_(clock),
      ledger_(ledger),
      rng_(rng),
      parts_(rng.next()),
      node_(std::move(node)),
      boots_as_(boots.empty() ? node_.name : std::move(boots)),
      ports_(node_.ports.value_or(kUsualPorts)),
      unstored_max_(unstored_max),
      first_(node_) {}

std::string FaultyHost::boot_id() { return boots_as_ + "-" + std::to_string(boots_); }

std::vector<Claim> FaultyHost::claims() {
  std::erase_if(workers_, [](const auto& one) { return one.second.unclaimed; });
  unstored_ = 0;
  for (auto& [key, worker] : workers_) worker.told = 0;
  for (auto& [key, worker] : workers_) {
    if (worker.orphaned && !worker.claim.gone) lose(worker);
  }
  const Time now = clock_.now();
  for (auto& [key, worker] : workers_) {
    for (auto& each : worker.log) {
      std::visit(
          [&](auto& seen) {
            if constexpr (requires { seen.at; }) seen.at = now;
          },
          each);
    }
    if (worker.claim.gone)
      worker.claim.gone->at = worker.ended_in == boots_ ? now - (since_boot() - worker.ended) : now;
  }
  read_logs();
  std::vector<Claim> claims;
  for (auto& [key, worker] : workers_) {
    claims.push_back(worker.claim);
    worker.end_told = worker.claim.gone && worker.told == worker.log.size();
    if (!worker.end_told) claims.back().gone.reset();
  }
  return claims;
}

void FaultyHost::perform(const agent::Action& action) {
  std::visit([this](const auto& each) { on(each); }, action);
}

FaultyHost::Worker* FaultyHost::find_alive(const ProcessKey& key) {
  const auto found = workers_.find(key);
  return found == workers_.end() || found->second.claim.gone ? nullptr : &found->second;
}

// Of one without a supervisor the host itself finds the end, whatever is asked.
FaultyHost::Worker* FaultyHost::find_supervised(const ProcessKey& key) {
  Worker* worker = find_alive(key);
  return worker && worker->orphaned ? nullptr : worker;
}

void FaultyHost::later(const ProcessKey& key, Duration span, void (FaultyHost::*what)(Worker&)) {
  const auto version = workers_.at(key).version;
  queue_.after(span, [this, key, version, what] {
    Worker* worker = find_alive(key);
    if (worker && worker->version == version) (this->*what)(*worker);
  });
}

void FaultyHost::tell(agent::Observation observation) {
  if (tell_) tell_(std::move(observation));
}

// What only a log tells, and keeps until it is stored.
void FaultyHost::write(Worker& worker, agent::Observation observation) {
  worker.log.push_back(std::move(observation));
  read_log(worker);
}

void FaultyHost::read_log(Worker& worker) {
  if (!tell_) return;
  for (; worker.told < worker.log.size() && unstored_ < unstored_max_; ++worker.told) {
    ++unstored_;
    tell(worker.log[worker.told]);
  }
}

void FaultyHost::read_logs() {
  for (auto& [key, worker] : workers_) read_log(worker);
}

// Of workers whose logs were read to their ends.
void FaultyHost::tell_ends() {
  if (!tell_) return;
  for (auto& [key, worker] : workers_) {
    const bool ended = worker.claim.gone && worker.told == worker.log.size();
    if (ended && !std::exchange(worker.end_told, true)) tell(*worker.claim.gone);
  }
}

void FaultyHost::stored(const ProcessKey& key, std::uint64_t report) {
  const auto found = workers_.find(key);
  if (found == workers_.end()) return;
  const auto number = [](const agent::Observation& each) {
    return std::visit(
        [](const auto& told) {
          if constexpr (requires { told.report; }) return told.report;
          return std::uint64_t{0};
        },
        each);
  };
  const std::size_t durable =
      std::erase_if(found->second.log, [&](const auto& each) { return number(each) <= report; });
  found->second.told -= durable;
  unstored_ -= durable;
  read_logs();
  tell_ends();
}

// ---- what the agent asks ----

void FaultyHost::on(const agent::Start& start) {
  const ProcessKey& key = start.worker.key;
  if (workers_.contains(key)) return;
  const auto& slots = start.worker.slots;
  const bool gone = std::any_of(slots.begin(), slots.end(),
                                [&](std::uint32_t i) { return i >= node_.slots.size(); });
  if (gone) {
    ledger_.note("start on a slot that is gone");
    return tell(WorkerGone{key, Cause::node_lost, {}, 0, "the slot is gone", clock_.now()});
  }
  if (want_ && rng_.chance(0.5)) {
    ledger_.refused(key);
    return tell(WorkerGone{key,
                           agent::blame(agent::StartStep::server, *want_),
                           {},
                           0,
                           std::strerror(*want_),
                           clock_.now()});
  }
  if (!take_ports(start.worker)) return;
  Worker& worker = workers_[key];
  worker.claim = {key, 0, {}, false, start.worker.slots};
  worker.habits = draw_habits(rng_, calm_);
  worker.left = worker.habits.work;
  worker.limit = start.worker.limit;
  if (start.worker.lease) worker.lease = start.worker.lease->left;
  worker.leased_at = queue_.now();
  worker.generation = key.born;
  worker.joins = start.worker.joins.has_value();
  worker.stalls = worker.joins && rng_.chance(kStalls);
  ledger_.started(queue_.now(), node_.name, key, start.worker.slots);
  ledger_.launched(queue_.now(), node_.name, start.worker);
  if (!worker.habits.never_runs) later(key, worker.habits.setup, &FaultyHost::run);
}

bool FaultyHost::take_ports(const WorkerLaunch& launch) {
  const FaultyPorts::Answer answer = ports_.take(launch);
  if (answer.given) {
    ledger_.given_ports(queue_.now(), node_, launch, *answer.given);
    return true;
  }
  ledger_.note(answer.alone ? "port of a gang taken" : "no ports free", node_.name);
  ledger_.refused(launch.key);
  if (answer.alone) ledger_.taken_port(queue_.now(), launch);
  tell(WorkerGone{launch.key,
                  Cause::refused,
                  {},
                  0,
                  "One of the gang's ports is taken.",
                  clock_.now(),
                  answer.alone});
  return false;
}

void FaultyHost::on(const agent::GiveNotice& notice) {
  ledger_.count("notice");
  Worker* worker = find_supervised(notice.key);
  if (!worker) return;
  worker->claim.noticed = true;
  if (worker->runs() && !worker->frozen) take_notice(*worker);
}

void FaultyHost::on(const agent::Kill& kill) {
  ledger_.count("kill");
  const auto found = workers_.find(kill.key);
  if (found == workers_.end())
    return tell(WorkerGone{kill.key, Cause::node_lost, {}, 0, "it is unknown here", clock_.now()});
  Worker& worker = found->second;
  if (worker.claim.gone || worker.orphaned || ++worker.killed < worker.habits.kills) return;
  ++worker.version;
  later(kill.key, worker.habits.dying, &FaultyHost::die);
}

void FaultyHost::on(const agent::Freeze& freeze) {
  ledger_.count("freeze");
  Worker* worker = find_supervised(freeze.key);
  if (!worker || std::exchange(worker->frozen, true)) return;
  stop_counting(*worker);
  if (!worker->runs() || worker->killed) return;
  worker->left -= queue_.now() - worker->since;
  ++worker->version;
}

void FaultyHost::on(const agent::Thaw& thaw) {
  Worker* worker = find_supervised(thaw.key);
  if (!worker || !std::exchange(worker->frozen, false) || !worker->runs()) return;
  worker->counts_since = queue_.now();
  if (worker->killed) return;
  go_on(*worker);
  if (worker->claim.noticed) take_notice(*worker);
}

void FaultyHost::on(const agent::Discard& discard) {
  const auto found = workers_.find(discard.key);
  if (found == workers_.end() || !found->second.claim.gone) return;
  unstored_ -= found->second.told;
  workers_.erase(found);
  read_logs();
  tell_ends();
}

void FaultyHost::on(const agent::SetShouldStop& should_stop) {
  Worker* worker = find_alive(should_stop.key);
  if (worker && should_stop.reason == "target_reached")
    worker->left = std::min(worker->left, Duration{1s});
}

void FaultyHost::on(const agent::SetMembership& enrolled) {
  Worker* worker = find_alive(enrolled.key);
  if (!worker) return;
  ledger_.enrolled(queue_.now(), enrolled.key, enrolled.membership);
  worker->generation = enrolled.membership.generation;
  meet(*worker);
}

void FaultyHost::on(const agent::Dismiss& dismissed) {
  Worker* worker = find_supervised(dismissed.key);
  if (!worker || !worker->runs() || worker->frozen) return;
  ledger_.count("worker dismissed");
  ++worker->version;
  if (worker->habits.on_notice != Habits::OnNotice::hangs)
    later(dismissed.key, worker->habits.leaving, &FaultyHost::depart);
}

void FaultyHost::on(const agent::SetLimit& limited) {
  Worker* worker = find_alive(limited.key);
  if (!worker) return;
  worker->limit = limited.limit;
  if (!worker->frozen) worker->counts_since = queue_.now();
}

void FaultyHost::on(const agent::RenewLeases& renewed) {
  if (!carries_) return;
  for (auto& [key, worker] : workers_) {
    if (worker.lease) worker.lease = renewed.lease;
    worker.leased_at = queue_.now();
  }
}

// ---- a worker's life ----

void FaultyHost::run(Worker& worker) {
  if (want_) return refuse(worker);
  if (worker.habits.end == Cause::launch_failed)
    return end(worker, agent::blame(agent::StartStep::job, ENOENT), {}, 0, std::strerror(ENOENT));
  worker.claim.pid = ++last_pid_;
  tell(WorkerRuns{worker.claim.key, worker.claim.pid});
  if (worker.frozen) return;
  if (!worker.counts_since) worker.counts_since = queue_.now();
  watch_limit(worker);
  meet(worker);
  go_on(worker);
}

// Its supervisor found out.
void FaultyHost::refuse(Worker& worker) {
  ledger_.refused(worker.claim.key);
  const bool of_the_job = agent::find_want(*want_)->of_the_job && rng_.chance(0.5);
  const auto step = of_the_job ? agent::StartStep::job : agent::StartStep::server;
  end(worker, agent::blame(step, *want_), {}, 0, std::strerror(*want_), of_the_job);
}

// ---- generations in place ----

// Of every second job all workers use the runtime that can go on in another generation.
bool FaultyHost::goes_on_in_place(const Worker& worker) {
  return worker.claim.key.job.value % 2 == 0;
}

// One that is to join others trains with them, and not before.
void FaultyHost::join(Worker& worker) {
  place(worker, worker.claim.key.born, worker.claim.stands);
  if (!ledger_.is_member(worker.claim.key)) return later(worker.claim.key, 1s, &FaultyHost::join);
  worker.joins = false;
  meet(worker);
  go_on(worker);
}

// It meets the others of its generation after a while; it works meanwhile.
void FaultyHost::meet(Worker& worker) {
  if (!goes_on_in_place(worker)) return;
  const ProcessKey key = worker.claim.key;
  const Generation generation = worker.generation;
  queue_.after(Duration{rng_.between(0, Duration{kMeetMax}.count())}, [this, key, generation] {
    Worker* found = find_alive(key);
    if (found && found->runs() && !found->frozen && found->generation == generation)
      place(*found, found->claim.ready, generation);
  });
}

void FaultyHost::place(Worker& worker, Generation ready, Generation stands) {
  worker.claim.ready = ready;
  worker.claim.stands = stands;
  tell(WorkerPlaced{worker.claim.key, ready, stands});
}

void FaultyHost::depart(Worker& worker) {
  if (!worker.frozen) end(worker, Cause::exited, 0, 0, "");
}

void FaultyHost::go_on(Worker& worker) {
  if (worker.joins && !worker.stalls) join(worker);
  if (worker.joins) return;
  worker.since = queue_.now();
  later(worker.claim.key, std::min(worker.left, worker.habits.report_every), &FaultyHost::work);
}

void FaultyHost::work(Worker& worker) {
  worker.left -= queue_.now() - worker.since;
  ledger_.worked(queue_.now(), worker.claim.key);
  if (worker.left <= Duration::zero()) return finish(worker);
  report(worker);
  if (rng_.chance(0.3)) save(worker);
  go_on(worker);
}

void FaultyHost::finish(Worker& worker) {
  report(worker);
  const Cause cause = calm_ ? Cause::exited : worker.habits.end;
  if (cause == Cause::signalled) return end(worker, cause, {}, kSigsegv, "");
  if (cause == Cause::out_of_memory) return end(worker, cause, {}, kSigkill, "");
  end(worker, cause, calm_ ? 0 : worker.habits.exit_code, 0, "");
}

void FaultyHost::take_notice(Worker& worker) {
  ++worker.version;  // whatever it does now, it does not go on working
  if (worker.habits.on_notice == Habits::OnNotice::hangs) return;
  later(worker.claim.key, worker.habits.leaving, &FaultyHost::leave);
}

// ---- its time ----

void FaultyHost::stop_counting(Worker& worker) {
  const auto since = std::exchange(worker.counts_since, std::nullopt);
  if (worker.limit && since) worker.limit->left -= queue_.now() - *since;
}

// While an agent is there it is the server's word that counts.
void FaultyHost::watch_limit(Worker& worker) {
  if (tell_ || worker.orphaned || !worker.limit || !worker.counts_since) return;
  const Time due = *worker.counts_since + worker.limit->left + kHostSlack;
  const ProcessKey key = worker.claim.key;
  queue_.after(std::max(Duration::zero(), due - queue_.now()), [this, key] {
    if (Worker* found = find_alive(key)) look_at_limit(*found);
  });
}

void FaultyHost::look_at_limit(Worker& worker) {
  if (tell_ || worker.orphaned || !worker.runs() || !worker.limit || !worker.counts_since) return;
  if (queue_.now() < *worker.counts_since + worker.limit->left + kHostSlack) return;
  if (std::exchange(worker.out_of_time, true)) return;
  ledger_.note("limit held without a server", text(worker.claim.key));
  const bool heard = std::exchange(worker.claim.noticed, true);
  if (!heard) take_notice(worker);
  const ProcessKey key = worker.claim.key;
  queue_.after(worker.limit->grace, [this, key] {
    Worker* found = find_alive(key);
    if (!found || found->orphaned) return;
    ++found->version;
    later(key, found->habits.dying, &FaultyHost::die);
  });
}

void FaultyHost::leave(Worker& worker) {
  if (worker.frozen) return;
  if (worker.habits.on_notice == Habits::OnNotice::saves) save(worker);
  end(worker, Cause::exited, worker.habits.on_notice == Habits::OnNotice::fails ? 1 : 0, 0, "");
}

void FaultyHost::die(Worker& worker) { end(worker, Cause::signalled, {}, kSigkill, ""); }

void FaultyHost::lose(Worker& worker) {
  end(worker, Cause::node_lost, {}, 0, "its supervisor died");
}

void FaultyHost::report(Worker& worker) {
  worker.step += 10;
  const WorkerReport report{worker.claim.key,
                            ++worker.reports,
                            clock_.now(),
                            worker.step,
                            1000,
                            64 * worker.step,
                            {},
                            {},
                            {},
                            {},
                            {},
                            {{"accuracy", 1.0 - 1.0 / static_cast<double>(worker.step)}}};
  ledger_.reported(report);
  write(worker, report);
  if (tell_ && worker.reports % kReportsPerWarning == 0) warn(worker);
}

// Not kept by the machine: an agent that dies takes it along.
void FaultyHost::warn(const Worker& worker) {
  const bool holds = worker.reports / kReportsPerWarning % 2 == 1;
  tell(WorkerWarning{worker.claim.key, Warning::no_rendezvous, holds});
}

void FaultyHost::save(Worker& worker) {
  const CheckpointSeen checkpoint{worker.claim.key, ++worker.reports, clock_.now(),
                                  "/checkpoint",    worker.step,      64 * worker.step};
  ledger_.saved(checkpoint);
  write(worker, checkpoint);
  if (worker.reports % kReportsPerModel == 0) publish(worker);
}

void FaultyHost::publish(Worker& worker) {
  const ModelSeen model{worker.claim.key, ++worker.reports, clock_.now(), "/model", "", {},
                        worker.step,      64 * worker.step};
  ledger_.published(model);
  write(worker, model);
}

void FaultyHost::end(Worker& worker, Cause cause, std::optional<std::int32_t> exit_code,
                     std::int32_t signal, std::string message, bool alone) {
  ++worker.version;
  ports_.leave(worker.claim.key);
  if (worker.out_of_time && cause != Cause::node_lost) cause = Cause::timed_out;
  worker.ended = since_boot();
  worker.ended_in = boots_;
  worker.claim.gone = WorkerGone{worker.claim.key,   cause,        exit_code, signal,
                                 std::move(message), clock_.now(), alone};
  ledger_.ended(queue_.now(), *worker.claim.gone, worker.claim.noticed || worker.killed > 0);
  tell_ends();
}

// ---- what befalls it ----

void FaultyHost::agent_died() {
  tell_ = {};
  for (auto& [key, worker] : workers_) {
    if (!worker.claim.gone) watch_limit(worker);
  }
}

void FaultyHost::reboot() {
  ledger_.note("machine died", node_.name);
  agent_died();
  if (!calm_ && rng_.chance(0.3)) change_size();
  for (auto& [key, worker] : workers_) {
    if (!worker.claim.gone) end(worker, Cause::node_lost, {}, 0, "the machine was restarted");
  }
  ++boots_;
}

void FaultyHost::hold_leases(bool carries) {
  carries_ = carries;
  for (auto& [key, worker] : workers_) {
    const bool over = worker.lease && queue_.now() - worker.leased_at > *worker.lease;
    if (worker.claim.gone || !over) continue;
    ledger_.note("lease over", text(key));
    end(worker, Cause::node_lost, {}, 0, "its machine heard of no server");
  }
}

bool FaultyHost::has_workers() const {
  return std::ranges::any_of(workers_, [](const auto& each) { return !each.second.claim.gone; });
}

// One with a supervisor; nullptr: there is none.
FaultyHost::Worker* FaultyHost::draw_running() {
  std::vector<Worker*> alive;
  for (auto& [key, worker] : workers_) {
    if (!worker.claim.gone && !worker.orphaned) alive.push_back(&worker);
  }
  return alive.empty() ? nullptr : alive[rng_.below(alive.size())];
}

void FaultyHost::supervisor_died() {
  Worker* worker = draw_running();
  if (worker == nullptr) return;
  const ProcessKey key = worker->claim.key;
  ledger_.note("supervisor died", text(key));
  worker->orphaned = true;
  if (!tell_) return;
  ++worker->version;
  later(key, between(rng_, 0ms, 1s), &FaultyHost::lose);
}

void FaultyHost::claim_lost(const std::function<bool(const ProcessKey&)>& is_known) {
  Worker* worker = draw_running();
  if (worker == nullptr || !is_known(worker->claim.key)) return;
  ledger_.note("claim removed", text(worker->claim.key));
  worker->unclaimed = true;
  end(*worker, Cause::node_lost, {}, 0, "its claim was removed");
}

void FaultyHost::change_devices() {
  if (parts_.chance(kPartsChange)) change_parts();
  if (rng_.chance(0.5)) return change_size();
  ledger_.note("devices changed", node_.name);
  SlotSpec& slot = node_.slots[rng_.below(node_.slots.size())];
  slot.usable = !slot.usable;
  slot.note = slot.usable ? "" : "a foreign process uses it";
}

// Workers go on upon the slots that are gone.
void FaultyHost::change_size() {
  ledger_.note("slots came or went", node_.name);
  const auto most = static_cast<std::int64_t>(first_.slots.size()) + kSlotsMore;
  node_.slots.resize(static_cast<std::size_t>(rng_.between(1, most)), first_.slots.front());
}

// Workers go on with what they were given.
void FaultyHost::change_parts() {
  ledger_.note("machine rebuilt", node_.name);
  const auto draw = [&](const auto& all) { return all[parts_.below(all.size())]; };
  node_.memory_bytes = draw(kMemoryGib) << 30;
  node_.cpus = draw(kCores);
  node_.rack = draw(kRacks);
  node_.labels = parts_.chance(0.5) ? first_.labels : decltype(node_.labels){};
  for (SlotSpec& slot : node_.slots) slot.model = draw(kModels);
}

void FaultyHost::calm() {
  calm_ = true;
  want_.reset();
  node_.slots = first_.slots;
  node_.labels = first_.labels;
  node_.rack = first_.rack;
  node_.memory_bytes = first_.memory_bytes;
  node_.cpus = first_.cpus;
  for (auto& [key, worker] : workers_) {
    worker.left = std::min(worker.left, Duration{40s});
    if (std::exchange(worker.habits.never_runs, false) && !worker.claim.gone)
      later(key, 1s, &FaultyHost::run);
  }
}

}  // namespace paceline::faults
