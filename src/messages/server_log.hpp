// What the server says of its own work, for whoever keeps it: one line for each policy that is set,
// each node that comes and goes, each job that ends or is stopped for another. It follows the journal, and says
// nothing that not everybody may read: no command, no path, no metric, no message of a worker's end.
//
//   ServerLog log(state, [](LogLevel level, const std::string& line) { spdlog::log(…); });
//   log.catch_up(now);                            // with what was there before the first
//   log.take(entries, touched, now);              // of each durable batch, once it is folded
//   if (auto due = log.due()) …; log.step(now);   // then what was summed up is said
//
// Lines about jobs are bounded: beyond kJobLinesMax in kJobLinesSpan they become one line with their
// sums, and each is said at the level debug.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

enum class LogLevel { debug, info, warning };

inline constexpr std::size_t kJobLinesMax = 20;
inline constexpr Duration kJobLinesSpan = std::chrono::seconds{10};

class ServerLog {
 public:
  using Say = std::function<void(LogLevel level, const std::string& line)>;

  // Says nothing of what is in the state already. REQUIRES: the state outlives it.
  ServerLog(const State& state, Say say);

  // Says which jobs are over since, and nothing else of what came into the state before it was told of
  // entries: the server's own node is there whenever it begins.
  void catch_up(Time now);
  // REQUIRES: the entries are folded into the state; `touched` are the jobs that they touched.
  void take(std::span<const Entry> entries, std::span<const JobId> touched, Time now);
  // When step() has something to say; nothing: only after more entries.
  [[nodiscard]] std::optional<Time> due() const;
  void step(Time now);

 private:
  // What people notice of a node.
  struct Seen {
    bool up = false;
    std::string refuses;  // why; empty: it doesn't
    std::size_t slots = 0, usable = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  static Seen seen_of(const NodeSpec& node);

  void on(const NodeUp& event);
  void on(const NodeDown& event);
  void on(const NodesRetired& event);
  void on(const NodeDrained& event);
  void on(const DrainBegan& event);
  void on(const NodeUndrained& event);
  void on(const NodeOff& event);
  void on(const PolicySet& event);
  void on(const PolicyLoaded& event);
  void on(const PolicyFailed& event);
  void on(const TrialBegan& event);
  void on(const TrialEnded& event);
  void on(const RulesSet& event);
  void on(const JobSubmitted& event);
  void on(const JobRequested& event);
  void on(const JobsForgotten& event);
  void on(const auto&) {}  // is seen in what becomes of jobs, or is said where it is found
  void on(const Plan& plan);
  void see_state();
  void take_end(const Job& job);
  void ended(const Job& job);
  // Of a job: as a line of its own while there are few, else in the sum under `what`.
  void say_of_job(const std::string& line, const std::string& what);
  void inform(const std::string& line) { say_(LogLevel::info, line); }
  void warn(const std::string& line) { say_(LogLevel::warning, line); }
  [[nodiscard]] std::string name_of(JobId id) const;
  [[nodiscard]] std::string node_name(NodeId id) const;

  const State& state_;
  Say say_;
  std::string policy_;
  std::map<NodeId, Seen> nodes_;
  Time now_;
  std::set<JobId> over_;                     // of the state's
  std::optional<Time> begun_;                // of the span that lines are counted in
  std::size_t said_ = 0;                     // in it
  std::map<std::string, std::size_t> sums_;  // not said: "COMPLETED": 12
};

}  // namespace paceline
