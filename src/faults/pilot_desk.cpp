#include "faults/pilot_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlurmTakes = 2s;  // for a command, at most
constexpr Duration kSoon = 1s;
constexpr Duration kMindLasts = 5min;
constexpr Duration kCalmLimitAfter = 10min, kCalmLimit = 24h * 30;
constexpr Duration kCalmNodesAfter = 1h;
constexpr std::uint32_t kCalmNodesMore = 8;
constexpr std::string_view kRack = "slurm";  // of pilots

}  // namespace

PilotDesk::PilotDesk(Scene& scene, Gate& gate, FaultySlurm& slurm, PilotSettings settings, Rng rng)
    : scene_(scene), gate_(gate), slurm_(slurm), settings_(std::move(settings)), rng_(rng) {}

void PilotDesk::begin() {
  scene_.queue.after(up_to(2 * kMindLasts), [this] { change_mind(); });
}

void PilotDesk::calm() {
  connect();
  // A job that needs longer than a pilot lasts, or more nodes than may be, would wait for ever.
  scene_.queue.after(kCalmLimitAfter, [this] {
    settings_.time = kCalmLimit;
    slurm_.extend(kCalmLimit, 0);
    connect();
  });
  scene_.queue.after(kCalmNodesAfter, [this] {
    check_waiting();
    settings_.nodes_max += kCalmNodesMore;
    slurm_.extend(kCalmLimit, kCalmNodesMore);
    connect();
  });
}

// By then nothing else runs. Where all that wait fit in nodes that may be asked for, nobody waits.
void PilotDesk::check_waiting() {
  if (controller_ == nullptr) return;
  std::optional<JobId> waits;
  for (const auto& key : controller_->state().queue()) {
    const Job& job = controller_->state().job(key.job);
    if (job.state != JobState::pending) continue;
    if (job.slots(job.range.want) > slots_to_be_had(job)) return;
    waits = job.id;
  }
  if (!waits) return;
  const auto wrong = [&](std::string text) {
    scene_.ledger.wrong(scene_.queue.now(), std::move(text));
  };
  wrong(fmt::format("job {} waits for nodes that may be asked for", waits->value));
  for (const auto& why : controller_->why(controller_->state().job(*waits)))
    wrong(fmt::format("job {}: {}", waits->value, why));
}

// In pieces that each stay on one node.
std::int32_t PilotDesk::slots_to_be_had(const Job& job) const {
  const std::int32_t piece = job.spec->slots_per_worker * job.spec->mesh.tensor;
  const auto within = [&](std::size_t slots) {
    return static_cast<std::int32_t>(slots) / piece * piece;
  };
  std::int32_t most = static_cast<std::int32_t>(settings_.nodes_max) * within(settings_.cpus);
  for (const Node& node : controller_->state().nodes())
    if (node.up && node.spec.rack != kRack) most += within(node.spec.slots.size());
  return most;
}

void PilotDesk::connect() {
  connected_ = true;
  leaving_ = false;
  if (!keeper_) return;
  keeper_->serve(settings_, false);
  keeper_->begin_anew();
  look_in({});
}

void PilotDesk::change_mind() {
  if (scene_.calm) return;
  scene_.queue.after(up_to(kMindLasts), [this] { change_mind(); });
  if (!keeper_) return;
  const bool leaves = connected_ && !leaving_;
  scene_.ledger.note(leaves ? "slurm disconnect" : "slurm connect");
  if (!leaves) return connect();
  leaving_ = true;
  keeper_->serve(settings_, true);
  look_in({});
}

void PilotDesk::set_server(Controller* controller, Clock& clock) {
  ++life_;
  controller_ = controller;
  keeper_.reset();
  if (controller_ == nullptr) return;
  keeper_.emplace(clock, *controller_,
                  PilotKeeper::Ways{.book = gate_.book(),
                                    .cut = [this](std::string_view node) { gate_.cut(node); },
                                    .count_off =
                                        [this](std::string_view node, std::string_view by) {
                                          return gate_.count_off(node, by);
                                        },
                                    .make_token = [this]() -> PilotToken {
                                      const auto token = gate_.new_token(1);
                                      return {token, token};
                                    },
                                    .server = "sim",
                                    .program = "/usr/bin/paceline",
                                    .address = "box:7443"});
  if (!connected_) return;
  keeper_->serve(settings_, leaving_);
  look_in({});
}

ComingNodes PilotDesk::coming() const { return keeper_ ? keeper_->coming() : ComingNodes{}; }

bool PilotDesk::is_empty() const { return keeper_ && keeper_->pilots().empty(); }

void PilotDesk::later(Duration span, std::function<void()> what) {
  scene_.queue.after(span, [this, life = life_, what = std::move(what)] {
    if (life == life_ && keeper_) what();
  });
}

// ---- as app/pilots.cpp does ----

void PilotDesk::look_in(Duration span) {
  later(span, [this, look = ++looks_] {
    if (look == looks_) this->look();
  });
}

void PilotDesk::look() {
  if (!keeper_->settings()) return;
  ++looks_;
  later(up_to(kSlurmTakes), [this] {
    auto listed = slurm_.list(controller_->wall());
    later(up_to(kSlurmTakes), [this, listed = std::move(listed)] { take(listed); });
  });
}

void PilotDesk::take(const Result<std::vector<Pilot>>& listed) {
  if (!keeper_->settings()) return;
  const auto turn = keeper_->take(listed);
  if (turn.left) {
    scene_.ledger.note("Slurm has every node back");
    connected_ = leaving_ = false;
    return keeper_->forget_settings();
  }
  if (turn.requests.empty()) return look_in(settings_.look_every);
  send(turn.requests);
}

// They are made, whether the server is there to hear what came of them or not.
void PilotDesk::send(const std::vector<PilotKeeper::Request>& requests) {
  scene_.queue.after(up_to(kSlurmTakes),
                     [this, requests, draining = slurm_.draining(), life = life_] {
                       std::vector<PilotKeeper::Answer> answers;
                       for (const auto& request : requests)
                         answers.push_back(tell(request, draining));
                       if (life != life_) return;
                       later(up_to(kSlurmTakes), [this, answers] {
                         keeper_->hear(answers);
                         if (keeper_->settings()) look_in(std::min(settings_.look_every, kSoon));
                       });
                     });
}

PilotKeeper::Answer PilotDesk::tell(const PilotKeeper::Request& request,
                                    const std::set<std::uint64_t>& draining) {
  PilotKeeper::Answer answer{request.invitation.value_or(0), {}};
  if (!request.invitation) {
    if (auto back = slurm_.give_back(request.job); !back) answer.error = back.error();
    return answer;
  }
  const auto asked = slurm_.ask(request.name, *request.invitation, request.script,
                                WallTime{scene_.queue.now().time_since_epoch()});
  if (!asked) answer.error = asked.error();
  const auto alive = slurm_.alive(draining);
  if (controller_ != nullptr && alive > settings_.nodes_max)
    scene_.ledger.wrong(scene_.queue.now(), fmt::format("{} pilots are there, of {} that may be",
                                                        alive, settings_.nodes_max));
  return answer;
}

}  // namespace paceline::faults
