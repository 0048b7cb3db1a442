#include "faults/faulty_slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlurmLooksEvery = 1s;
constexpr Duration kWaitsMax = 60s;    // a job, beside that for a host
constexpr Duration kEndsWithin = 20s;  // its processes, from its end on
constexpr Duration kListsEndsMin = 60s, kListsEndsMore = 40s;
constexpr Duration kEmptyMax = 3min;
constexpr Duration kControllerAway = 40s, kLostFor = 4min;  // at most
constexpr double kUnheard = 0.05;                           // of commands, and of answers
constexpr std::string_view kTokenBefore = "printf '%s\\n' '";

std::string token_in(std::string_view script) {
  const auto begin = script.find(kTokenBefore) + kTokenBefore.size();
  return std::string(script.substr(begin, script.find('\'', begin) - begin));
}

tl::unexpected<Error> no_answer() {
  return fail(ErrorCode::unavailable, "Slurm does not answer.", {}, Retry::may_help);
}

bool waits(const Pilot& pilot) { return pilot.state == PilotState::pending; }
bool runs(const Pilot& pilot) { return pilot.state == PilotState::running; }
bool is_free(const Slot& slot) { return !slot.lease && !slot.promise && !slot.lent; }

}  // namespace

FaultySlurm::FaultySlurm(Scene& scene, Habits habits, AroundSlurm around, Rng rng)
    : scene_(scene), habits_(std::move(habits)), around_(std::move(around)), rng_(rng) {}

void FaultySlurm::wrong(std::string what) {
  scene_.ledger.wrong(scene_.queue.now(), std::move(what));
}

void FaultySlurm::begin() {
  look();
  befall();
}

void FaultySlurm::calm() {
  away_until_.reset();
  for (auto& [id, job] : jobs_) job.calm_from = scene_.queue.now();
}

bool FaultySlurm::answers() {
  if (scene_.calm) return true;
  return !(away_until_ && scene_.queue.now() < *away_until_) && !rng_.chance(kUnheard);
}

// ---- its commands ----

Result<std::vector<Pilot>> FaultySlurm::list(WallTime now) {
  if (!answers()) return no_answer();
  std::vector<Pilot> pilots;
  for (const auto& [id, job] : jobs_) {
    if (!job.listed) continue;
    Pilot pilot = job.pilot;
    // By its own clock; the server's is wrong.
    pilot.asked_at = std::min(job.asked_at, now);
    if (job.limit_at) pilot.time_left = std::max(Duration{}, *job.limit_at - scene_.queue.now());
    pilots.push_back(std::move(pilot));
  }
  return pilots;
}

Result<std::uint64_t> FaultySlurm::ask(const std::string& name, std::uint32_t invitation,
                                       const std::string& script, WallTime now) {
  if (!answers()) return no_answer();
  if (!names_.emplace(name, last_job_ + 1).second) wrong(name + " is asked for twice");
  scene_.ledger.note("pilot asked for", name);
  Job& job = jobs_[++last_job_];
  job.name = name;
  job.pilot = {
      .job = last_job_, .invitation = invitation, .slurm_state = "PENDING", .reason = "Priority"};
  job.token = token_in(script);
  job.asked_at = now;
  job.calm_from = scene_.queue.now();
  if (!answers()) return no_answer();
  return last_job_;
}

Result<void> FaultySlurm::give_back(std::uint64_t id) {
  if (!answers()) return no_answer();
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) end(found->second, "CANCELLED");
  if (!answers()) return no_answer();
  return {};
}

// ---- a job's life ----

std::uint32_t FaultySlurm::busy_hosts() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(jobs_, [](const auto& each) { return each.second.joiner != nullptr; }));
}

void FaultySlurm::look() {
  start_those_that_fit();
  for (auto& [id, job] : jobs_) {
    if (job.joiner != nullptr) watch(job);
    // Until the server has heard of it.
    const bool told = job.pilot.state == PilotState::over && !job.listed && !job.lost;
    if (job.joiner == nullptr && !job.machine.empty() && !told)
      scene_.ledger.away(job.machine, scene_.queue.now() + 10 * kSlurmLooksEvery);
  }
  scene_.queue.after(kSlurmLooksEvery, [this] { look(); });
}

void FaultySlurm::start_those_that_fit() {
  for (auto& [id, job] : jobs_) {
    if (!waits(job.pilot) || !job.listed || busy_hosts() >= habits_.hosts) continue;
    const Duration most = scene_.calm ? 2 * kSlurmLooksEvery : kWaitsMax;
    if (rng_.chance(to_seconds(kSlurmLooksEvery) / to_seconds(most))) start(job);
  }
}

void FaultySlurm::start(Job& job) {
  job.pilot.state = PilotState::running;
  job.pilot.slurm_state = "RUNNING";
  job.pilot.reason.clear();
  job.pilot.host = fmt::format("n{}", rng_.below(habits_.hosts));
  job.limit_at = scene_.queue.now() + habits_.settings.time;
  job.calm_from = scene_.queue.now();
  job.node = pilot_node(job.pilot.host, job.pilot.job);
  job.nodes.insert(job.node);
  scene_.ledger.note("pilot starts", job.node);
  job.joiner = &around_.bring(job.node, job.token);
  job.machine = job.joiner->machine().id();
  job.limit = habits_.settings.time;
}

void FaultySlurm::watch(Job& job) {
  FaultyMachine& machine = job.joiner->machine();
  if (!job.joiner->serves())
    scene_.ledger.away(machine.id(), scene_.queue.now() + 10 * kSlurmLooksEvery);
  if (!runs(job.pilot)) return;
  if (machine.host().boots() > 1) return lose_node(job);
  if (job.limit_at && *job.limit_at <= scene_.queue.now()) {
    const bool was_calm = scene_.calm && scene_.queue.now() - job.calm_from >= job.limit;
    if (was_calm && machine.host().has_workers()) wrong(job.node + " has workers at its limit");
    return end(job, "TIMEOUT", "TimeLimit");
  }
  watch_empty(job);
  // Its agent can't begin, and ends.
  if (!machine.runs() && job.joiner->stuck()) end(job, "FAILED", "NonZeroExitCode");
}

// Once it is calm, one that is drained and empty is given back. What is on one that isn't heard the server can't
// know.
void FaultySlurm::watch_empty(Job& job) {
  const bool empty = scene_.calm && !job.joiner->machine().host().has_workers();
  const Node* node = around_.seen(job.node);
  const bool known = node != nullptr && (node->up || std::ranges::all_of(node->slots, is_free));
  if (!empty || !known || !drains(job)) return job.empty_since.reset();
  if (!job.empty_since) job.empty_since = scene_.queue.now();
  if (scene_.queue.now() - *job.empty_since > kEmptyMax)
    wrong(job.node + " is drained and empty, and is not given back");
}

void FaultySlurm::later(Job& job, Duration span, std::function<void(Job&)> what) {
  scene_.queue.after(span,
                     [this, id = job.pilot.job, version = job.version, what = std::move(what)] {
                       Job& found = jobs_.at(id);
                       if (found.version == version) what(found);
                     });
}

// The agent goes first, then its workers, and only then it is over (app/guest.hpp).
void FaultySlurm::end(Job& job, std::string_view how, std::string_view reason) {
  if (!waits(job.pilot) && !runs(job.pilot)) return;
  scene_.ledger.note("pilot ends", fmt::format("{}: {}", job.name, how));
  ++job.version;
  job.pilot.reason = reason;
  job.limit_at.reset();
  if (job.joiner == nullptr) return ended(job, std::string(how));
  job.pilot.state = PilotState::ending;
  job.pilot.slurm_state = "COMPLETING";
  job.joiner->machine().end_agent();
  later(job, up_to(kEndsWithin), [this, how = std::string(how)](Job& it) { ended(it, how); });
}

void FaultySlurm::ended(Job& job, const std::string& how) {
  if (job.joiner != nullptr) {
    job.joiner->machine().scrap();
    scene_.ledger.away(job.joiner->machine().id(),
                       scene_.queue.now() + habits_.settings.lease + 2min);
  }
  job.joiner = nullptr;
  job.calm_from = scene_.queue.now();
  if (job.lost) say_off(job.pilot.job);
  const bool again = how == "REQUEUED";
  job.pilot.state = again ? PilotState::pending : PilotState::over;
  job.pilot.slurm_state = how;
  if (!again) later(job, kListsEndsMin + up_to(kListsEndsMore), [this](Job& it) { unlist(it); });
}

// From now on only an operator can say that its machine is off.
void FaultySlurm::unlist(Job& job) {
  job.listed = false;
  if (job.node.empty()) return;
  const bool was_told = scene_.calm && scene_.queue.now() - job.calm_from >= kListsEndsMin;
  for (const auto& node : job.nodes)
    if (was_told && !job.lost && around_.is_node(node))
      wrong(fmt::format("Slurm ended pilot {}, and {} is a node still", job.name, node));
  say_off(job.pilot.job);
}

// Somebody looked after the machine.
void FaultySlurm::say_off(std::uint64_t id) {
  Job& job = jobs_.at(id);
  std::erase_if(job.nodes, around_.say_off);
  job.lost = !job.nodes.empty();
  if (job.lost) scene_.queue.after(10 * kSlurmLooksEvery, [this, id] { say_off(id); });
}

// ---- what befalls it ----

void FaultySlurm::befall() {
  if (scene_.calm) return;
  scene_.queue.after(up_to(4 * habits_.every) + 1s, [this] { befall(); });
  if (rng_.chance(0.1)) {
    scene_.ledger.note("Slurm's controller is away");
    away_until_ = scene_.queue.now() + up_to(kControllerAway);
    return;
  }
  std::vector<Job*> there;
  for (auto& [id, job] : jobs_)
    if (job.listed && (waits(job.pilot) || runs(job.pilot))) there.push_back(&job);
  if (there.empty()) return;
  using Misfortune = void (FaultySlurm::*)(Job & job);
  static constexpr std::array<Misfortune, 5> kAll = {&FaultySlurm::cancel, &FaultySlurm::preempt,
                                                     &FaultySlurm::requeue, &FaultySlurm::fail_node,
                                                     &FaultySlurm::forget};
  (this->*kAll[rng_.below(kAll.size())])(*there[rng_.below(there.size())]);
}

void FaultySlurm::cancel(Job& job) { end(job, "CANCELLED"); }

void FaultySlurm::preempt(Job& job) {
  if (runs(job.pilot)) end(job, "PREEMPTED");
}

// By an administrator's hand: the script begins once more, and finds its token used up.
void FaultySlurm::requeue(Job& job) {
  if (!runs(job.pilot)) return;
  job.requeued = true;
  end(job, "REQUEUED");
}

// Its workers may run on, heard of or not, until somebody looks after the machine.
void FaultySlurm::fail_node(Job& job) {
  if (!runs(job.pilot)) return;
  lose_node(job);
  if (rng_.chance(0.5)) job.joiner->machine().link().cut(kBothWays);
}

// Of a pilot nothing outlives its machine's boot, and Slurm learns that it failed.
void FaultySlurm::lose_node(Job& job) {
  scene_.ledger.note("Slurm's node fails", job.node);
  ++job.version;
  job.limit_at.reset();
  job.pilot.state = PilotState::over;
  job.pilot.slurm_state = "NODE_FAIL";
  job.lost = true;
  if (rng_.chance(0.3) || job.joiner->machine().host().boots() > 1)
    job.joiner->machine().switch_off();
  later(job, up_to(kLostFor), [this](Job& it) { ended(it, "NODE_FAIL"); });
}

void FaultySlurm::forget(Job& job) {
  scene_.ledger.note("Slurm forgets a pilot", job.name);
  ++job.version;
  job.listed = false;
  job.limit_at.reset();
  job.lost = true;
  if (waits(job.pilot)) return ended(job, "CANCELLED");
  job.pilot.state = PilotState::ending;
  later(job, up_to(kLostFor), [this](Job& it) { ended(it, "CANCELLED"); });
}

// ---- what must be ----

bool FaultySlurm::is_empty() const {
  return std::ranges::all_of(jobs_, [](const auto& each) {
    return each.second.pilot.state == PilotState::over && each.second.joiner == nullptr;
  });
}

void FaultySlurm::check_rest() {
  for (const auto& [id, job] : jobs_)
    if (job.pilot.state != PilotState::over)
      wrong(fmt::format("pilot {} is left behind ({})", job.name, job.pilot.slurm_state));
}

bool FaultySlurm::drains(const Job& job) const {
  const Node* node = around_.seen(job.node);
  return node != nullptr && node->drains();
}

std::set<std::uint64_t> FaultySlurm::draining() const {
  std::set<std::uint64_t> found;
  for (const auto& [id, job] : jobs_)
    if (runs(job.pilot) && drains(job)) found.insert(id);
  return found;
}

std::uint32_t FaultySlurm::alive(const std::set<std::uint64_t>& draining_then) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(jobs_, [&](const auto& each) {
    const auto& [id, job] = each;
    if (!job.listed || job.requeued || draining_then.contains(id)) return false;
    return waits(job.pilot) || (runs(job.pilot) && !drains(job));
  }));
}

}  // namespace paceline::faults
