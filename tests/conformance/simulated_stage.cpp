#include "conformance/simulated_stage.hpp"

#include <memory>
#include <optional>

#include "agent/wants.hpp"
#include "clock/system/system_clock.hpp"
#include "faults/event_queue.hpp"
#include "faults/faulty_host.hpp"
#include "faults/ledger.hpp"
#include "faults/set_clock.hpp"

namespace paceline::conformance {
namespace {

constexpr std::uint64_t kSeeds = 1000;
constexpr int kEventsMax = 10'000;
const ProcessKey kWorker{JobId{1}, Generation{1}, 0};

struct Trouble {
  enum class When { never, at_start, at_setup, running } when = When::never;
  std::optional<int> want;  // nothing: the supervisor ends
};

NodeSpec box() {
  NodeSpec node;
  node.name = "box";
  node.slots.resize(1);
  return node;
}

class SimulatedStage final : public Stage {
 public:
  SimulatedStage(std::uint64_t seed, Trouble trouble)
      : Stage(kWorker), host_(queue_, clock_, ledger_, Rng(seed), box()), trouble_(trouble) {
    come();
  }

  void start() override {
    WorkerLaunch launch;
    launch.key = worker();
    launch.slots = {0};
    befall(Trouble::When::at_start);
    server.say(StartWorker{launch});
    step();
    befall(Trouble::When::at_setup);
  }

  void restart(Return when) override {
    host_.agent_died();
    agent_.reset();
    if (when == Return::after_the_end) run_until_nothing_happens();
    come();
  }

 private:
  bool pass(const std::function<bool()>& condition) override {
    step();
    for (int i = 0; i < kEventsMax && !condition(); ++i) {
      if (!queue_.run_next()) return false;
      step();
    }
    return condition();
  }
  void run_until_nothing_happens() {
    for (int i = 0; i < kEventsMax && queue_.run_next(); ++i) continue;
  }
  void come() {
    agent_ = std::make_unique<agent::Agent>(host_);
    server.connect(*agent_);
    step();
  }
  // What is due by the agent is something that happens, too.
  void step() {
    server.step(queue_.now());
    if (server.runs()) befall(Trouble::When::running);
    const auto due = agent_->next_due();
    if (due && !server.over()) queue_.after(std::max(Duration::zero(), *due - queue_.now()), [] {});
  }
  void befall(Trouble::When now) {
    if (trouble_.when != now || now == Trouble::When::never) return;
    trouble_.when = Trouble::When::never;
    if (trouble_.want)
      host_.set_want(*trouble_.want);
    else
      host_.supervisor_died();
  }

  faults::EventQueue queue_{time_from_us(1'700'000'000'000'000)};
  faults::SetClock clock_{
      queue_,
      [](ClockSources sources) { return std::make_unique<SystemClock>(std::move(sources)); },
      "box"};
  faults::Ledger ledger_;
  faults::FaultyHost host_;
  std::unique_ptr<agent::Agent> agent_;
  Trouble trouble_;
};

Course play_simulated(const Story& story, std::uint64_t seed, const Trouble& trouble) {
  SimulatedStage stage(seed, trouble);
  return play(story, stage);
}

}  // namespace

std::set<Course> simulated_courses(const Story& story) {
  std::set<Course> courses;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (play_simulated(story, seed, {}) != story.plain) continue;
    courses.insert(story.plain);
    for (const auto when :
         {Trouble::When::at_start, Trouble::When::at_setup, Trouble::When::running}) {
      courses.insert(play_simulated(story, seed, {when, {}}));
      for (const auto& want : agent::wants())
        courses.insert(play_simulated(story, seed, {when, want.error_number}));
    }
  }
  return courses;
}

}  // namespace paceline::conformance
