// Where jobs start, watched from outside, since a checkpoint may lie on one machine alone:
//
//   - no plan starts a job where its newest checkpoint isn't
//   - whoever starts on another machine than that which wrote it is told of the copy that the server has
//   - nothing is told of a copy that nobody sent
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

  // `job`: as it was when that became durable.
  void planned(const State& state, const Job& job, const Change& change);
  void kept(const CheckpointKept& event);
  // A worker starts there.
  void launched(const std::string& node, const WorkerLaunch& launch);

 private:
  Wrong wrong_;
  std::map<JobId, std::set<std::string>> ships_;
  // Where the newest checkpoint lay when the start was decided, by job and generation.
  std::map<std::pair<JobId, Generation>, CheckpointPlace> starts_;
};

}  // namespace paceline::faults
