// How jobs took it, since this server began, when they were told to leave: how long it took them, and whether
// they saved then. What a drain costs is told by it.
//
//   departures.follow(state, event, at);                // before each event is folded
//   departures.of(job)->saves                           // → true: it keeps its work
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "model/event.hpp"
#include "model/state.hpp"

namespace paceline {

struct Departure {
  Duration takes{};    // from the notice to the last worker's end
  bool saves = false;  // a checkpoint was there after it
  friend bool operator==(const Departure&, const Departure&) = default;
};

class Departures {
 public:
  static constexpr std::size_t kJobsMax = 10'000;

  void follow(const State& state, const Event& event, Time at);
  // The newest; nothing: it was never told to.
  [[nodiscard]] std::optional<Departure> of(JobId job) const;

 private:
  std::map<JobId, Departure> known_;
};

}  // namespace paceline
