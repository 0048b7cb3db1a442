// Where jobs start, watched from outside, since a checkpoint may lie on one machine alone:
//
//   - no plan starts a job where its newest checkpoint isn't
//   - a worker that starts on another machine than the one that wrote it is told of the server's copy,
//     unless its gang has saved before the worker was told to start
//   - no worker is told of a copy that no machine sent
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/state.hpp"
#include "model/worker.hpp"
#include "plan/plan.hpp"

namespace paceline::faults {

class CopyWatch {
 public:
  using Wrong = std::function<void(std::string)>;
  explicit CopyWatch(Wrong wrong) : wrong_(std::move(wrong)) {}

  // A plan with that change is durable. `job`: as it was then.
  void planned(const State& state, const Job& job, const Change& change);
  void kept(const CheckpointKept& event);
  void saved(const CheckpointAcknowledged& event);
  // A worker starts there, with that.
  void launched(const std::string& node, const WorkerLaunch& launch);

 private:
  Wrong wrong_;
  std::map<JobId, std::set<std::string>> ships_;
  // Where the newest checkpoint lay when the start was decided, by job and generation.
  std::map<std::pair<JobId, Generation>, CheckpointPlace> starts_;
};

}  // namespace paceline::faults
