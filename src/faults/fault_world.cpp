#include "faults/fault_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "faults/faulty_machine.hpp"
#include "faults/faulty_sender.hpp"
#include "faults/faulty_server.hpp"
#include "faults/faulty_slurm.hpp"
#include "faults/gate.hpp"
#include "faults/joiner.hpp"
#include "faults/keepers.hpp"
#include "faults/log_tap.hpp"
#include "faults/misfortunes.hpp"
#include "faults/node_watch.hpp"
#include "faults/people.hpp"
#include "faults/pilot_desk.hpp"
#include "faults/scene.hpp"
#include "faults/strangers.hpp"
#include "faults/twin.hpp"
#include "faults/world_habits.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

const Time kBegin = time_from_us(1'700'000'000'000'000);

// Of a run: more of them mean that it goes in circles.
constexpr std::uint64_t kEventsMax = 1'000'000;

constexpr LinkHabits kBadLink{0.1, 0.1, 300ms, 3s, false};

// Where certificates hold for minutes, clocks are wrong by seconds.
constexpr std::int64_t kClockErrorsBy = 10'000;
constexpr Duration kClocksErr = 20s;        // by so much certificates begin earlier
constexpr std::int64_t kLooksOfALife = 50;  // for one that runs out

NodeSpec draw_node(std::uint64_t number, Rng& rng) {
  NodeSpec node{fmt::format("box-{}", number),
                fmt::format("10.0.0.{}", number + 1),
                fmt::format("rack-{}", number / 2),
                64,
                1ULL << 38,
                {}};
  node.slots.resize(static_cast<std::size_t>(rng.between(2, 6)),
                    SlotSpec{SlotKind::cpu, "cpu", "", 0, true, ""});
  if (number % 2 == 0) node.labels["disk"] = "nvme";
  node.machine = fmt::format("machine-{}", number);
  return node;
}

class FaultWorld {
 public:
  FaultWorld(const FaultOptions& options, const FaultParts& parts)
      : options_(options),
        parts_(parts),
        scene_(options.seed, kBegin),
        habits_(draw_world(options, scene_.rng)),
        server_(scene_, parts, habits_, options.crash),
        misfortunes_(scene_, server_, machines_, {habits_.every, options.disks_fill}) {
    if (options.story)
      scene_.ledger.on_story(
          [this](std::string_view line) { options_.story(scene_.queue.now() - kBegin, line); });
    build();
    connect();
  }

  FaultReport run();

 private:
  void build();
  void connect();
  FaultyMachine& build_machine(NodeSpec node, std::string boots = {});
  void build_gate();
  void let_join(FaultyMachine& machine);
  void build_copy();
  void build_slurm();
  Joiner& bring_pilot(const std::string& node, const std::string& token);
  void run_events();
  void heal();
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] bool has_claims() const;
  FaultReport report();

  const FaultOptions& options_;
  const FaultParts& parts_;
  Scene scene_;
  const WorldHabits habits_;
  FaultyServer server_;
  std::uint64_t sessions_ = 0;
  std::deque<FaultyMachine> machines_;
  std::optional<CopyHabits> copies_;
  std::deque<FaultySender> senders_;
  std::optional<Twin> twin_;
  std::optional<People> people_;
  Misfortunes misfortunes_;
  std::optional<Strangers> strangers_;

  // ---- where machines join ----
  NodeWatch watch_{scene_};
  std::optional<Gate> gate_;
  std::deque<Joiner> joiners_;
  std::optional<Keepers> keepers_;
  std::optional<FaultySlurm> slurm_;
  std::optional<PilotDesk> pilots_;
  std::uint64_t brought_ = 0;
};

void FaultWorld::build() {
  std::optional<Rng> ports = habits_.ports;
  People::Habits people{habits_.jobs, habits_.every, 0, parts_.scripts, habits_.patience};
  const auto& joining = habits_.joining;
  if (joining) copies_ = joining->copies;
  if (joining) build_gate();
  for (std::uint64_t i = 0; i < habits_.machines + (joining ? joining->more : 0); ++i) {
    NodeSpec node = draw_node(i, scene_.rng);
    if (ports) node.ports = draw_ports(*ports, joining.has_value());
    people.slots += static_cast<std::int32_t>(node.slots.size());
    FaultyMachine& machine = build_machine(std::move(node));
    if (joining && (i > 0 || !joining->own_machine)) let_join(machine);
  }
  if (joining && joining->copy) build_copy();
  if (joining && joining->pilots) {
    const PilotSettings& settings = joining->pilots->settings;
    people.slots += static_cast<std::int32_t>(settings.nodes_max * settings.cpus);
    build_slurm();
  }
  if (habits_.twin) {
    NodeSpec node = machines_.front().host().describe();
    node.machine = "twin";
    build_machine(std::move(node));
    twin_.emplace(scene_, machines_.front(), machines_.back());
  }
  if (ports && options_.misfortunes) strangers_.emplace(scene_, machines_, Rng(ports->next()));
  people_.emplace(scene_.queue, scene_.ledger, Rng(scene_.rng.next()), std::move(people));
}

FaultyMachine& FaultWorld::build_machine(NodeSpec node, std::string boots) {
  FaultyMachine::Options options{kBadLink, habits_.unstored_max, std::move(boots)};
  node.lease = habits_.lease;
  node.keeps = copies_ && copies_->rng.chance(copies_->machines);
  options.link.as_text = habits_.frames_as_text;
  FaultyMachine& machine =
      machines_.emplace_back(scene_, parts_.make_clock, std::move(node), options, sessions_);
  if (copies_)
    senders_.emplace_back(scene_, server_, machine, copies_->sender, Rng(copies_->rng.next()));
  return machine;
}

void FaultWorld::build_gate() {
  scene_.clock_errors_by = kClockErrorsBy;
  JoiningHabits joining = *habits_.joining;
  Gate::Habits gate{joining.lifetime, kClocksErr, joining.own_machine ? "box-0" : ""};
  gate_.emplace(scene_, server_, watch_, std::move(gate), Rng(joining.rng.next()));
  keepers_.emplace(scene_, *gate_, Keepers::Habits{habits_.every}, Rng(joining.rng.next()));
}

void FaultWorld::let_join(FaultyMachine& machine) {
  const Joiner::Habits habits{habits_.joining->lifetime / kLooksOfALife};
  keepers_->add(joiners_.emplace_back(scene_, *gate_, machine, habits));
}

// Of the first that joins; its disk is copied when it comes.
void FaultWorld::build_copy() {
  NodeSpec node = joiners_.front().machine().host().describe();
  FaultyMachine& machine = build_machine(node, "copy of " + node.name);
  const Joiner::Habits habits{habits_.joining->lifetime / kLooksOfALife};
  keepers_->add_copy(joiners_.emplace_back(scene_, *gate_, machine, habits));
}

void FaultWorld::build_slurm() {
  PilotHabits pilots = *habits_.joining->pilots;
  slurm_.emplace(scene_, FaultySlurm::Habits{pilots.settings, pilots.hosts, habits_.every},
                 AroundSlurm{[this](const std::string& node, const std::string& token) -> Joiner& {
                               return bring_pilot(node, token);
                             },
                             [this](const std::string& node) { return gate_->say_off(node); },
                             [this](const std::string& node) { return gate_->is_node(node); },
                             [this](const std::string& node) { return gate_->seen(node); }},
                 Rng(pilots.rng.next()));
  pilots_.emplace(scene_, *gate_, *slurm_, pilots.settings, Rng(pilots.rng.next()));
  server_.on_coming([this] { return pilots_->coming(); });
}

// Each begins with an empty disk.
Joiner& FaultWorld::bring_pilot(const std::string& node, const std::string& token) {
  const PilotSettings& settings = habits_.joining->pilots->settings;
  NodeSpec spec{node, fmt::format("10.1.0.{}", ++brought_), "slurm", 64, 1ULL << 38, {}};
  spec.slots.resize(settings.cpus, SlotSpec{SlotKind::cpu, "cpu", "", 0, true, ""});
  spec.machine = fmt::format("pilot-{}", brought_);
  FaultyMachine& machine = build_machine(std::move(spec), fmt::format("pilot {}", brought_));
  const Joiner::Habits habits{habits_.joining->lifetime / kLooksOfALife};
  Joiner& joiner = joiners_.emplace_back(scene_, *gate_, machine, habits);
  if (scene_.calm) machine.calm();
  machine.start();
  joiner.begin();
  joiner.paste(token);
  return joiner;
}

void FaultWorld::connect() {
  server_.on_here([this](Controller* controller, ServerEnd* end) {
    for (FaultyMachine& machine : machines_)
      if (!machine.joins()) machine.link().set_server(end);
    if (gate_) gate_->set_server(controller, end);
    if (pilots_) pilots_->set_server(controller, server_.clock());
    people_->set_server(controller);
  });
  server_.on_send([this](const ServerFrame& frame) {
    for (FaultyMachine& machine : machines_) machine.link().send(frame);
  });
}

FaultReport FaultWorld::run() {
  Ledger& ledger = scene_.ledger;
  const LogTap::Listening ear([&](std::string_view line) {
    ledger.note("log line", line);
    if (line.find("is refused") != std::string_view::npos)
      ledger.wrong(scene_.queue.now(), std::string(line));
  });
  server_.start();
  for (FaultyMachine& machine : machines_) machine.start();
  if (gate_) gate_->begin();
  if (keepers_) keepers_->begin();
  if (slurm_) slurm_->begin();
  if (pilots_) pilots_->begin();
  people_->begin();
  if (options_.misfortunes) misfortunes_.begin();
  if (strangers_) strangers_->begin();
  scene_.queue.at(kBegin + options_.faults_for, [this] { heal(); });
  run_events();
  if (server_.controller() != nullptr && ledger.faults().empty()) {
    server_.check_rest();
    if (keepers_) keepers_->check_rest();
    if (slurm_) slurm_->check_rest();
    if (has_claims()) ledger.wrong(scene_.queue.now(), "a claim was not discarded");
  }
  return report();
}

void FaultWorld::run_events() {
  EventQueue& queue = scene_.queue;
  Ledger& ledger = scene_.ledger;
  const Time end = kBegin + options_.faults_for + options_.calm_for_max;
  while (!at_rest() && queue.now() < end && ledger.faults().empty() && queue.run_next()) {
    ledger.passed(queue.now(), server_.works());
    if (queue.done() >= kEventsMax)
      ledger.wrong(queue.now(), fmt::format("{} events, and no end", queue.done()));
  }
}

bool FaultWorld::has_claims() const {
  return std::ranges::any_of(machines_, [](const FaultyMachine& machine) {
    return !machine.is_off() && machine.host().claim_count() > 0;
  });
}

bool FaultWorld::at_rest() const {
  const Controller* server = server_.controller();
  if (!scene_.calm || server == nullptr || !people_->done() || scene_.ledger.alive() > 0)
    return false;
  if (keepers_ && !keepers_->done()) return false;
  if (slurm_ && !(slurm_->is_empty() && pilots_->is_empty())) return false;
  return !has_claims() && server->state().queue().empty();
}

void FaultWorld::heal() {
  scene_.ledger.note("calm");
  scene_.calm = true;
  server_.store().set_full(false);
  for (FaultyMachine& machine : machines_) machine.calm();
  if (gate_) server_.set_clock_right();
  if (copies_) server_.stop_after(1min);  // it asks once more for what wasn't sent
  if (keepers_) keepers_->calm();
  if (slurm_) slurm_->calm();
  if (pilots_) pilots_->calm();
  people_->calm();
}

FaultReport FaultWorld::report() {
  Ledger& ledger = scene_.ledger;
  const std::uint64_t commits = server_.store().commits();
  ledger.count("event", scene_.queue.done());
  ledger.count("commit", commits);
  FaultReport report;
  report.faults = ledger.faults();
  report.digest = ledger.digest();
  report.happened = ledger.happened();
  report.commits = commits;
  if (const Controller* server = server_.controller()) report.jobs = server->state().jobs().given();
  report.took = scene_.queue.now() - kBegin;
  return report;
}

}  // namespace

FaultReport run_fault_world(const FaultOptions& options, const FaultParts& parts) {
  return FaultWorld(options, parts).run();
}

}  // namespace paceline::faults
