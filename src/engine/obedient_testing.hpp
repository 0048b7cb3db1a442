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
    for (const JobId id : jobs) obey(state.job(id));
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
    for (const auto& key : state.active()) obey(state.job(key.job));
  }

 protected:
  virtual void start(const ProcessKey& worker) {
    tell(WorkerStarted{worker, 1000 + worker.number});
  }
  virtual void end(const ProcessKey& worker, const Stop& stop) {
    tell(WorkerEnded{worker, {Cause::signalled, {}, 15, {}, stop.at}});
  }

 private:
  void obey(const Job& job) {
    if (!job.current) return;
    const Gang& gang = *job.current;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
      const auto left = unmet(job, rank);
      const ProcessKey worker = gang.process(job.id, rank);
      if (!left || !told_.emplace(worker, *left).second) continue;
      if (left == Unmet::start) start(worker);
      if (left == Unmet::end) end(worker, *gang.stop);
    }
  }
  void wake() {
    if (wake_) wake_();
  }

  Observed news_;
  std::set<std::pair<ProcessKey, Unmet>> told_;  // and not taken yet
  std::function<void()> wake_;
};

}  // namespace paceline::testing
