// For tests: workers that do at once what the state wants. A test that wants them later overrides act() and
// calls obey() when it is time.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <utility>

#include "engine/engine.hpp"
#include "model/unmet.hpp"

namespace paceline::testing {

class ObedientEngine : public Engine {
 public:
  Observed observe() override {
    told_.clear();
    return std::exchange(news_, {});
  }
  void committed() override {}
  void on_news(std::function<void()> wake) override { wake_ = std::move(wake); }
  void act(const State& state, std::span<const JobId> jobs) override {
    for (const JobId id : jobs) obey(state, state.job(id));
  }

  void tell(Event event) {
    news_.events.push_back(std::move(event));
    wake();
  }
  void tell(MetricPoint point) {
    news_.points.push_back(std::move(point));
    wake();
  }
  [[nodiscard]] bool quiet() const { return news_.empty(); }

  // Of all jobs that hold anything.
  void obey(const State& state) {
    for (const auto& key : state.active()) obey(state, state.job(key.job));
  }

 protected:
  virtual void start(const ProcessKey& worker) {
    tell(WorkerStarted{worker, 1000 + worker.number});
  }
  virtual void end(const ProcessKey& worker, const Stop& stop) {
    tell(WorkerEnded{worker, {Cause::signalled, {}, 15, {}, stop.at}});
  }

 private:
  void obey(const State& state, const Job& job) {
    each_unmet(state, job, [&](const ProcessKey& worker, Unmet left, const Stop* stop) {
      if (!told_.emplace(worker, left).second) return;
      if (left == Unmet::start) start(worker);
      if (left == Unmet::ready) tell(WorkerReady{worker, job.forming->generation});
      if (left == Unmet::end) end(worker, *stop);
    });
    if (is_to_stand(job)) tell(GangStands{job.id, job.current->generation});
  }
  void wake() {
    if (wake_) wake_();
  }

  Observed news_;
  std::set<std::pair<ProcessKey, Unmet>> told_;  // and not taken yet
  std::function<void()> wake_;
};

}  // namespace paceline::testing
