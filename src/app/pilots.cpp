#include "app/pilots.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "joining/node_book.hpp"
#include "link/agent_door.hpp"
#include "plan/draining.hpp"
#include "trust/token.hpp"

namespace paceline {
namespace {

constexpr std::size_t kServerDigits = 8;
constexpr Duration kInvitedFor = std::chrono::hours{30 * 24};
constexpr Duration kPauseMin = std::chrono::seconds{30}, kPauseMax = std::chrono::minutes{30};
constexpr Duration kLookSoon = std::chrono::seconds{1};
// A node that was asked for so that jobs grow, and that nothing ran on, is not asked for again so soon.
constexpr int kGrowAgainAfterIdles = 6;
constexpr std::size_t kLostMax = 10'000;
const std::string kLabel = "slurm", kPilot = "pilot";

bool is_pilots(const NodePlace& place) {
  const auto label = place.labels.find(kLabel);
  return label != place.labels.end() && label->second == kPilot;
}

Principal by_slurm() { return {.user = "slurm", .roles = {Role::operator_}}; }

std::string ago(Duration span) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(span).count();
  if (seconds < 120) return fmt::format("{} s ago", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200) return fmt::format("{} min ago", seconds / 60);
  return fmt::format("{} h ago", seconds / 3600);
}

std::string sentences(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{} {}", error.message, error.hint);
}

}  // namespace

Pilots::Pilots(boost::asio::io_context& io, Clock& clock, Controller& controller,
               std::unique_ptr<NodeProvider> provider, Options options)
    : clock_(clock),
      controller_(controller),
      provider_(std::move(provider)),
      options_(std::move(options)),
      file_(options_.directory / "slurm",
            {.what = "Slurm's settings", .remedy = "connect again: 'paceline slurm connect'"}),
      server_(to_hex(options_.remote.authority).substr(0, kServerDigits)),
      pause_(kPauseMin),
      timer_(io),
      errand_(io),
      connecting_(io) {}

Result<std::unique_ptr<Pilots>> Pilots::open(boost::asio::io_context& io, Clock& clock,
                                             Controller& controller,
                                             std::unique_ptr<NodeProvider> provider,
                                             Options options) {
  std::unique_ptr<Pilots> pilots(
      new Pilots(io, clock, controller, std::move(provider), std::move(options)));
  const auto read = pilots->file_.load([&](const Json& json) { return pilots->read(json); });
  if (!read) return fail(read.error());
  if (pilots->settings_) pilots->look_in(Duration{});
  return pilots;
}

// ---- what is kept ----

Result<void> Pilots::read(const Json& json) {
  PilotSettings settings;
  bool connected = false;
  ObjectReader reader(json, "the file");
  reader.require({"connected", "leaving"}).flag("connected", connected);
  reader.flag("leaving", leaving_).flag("proven", proven_);
  read_settings(reader, settings);
  if (auto ok = reader.finish(); !ok) return ok;
  if (connected) settings_ = std::move(settings);
  return {};
}

Result<void> Pilots::keep(const std::optional<PilotSettings>& settings, bool leaving) {
  JsonWriter json;
  json.begin_object().field("connected", settings.has_value()).field("leaving", leaving);
  json.field("proven", proven_);
  write_settings(json, settings.value_or(PilotSettings{}));
  json.end_object();
  if (auto kept = file_.save(json.take()); !kept) return kept;
  settings_ = settings;
  leaving_ = leaving;
  return {};
}

// ---- what people say ----

void Pilots::connect(PilotSettings settings, std::function<void(Result<void>)> done) {
  if (options_.uid == 0)
    return done(
        fail(ErrorCode::conflict, "This server is root's, and pilots are no job for root.",
             "Start one of your own on the login node: 'paceline up --listen ADDRESS:PORT'."));
  if (connecting_.busy())
    return done(fail(ErrorCode::conflict, "Somebody connects this server to Slurm already.",
                     "'paceline slurm status' tells how it went.", Retry::may_help));
  auto script = batch_script(settings, call("plj_nobodys"));
  connecting_.run(
      [this, settings, script = std::move(script), asked = call("")]() -> Result<bool> {
        if (auto fits = provider_->try_out(script); !fits) return fail(std::move(fits.error()));
        return provider_->prove(settings, asked);
      },
      [this, settings, done = std::move(done)](const Result<bool>& proven) {
        settle_connect(settings, proven, done);
      });
}

void Pilots::settle_connect(const PilotSettings& settings, const Result<bool>& proven,
                            const std::function<void(Result<void>)>& done) {
  if (!proven) return done(fail(proven.error()));
  proven_ = *proven;
  if (auto kept = keep(settings, false); !kept) return done(fail(std::move(kept.error())));
  problem_.clear();
  ask_again_at_.reset();
  grow_again_at_.reset();
  pause_ = kPauseMin;
  look_in(Duration{});
  done({});
}

Result<void> Pilots::disconnect(const Principal& by) {
  if (!settings_ || leaving_) return {};
  if (auto kept = keep(settings_, true); !kept) return kept;
  spdlog::info("{} disconnected the server from Slurm: its pilots are given back.", by.user);
  look_in(Duration{});
  return {};
}

SlurmStatus Pilots::status() const {
  return {.settings = settings_,
          .leaving = leaving_,
          .proven = proven_,
          .problem = unanswered_.empty() ? problem_ : unanswered_,
          .pilots = pilots_};
}

ComingNodes Pilots::coming() const {
  if (!settings_ || leaving_) return {};
  const auto there =
      static_cast<std::uint32_t>(std::ranges::count_if(pilots_, [](const KnownPilot& known) {
        return known.node && known.node->up && !known.node->begun;
      }));
  return {settings_->nodes_max - std::min(there, settings_->nodes_max), slots_of(*settings_)};
}

SlurmCost Pilots::cost() const {
  SlurmCost cost;
  std::set<JobId> jobs;
  for (const auto& known : pilots_) {
    ++cost.pilots;
    const Node* node = known.node ? controller_.state().find_node(known.node->name) : nullptr;
    if (node == nullptr) continue;
    for (const auto id : jobs_on(controller_.state(), *node)) jobs.insert(id);
    const auto outlook = controller_.drains().look_at(known.node->name, {.within = kLeavesWithin});
    if (outlook) cost.loses_slot_seconds += outlook->lost_slot_seconds();
  }
  cost.jobs.assign(jobs.begin(), jobs.end());
  return cost;
}

std::vector<std::string> Pilots::why(const Job& job) const {
  std::vector<std::string> lines;
  if (const auto lost = lost_.find(job.id); lost != lost_.end() && !is_over(job.state))
    lines.push_back(lost->second);
  if (job.state != JobState::pending || job.held || !settings_ || leaving_) return lines;
  if (!may_ever_start(job)) {
    lines.push_back(fmt::format(
        "It needs {} slots: with all {} nodes that may be asked of Slurm there would be "
        "{}. 'paceline slurm connect --nodes-max N' allows more.",
        job.slots(job.range.min), settings_->nodes_max, slots_at_most()));
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
    lines.push_back(fmt::format("{} more node{} asked of Slurm {} (job {}{}).", waiting.size(),
                                waiting.size() == 1 ? " was" : "s were", ago(first.asked_for),
                                first.pilot->job,
                                first.pilot->reason.empty() ? "" : ", " + first.pilot->reason));
  }
  const auto& problem = unanswered_.empty() ? problem_ : unanswered_;
  if (!problem.empty()) lines.push_back(problem);
  return lines;
}

// ---- looking ----

void Pilots::look_in(Duration span) {
  timer_.after(span, [this] { look(); });
}

void Pilots::look() {
  if (!settings_) return;
  if (errand_.busy()) return look_in(kLookSoon);
  errand_.run([this] { return provider_->list(server_); },
              [this](Result<std::vector<Pilot>> listed) { take(std::move(listed)); });
}

void Pilots::take(Result<std::vector<Pilot>> listed) {
  if (!settings_) return;
  if (!listed) {
    unanswered_ = sentences(listed.error());
    return look_in(settings_->look_every);
  }
  unanswered_.clear();
  auto all = known(*listed);
  const auto actions = reconcile({.settings = *settings_,
                                  .demand = demand(),
                                  .pilots = all,
                                  .leaving = leaving_,
                                  .may_ask = !ask_again_at_ || *ask_again_at_ <= clock_.now()});
  std::erase_if(all, [](const KnownPilot& each) {
    const bool may_run = each.node && each.node->busy;
    return each.pilot && each.pilot->state == PilotState::over && !may_run;
  });
  pilots_ = std::move(all);
  if (leaving_ && pilots_.empty() && actions.empty() && keep({}, false)) {
    spdlog::info("Slurm has every node back.");
    return;
  }
  act(actions);
}

// Every pilot that is not counted over yet, in the order of their invitations.
std::vector<KnownPilot> Pilots::known(const std::vector<Pilot>& listed) {
  std::map<std::uint32_t, KnownPilot> all;
  const auto& book = *options_.remote.nodes;
  for (const auto& [id, invitation] : book.invitations())
    if (is_pilots(invitation.place)) all[id].asked_for = controller_.wall() - invitation.made_at;
  for (const auto& [name, node] : book.nodes())
    if (is_pilots(node.place) && !node.removed_at)
      all[node.invitation].asked_for = controller_.wall() - node.joined_at;
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
    if (pilot.node && pilot.node->up) {
      proven_ = true;
      problem_.clear();
      pause_ = kPauseMin;
    }
    pilots.push_back(std::move(pilot));
  }
  return pilots;
}

std::optional<PilotNode> Pilots::node_of(std::uint32_t invitation) {
  for (const auto& [name, joined] : options_.remote.nodes->nodes()) {
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

std::uint64_t Pilots::slots_there() const {
  std::uint64_t slots = 0;
  for (const auto& node : controller_.state().nodes()) {
    if (node.retired || !starts_jobs(node)) continue;
    for (std::uint32_t i = 0; i < node.slots.size(); ++i) slots += node.offers(i) ? 1U : 0U;
  }
  return slots;
}

// With every pilot that may be.
std::uint64_t Pilots::slots_at_most() const {
  std::uint64_t own = 0;
  for (const auto& name : options_.remote.own_nodes) {
    const Node* node = controller_.state().find_node(name);
    if (node != nullptr && starts_jobs(*node)) own += node->spec.slots.size();
  }
  return own + std::uint64_t{settings_->nodes_max} * slots_of(*settings_);
}

bool Pilots::may_ever_start(const Job& job) const {
  return static_cast<std::uint64_t>(job.slots(job.range.min)) <= slots_at_most();
}

Demand Pilots::demand() const {
  Demand demand{.there = slots_there()};
  const State& state = controller_.state();
  const auto policy = controller_.policies().find(state.policy()->name);
  const bool grows =
      policy && (*policy)->elastic && (!grow_again_at_ || *grow_again_at_ <= clock_.now());
  const auto add = [&](const Job& job) {
    const auto now = job.planned_workers();
    if (now == 0 && (job.held || !may_ever_start(job))) return;
    const auto needed = now > 0 ? now : job.range.want;
    const bool may_grow = grows && (now == 0 || job.resizable());
    demand.needed += static_cast<std::uint64_t>(job.slots(needed));
    demand.wanted +=
        static_cast<std::uint64_t>(job.slots(may_grow ? std::max(needed, job.range.max) : needed));
  };
  for (const auto& key : state.active()) add(state.job(key.job));
  for (const auto& key : state.waiting())
    if (state.job(key.job).planned_workers() == 0) add(state.job(key.job));
  return demand;
}

PilotCall Pilots::call(std::string token) const {
  return {options_.program, options_.remote.address, std::move(token)};
}

// ---- doing ----

void Pilots::act(const std::vector<PilotAction>& actions) {
  std::vector<Request> requests;
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
  if (!requests.empty()) return send(std::move(requests));
  look_in(settings_->look_every);
}

void Pilots::ask_for(std::uint32_t count, std::vector<Request>& requests) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto secret = Token::make(TokenKind::join, options_.remote.authority);
    const auto now = controller_.wall();
    const auto invited = options_.remote.nodes->invite({.digest = to_hex(secret.digest()),
                                                        .made_by = "slurm",
                                                        .made_at = now,
                                                        .expires_at = now + kInvitedFor,
                                                        .uses_left = 1,
                                                        .place = {.labels = {{kLabel, kPilot}}}});
    if (!invited) return refuse_for_a_while(sentences(invited.error()));
    requests.push_back({.invitation = invited->id,
                        .name = pilot_name(server_, invited->id),
                        .script = batch_script(*settings_, call(secret.text()))});
  }
}

void Pilots::drain(const DrainPilot& order) {
  const auto now = controller_.wall();
  DrainOrder said{.reason = order.why};
  if (order.begins_in > Duration{}) said.from = now + order.begins_in;
  if (order.ends_in) said.until = now + *order.ends_in;
  if (!order.ends_in && order.begins_in == Duration{})
    grow_again_at_ = clock_.now() + settings_->idle * kGrowAgainAfterIdles;
  controller_.drains().drain(
      order.node, std::move(said), by_slurm(), [node = order.node](const Result<void>& done) {
        if (!done) spdlog::warn("Node {} can't be drained: {}", node, done.error().message);
      });
}

void Pilots::leave_to_lease(const LeaveToLease& left) {
  spdlog::warn("Slurm lost node {} with its pilot ({}).", left.node, left.why);
  remember_lost(left.node,
                fmt::format("Slurm lost node {} with its pilot ({}): what ran there starts "
                            "elsewhere once it has left it, or once the node's lease is over.",
                            left.node, left.why));
  drain({left.node, fmt::format("Slurm lost its pilot ({})", left.why), {}, kLeavesWithin});
}

// A node that is heard has workers that may run: it is looked at again.
void Pilots::count_over(const CountOver& over) {
  auto& book = *options_.remote.nodes;
  const auto node = node_of(over.invitation);
  if (node) {
    if (options_.remote.agents != nullptr) options_.remote.agents->cut(node->name);
    remember_lost(node->name, fmt::format("It was lost with node {}: Slurm ended its pilot ({}).",
                                          node->name, over.why));
    // Until it counts as down nothing is to be placed there.
    controller_.drains().drain(node->name, {.reason = "Slurm ended its pilot"}, by_slurm(),
                               [](const Result<void>&) {});
    const auto by = fmt::format("Slurm, which ended its pilot ({}),", over.why);
    if (controller_.state().find_node(node->name) != nullptr) {
      if (auto off = options_.remote.count_off(node->name, by);
          !off && off.error().code == ErrorCode::conflict)
        return;
    }
    if (auto removed = book.remove(node->name, controller_.wall()); !removed) return;
    busy_at_.erase(node->name);
  }
  if (book.invitations().contains(over.invitation))
    if (auto revoked = book.revoke(over.invitation); !revoked) return;
  spdlog::info("Slurm ended a pilot: {}{}.", node ? node->name + ", " : "", over.why);
  const auto pilot = std::ranges::find(pilots_, over.invitation, &KnownPilot::invitation);
  const auto job = pilot != pilots_.end() && pilot->pilot ? pilot->pilot->job : 0;
  if (!node && given_back_.erase(job) == 0)
    refuse_for_a_while(fmt::format("A pilot of Slurm's ended before it joined: {}.", over.why));
}

// The newest of them, for as long as this server runs.
void Pilots::remember_lost(const std::string& node, const std::string& how) {
  const Node* found = controller_.state().find_node(node);
  if (found == nullptr) return;
  for (const auto job : jobs_on(controller_.state(), *found)) lost_[job] = how;
  while (lost_.size() > kLostMax) lost_.erase(lost_.begin());
}

void Pilots::send(std::vector<Request> requests) {
  errand_.run(
      [this, requests = std::move(requests)] {
        std::vector<Answer> answers;
        for (const auto& request : requests) {
          std::optional<Error> error;
          if (request.invitation) {
            if (auto asked = provider_->ask(request.name, request.script); !asked)
              error = std::move(asked.error());
          } else if (auto back = provider_->give_back(request.job); !back) {
            error = std::move(back.error());
          }
          answers.push_back({request.invitation.value_or(0), std::move(error)});
        }
        return answers;
      },
      [this](const std::vector<Answer>& answers) { hear(answers); });
}

// What was not answered may have been taken: the next list tells.
void Pilots::hear(const std::vector<Answer>& answers) {
  for (const auto& answer : answers) {
    if (!answer.error) continue;
    if (answer.invitation != 0 && answer.error->code == ErrorCode::conflict)
      static_cast<void>(options_.remote.nodes->revoke(answer.invitation));
    if (answer.invitation != 0) refuse_for_a_while(sentences(*answer.error));
  }
  if (settings_) look_in(std::min(settings_->look_every, kLookSoon));
}

void Pilots::refuse_for_a_while(std::string problem) {
  problem_ = std::move(problem);
  ask_again_at_ = clock_.now() + pause_;
  pause_ = std::min(pause_ * 2, kPauseMax);
}

}  // namespace paceline
