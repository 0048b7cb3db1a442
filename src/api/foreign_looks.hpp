// Tells in the server's log who looks into a job that is somebody else's, at its log, metrics, stacks or
// terminal: the same look once in ten minutes.
//
//   ForeignLooks looks([](const std::string& line) { spdlog::info("{}", line); });
//   looks.note(by, job, Action::attach, now);
//   → "root attaches to job 7 of ann."
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "api/access.hpp"
#include "base/time.hpp"
#include "model/ids.hpp"

namespace paceline {

class ForeignLooks {
 public:
  static constexpr Duration kAgainAfter = std::chrono::minutes{10};

  explicit ForeignLooks(std::function<void(const std::string& line)> say) : say_(std::move(say)) {}

  // Of owners, and of what changes a job, which the journal tells, nothing is told here.
  void note(const Principal& by, const Job& job, Action action, Time now);

 private:
  using Look = std::tuple<std::string, JobId, Action>;  // of whom

  std::function<void(const std::string& line)> say_;
  std::map<Look, Time> told_;
  Time swept_;  // of what was told long ago
};

}  // namespace paceline
