#include "pilots/pilot_keeper.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "estimate/remaining.hpp"
#include "plan/draining.hpp"

namespace paceline {
namespace {

constexpr Duration kInvitedFor = std::chrono::hours{30 * 24};
constexpr Duration kPauseMin = std::chrono::seconds{30}, kPauseMax = std::chrono::minutes{30};
// A node that was asked for so that jobs grow, and that nothing ran on, is not asked for again so soon.
constexpr int kGrowAgainAfterIdles = 6;
constexpr std::size_t kLostMax = 10'000;
const std::string kLabel = "slurm", kPilot = "pilot";

bool is_pilots(const NodePlace& place) {
  const auto label = place.labels.find(kLabel);
  return label != place.labels.end() && label->second == kPilot;
}

bool is_pilots(const NodeBook& book, const std::string& node) {
  const auto known = book.nodes().find(node);
  return known != book.nodes().end() && is_pilots(known->second.place);
}

// What of a job stays on one node, in slots.
std::uint64_t piece_of(const Job& job) {
  return static_cast<std::uint64_t>(job.spec->slots_per_worker) *
         static_cast<std::uint64_t>(job.spec->mesh.tensor);
}

std::uint64_t in_pieces(std::uint64_t slots, std::uint64_t piece) { return slots / piece * piece; }

Principal by_slurm() { return {.user = "slurm", .roles = {Role::operator_}}; }

std::string in_words(Duration span) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(span).count();
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} h", seconds / 3600);
}

std::string sentences(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{} {}", error.message, error.hint);
}

}  // namespace

PilotKeeper::PilotKeeper(Clock& clock, Controller& controller, Ways ways)
    : clock_(clock), controller_(controller), ways_(std::move(ways)), pause_(kPauseMin) {}

void PilotKeeper::serve(PilotSettings settings, bool leaving, std::uint32_t since) {
  settings_ = std::move(settings);
  leaving_ = leaving;
  since_ = since;
}

void PilotKeeper::begin_anew() {
  problem_.clear();
  ask_again_at_.reset();
  grow_again_at_.reset();
  pause_ = kPauseMin;
}

ComingNodes PilotKeeper::coming() const {
  if (!settings_ || leaving_) return {};
  const auto there =
      static_cast<std::uint32_t>(std::ranges::count_if(pilots_, [](const KnownPilot& known) {
        return known.node && known.node->up && !known.node->begun;
      }));
  return {settings_->nodes_max - std::min(there, settings_->nodes_max), slots_of(*settings_)};
}

std::vector<std::string> PilotKeeper::why(const Job& job) const {
  std::vector<std::string> lines;
  if (const auto lost = lost_.find(job.id); lost != lost_.end() && !is_over(job.state))
    lines.push_back(lost->second);
  if (job.state != JobState::pending || job.held || !settings_ || leaving_) return lines;
  if (!may_ever_start(job)) {
    lines.push_back(fmt::format(
        "It needs {} slots: with all {} nodes that may be asked of Slurm there would be "
        "{}. 'paceline slurm connect --nodes-max N' allows more.",
        starts_with(job), settings_->nodes_max, slots_at_most(piece_of(job))));
    return lines;
  }
  if (outlasts_nodes(job)) {
    lines.push_back(fmt::format(
        "It needs about {} more, and Slurm's nodes take jobs that are over within {}: "
        "'paceline slurm connect --time' asks for longer ones. A job that saves goes on "
        "from node to node, however long it is.",
        in_words(*remaining(controller_.state().nodes(), job, clock_.now())),
        in_words(lasts(*settings_))));
    return lines;
  }
  std::vector<const KnownPilot*> waiting;
  for (const auto& known : pilots_) {
    if (known.node && known.node->up) continue;
    if (known.pilot && known.pilot->state == PilotState::running)
      lines.push_back(fmt::format("A node of Slurm's begins: {} (job {}).", known.pilot->host,
                                  known.pilot->job));
    if (known.pilot && known.pilot->state == PilotState::pending) waiting.push_back(&known);
  }
  if (!waiting.empty()) {
    const auto& first = *waiting.front();
    lines.push_back(fmt::format("{} more node{} asked of Slurm {} ago (job {}{}).", waiting.size(),
                                waiting.size() == 1 ? " was" : "s were", in_words(first.asked_for),
                                first.pilot->job,
                                first.pilot->reason.empty() ? "" : ", " + first.pilot->reason));
  }
  const auto& problem = unanswered_.empty() ? problem_ : unanswered_;
  if (!problem.empty()) lines.push_back(problem);
  return lines;
}

PilotKeeper::Turn PilotKeeper::take(const Result<std::vector<Pilot>>& listed) {
  if (!listed) {
    unanswered_ = sentences(listed.error());
    return {};
  }
  unanswered_.clear();
  pilots_ = known(*listed);
  const auto actions = reconcile({.settings = *settings_,
                                  .demand = demand(),
                                  .pilots = pilots_,
                                  .leaving = leaving_,
                                  .may_ask = !ask_again_at_ || *ask_again_at_ <= clock_.now()});
  Turn turn;
  act(actions, turn.requests);
  std::erase_if(pilots_, [](const KnownPilot& each) {
    const bool may_run = each.node && each.node->busy;
    return each.pilot && each.pilot->state == PilotState::over && !may_run;
  });
  turn.left = leaving_ && pilots_.empty() && actions.empty();
  return turn;
}

// Every pilot that is not counted over yet, in the order of their invitations. What Slurm doesn't list may still be
// on its way since this server knows of it, whatever the wall clock showed then and shows now.
std::vector<KnownPilot> PilotKeeper::known(const std::vector<Pilot>& listed) {
  std::map<std::uint32_t, KnownPilot> all;
  const auto& book = ways_.book;
  for (const auto& [id, invitation] : book.invitations())
    if (is_pilots(invitation.place)) all.try_emplace(id);
  for (const auto& [name, node] : book.nodes())
    if (is_pilots(node.place) && !node.removed_at) all.try_emplace(node.invitation);
  std::erase_if(known_since_, [&](const auto& each) { return !all.contains(each.first); });
  for (auto& [id, pilot] : all)
    pilot.asked_for = clock_.now() - known_since_.try_emplace(id, clock_.now()).first->second;
  for (const auto& pilot : listed) {
    const bool is_known = all.contains(pilot.invitation);
    if (!is_known && pilot.state == PilotState::over) continue;
    all[pilot.invitation].pilot = pilot;
    all[pilot.invitation].asked_for = controller_.wall() - pilot.asked_at;
  }
  std::vector<KnownPilot> pilots;
  for (auto& [id, pilot] : all) {
    pilot.invitation = id;
    pilot.node = node_of(id);
    const bool waits = pilot.pilot && pilot.pilot->state == PilotState::pending;
    const auto before = std::ranges::find(pilots_, id, &KnownPilot::invitation);
    // The list may be older than a node that has just joined, not than one of the last turn.
    pilot.requeued = before != pilots_.end() && (before->requeued || (waits && before->node));
    pilot.outdated = waits && !pilot.node && id < since_;
    if (pilot.node && pilot.node->up) {
      proven_ = true;
      problem_.clear();
      pause_ = kPauseMin;
    }
    pilots.push_back(std::move(pilot));
  }
  return pilots;
}

std::optional<PilotNode> PilotKeeper::node_of(std::uint32_t invitation) {
  for (const auto& [name, joined] : ways_.book.nodes()) {
    if (joined.invitation != invitation || joined.removed_at) continue;
    PilotNode seen{.name = name};
    const Node* node = controller_.state().find_node(name);
    if (node == nullptr) return seen;
    seen.up = node->up && !node->retired;
    seen.draining = node->drain.has_value();
    seen.begun = node->drains();
    seen.busy = !jobs_on(controller_.state(), *node).empty();
    seen.slots = node->spec.slots.size();
    const auto now = clock_.now();
    const auto [busy_at, fresh] = busy_at_.try_emplace(name, now);
    if (seen.busy) busy_at->second = now;
    seen.idle_for = now - busy_at->second;
    return seen;
  }
  return std::nullopt;
}

// ---- what is wanted ----

std::uint64_t PilotKeeper::slots_there(std::uint64_t piece) const {
  std::uint64_t slots = 0;
  for (const auto& node : controller_.state().nodes()) {
    if (node.retired || !starts_jobs(node)) continue;
    std::uint64_t offered = 0;
    for (std::uint32_t i = 0; i < node.slots.size(); ++i) offered += node.offers(i) ? 1U : 0U;
    slots += in_pieces(offered, piece);
  }
  return slots;
}

// With every pilot that may be.
std::uint64_t PilotKeeper::slots_at_most(std::uint64_t piece) const {
  std::uint64_t slots = settings_->nodes_max * in_pieces(slots_of(*settings_), piece);
  for (const auto& node : controller_.state().nodes()) {
    if (node.retired || !starts_jobs(node) || is_pilots(ways_.book, node.spec.name)) continue;
    slots += in_pieces(node.spec.slots.size(), piece);
  }
  return slots;
}

// Does the policy start jobs with fewer workers than they ask for?
bool PilotKeeper::is_elastic() const {
  const auto policy = controller_.policies().find(controller_.state().policy()->name);
  return policy && (*policy)->elastic;
}

std::uint64_t PilotKeeper::starts_with(const Job& job) const {
  return static_cast<std::uint64_t>(job.slots(is_elastic() ? job.range.min : job.range.want));
}

bool PilotKeeper::may_ever_start(const Job& job) const {
  return starts_with(job) <= slots_at_most(piece_of(job));
}

// As far as its length is known.
bool PilotKeeper::outlasts_nodes(const Job& job) const {
  if (job.checkpoint) return false;
  const auto left = remaining(controller_.state().nodes(), job, clock_.now());
  return left && *left > lasts(*settings_);
}

Demand PilotKeeper::demand() const {
  Demand demand{.there = slots_there(1)};
  std::uint64_t short_of = 0;  // of slots that are pieces for the job
  const State& state = controller_.state();
  const bool grows = is_elastic() && (!grow_again_at_ || *grow_again_at_ <= clock_.now());
  std::map<std::uint64_t, std::uint64_t> fitting;  // slots, by piece
  const auto add = [&](const Job& job) {
    const auto now = job.planned_workers();
    if (now == 0 && (job.held || !may_ever_start(job) || outlasts_nodes(job))) return;
    const auto needed = now > 0 ? now : job.range.want;
    if (const auto piece = piece_of(job); now == 0 && piece > 1) {
      const auto [known, fresh] = fitting.try_emplace(piece, 0);
      if (fresh) known->second = slots_there(piece);
      short_of = std::max(short_of, starts_with(job) - std::min(starts_with(job), known->second));
    }
    const bool may_grow = grows && (now == 0 || job.resizable());
    demand.needed += static_cast<std::uint64_t>(job.slots(needed));
    demand.wanted +=
        static_cast<std::uint64_t>(job.slots(may_grow ? std::max(needed, job.range.max) : needed));
  };
  for (const auto& key : state.active()) add(state.job(key.job));
  for (const auto& key : state.waiting())
    if (state.job(key.job).planned_workers() == 0) add(state.job(key.job));
  if (short_of == 0) return demand;
  demand.needed = std::max(demand.needed, demand.there + short_of);
  demand.wanted = std::max(demand.wanted, demand.needed);
  return demand;
}

PilotCall PilotKeeper::call(std::string token) const {
  return {ways_.program, ways_.address, std::move(token)};
}

// ---- doing ----

void PilotKeeper::act(const std::vector<PilotAction>& actions, std::vector<Request>& requests) {
  for (const auto& action : actions) {
    if (const auto* ask = std::get_if<AskFor>(&action)) ask_for(ask->count, requests);
    if (const auto* order = std::get_if<DrainPilot>(&action)) drain(*order);
    if (const auto* left = std::get_if<LeaveToLease>(&action)) leave_to_lease(*left);
    if (const auto* over = std::get_if<CountOver>(&action)) count_over(*over);
    if (const auto* back = std::get_if<GiveBack>(&action)) {
      given_back_.insert(back->job);
      requests.push_back({.job = back->job});
    }
  }
}

void PilotKeeper::ask_for(std::uint32_t count, std::vector<Request>& requests) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto token = ways_.make_token();
    const auto now = controller_.wall();
    const auto invited = ways_.book.invite({.digest = token.digest,
                                            .made_by = "slurm",
                                            .made_at = now,
                                            .expires_at = now + kInvitedFor,
                                            .uses_left = 1,
                                            .place = {.labels = {{kLabel, kPilot}}}});
    if (!invited) return refuse_for_a_while(sentences(invited.error()));
    requests.push_back({.invitation = invited->id,
                        .name = pilot_name(ways_.server, invited->id),
                        .script = batch_script(*settings_, call(token.text))});
  }
}

void PilotKeeper::drain(const DrainPilot& order) {
  const auto now = controller_.wall();
  DrainOrder said{.reason = order.why};
  said.limit = order.begins_in > Duration{};
  if (said.limit) said.from = now + order.begins_in;
  if (order.ends_in) said.until = now + *order.ends_in;
  if (!order.ends_in && order.begins_in == Duration{})
    grow_again_at_ = clock_.now() + settings_->idle * kGrowAgainAfterIdles;
  controller_.drains().drain(
      order.node, std::move(said), by_slurm(), [node = order.node](const Result<void>& done) {
        if (!done) spdlog::warn("Node {} can't be drained: {}", node, done.error().message);
      });
}

void PilotKeeper::leave_to_lease(const LeaveToLease& left) {
  spdlog::warn("Slurm lost node {} with its pilot ({}).", left.node, left.why);
  remember_lost(left.node,
                fmt::format("Slurm lost node {} with its pilot ({}): what ran there starts "
                            "elsewhere once it has left it, or once the node's lease is over.",
                            left.node, left.why));
  drain({left.node, fmt::format("Slurm lost its pilot ({})", left.why), {}, kLeavesWithin});
}

// What can't be kept now is said again with the next list.
void PilotKeeper::count_over(const CountOver& over) {
  auto& book = ways_.book;
  const auto node = node_of(over.invitation);
  if (node && !count_off(node->name, over)) return;
  const auto invited = book.invitations().find(over.invitation);
  const bool joined =
      node || (invited != book.invitations().end() && invited->second.uses_left == 0);
  if (invited != book.invitations().end())
    if (auto revoked = book.revoke(over.invitation); !revoked) return;
  spdlog::info("Slurm ended a pilot: {}{}.", node ? node->name + ", " : "", over.why);
  const auto pilot = std::ranges::find(pilots_, over.invitation, &KnownPilot::invitation);
  const auto job = pilot != pilots_.end() && pilot->pilot ? pilot->pilot->job : 0;
  if (!joined && given_back_.erase(job) == 0)
    refuse_for_a_while(fmt::format("A pilot of Slurm's ended before it joined: {}.", over.why));
}

// False: the book can't be written.
bool PilotKeeper::count_off(const std::string& node, const CountOver& over) {
  const auto by = fmt::format("Slurm, which ended its pilot ({}),", over.why);
  if (auto removed = ways_.book.remove(node, controller_.wall(), by); !removed) return false;
  if (ways_.cut) ways_.cut(node);
  remember_lost(
      node, fmt::format("It was lost with node {}: Slurm ended its pilot ({}).", node, over.why));
  controller_.node_left(node);
  if (auto off = ways_.count_off(node, by); !off && off.error().code != ErrorCode::not_found)
    spdlog::warn("What ran on node {} is not counted as ended: {}", node, off.error().message);
  busy_at_.erase(node);
  return true;
}

// The newest of them, for as long as this server runs.
void PilotKeeper::remember_lost(const std::string& node, const std::string& how) {
  const Node* found = controller_.state().find_node(node);
  if (found == nullptr) return;
  for (const auto job : jobs_on(controller_.state(), *found)) lost_[job] = how;
  while (lost_.size() > kLostMax) lost_.erase(lost_.begin());
}

// What was not answered may have been taken: the next list tells.
void PilotKeeper::hear(const std::vector<Answer>& answers) {
  for (const auto& answer : answers) {
    if (!answer.error) continue;
    if (answer.invitation != 0 && answer.error->code == ErrorCode::conflict)
      static_cast<void>(ways_.book.revoke(answer.invitation));
    if (answer.invitation != 0) refuse_for_a_while(sentences(*answer.error));
  }
}

void PilotKeeper::refuse_for_a_while(std::string problem) {
  problem_ = std::move(problem);
  ask_again_at_ = clock_.now() + pause_;
  pause_ = std::min(pause_ * 2, kPauseMax);
}

}  // namespace paceline
