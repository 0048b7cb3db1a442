#include "conformance/stage.hpp"

#include <chrono>

namespace paceline::conformance {
namespace {

constexpr int kTerminate = 15;
constexpr Duration kGrace = std::chrono::seconds{1};

// Runs, or never will.
bool comes_up(Stage& stage) {
  stage.until(&ServerByHand::runs_or_over);
  return stage.server.runs() && !stage.server.over();
}

}  // namespace

void Stage::stop() {
  pass([this] { return server.over() || waits(); });
  server.say(StopWorker{worker_, kTerminate, kGrace});
}

void Stage::forget() {
  server.say(DiscardWorker{worker_});
  pass([] { return true; });
}

Course play(const Story& story, Stage& stage) {
  stage.start();
  story.play(stage);
  stage.until(&ServerByHand::over);
  stage.forget();
  return stage.server.course();
}

void ends_by_itself(Stage&) {}

void is_killed_at_its_grace(Stage& stage) {
  if (comes_up(stage)) stage.stop();
}

void outlives_its_agent(Stage& stage) {
  if (comes_up(stage)) stage.restart(Return::at_once);
}

void ends_without_an_agent(Stage& stage) {
  if (comes_up(stage)) stage.restart(Return::after_the_end);
}

}  // namespace paceline::conformance
