// Why a job is as it is: from its state, and for what a policy decides from the very code that
// decides, run on a draft that is thrown away.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/viewer.hpp"
#include "plan/draft.hpp"
#include "policy/policy.hpp"

namespace paceline {

// What a round would say of every job now.
class Explanation {
 public:
  Explanation(const Snapshot& snapshot, const Policy* policy, const Placer& placer,
              const Judge& judge);

  // As others may read it, unless its owner asks.
  [[nodiscard]] Reason reason(const Job& job, Viewer viewer = Viewer::other) const;
  // The reason as a sentence, then what it depends on.
  [[nodiscard]] std::vector<std::string> lines(const Job& job, Viewer viewer = Viewer::other) const;

 private:
  [[nodiscard]] Reason waiting(const Job& job) const;
  [[nodiscard]] Reason starting(const Job& job) const;
  [[nodiscard]] Reason running(const Job& job) const;
  void add_queue(const Job& job, std::vector<std::string>& lines) const;
  void add_holders(std::vector<std::string>& lines) const;

  Snapshot snapshot_;
  std::unordered_map<JobId, Reason> holds_;
  std::map<JobId, Reason> dropped_;
};

}  // namespace paceline
