// What a script sees of a snapshot: the argument of decide(cluster), and the functions that answer
// questions about it (docs/policies.md). A job's fields are looked up when they are first asked
// for, so that a script pays for what it reads.
#pragma once

#include <lua.hpp>
#include <map>
#include <string>
#include <vector>

#include "plan/draft.hpp"

namespace paceline {

class ClusterView {
 public:
  // `prefix`: of the script's keys in the memo. Nothing is written to the draft but the requests
  // for rounds of jobs that back off.
  ClusterView(const Snapshot& snapshot, Draft& draft, std::string prefix);

  // The functions fit, by, by_harm, speed, remaining, recall, remember and revisit. They raise until there is a cluster.
  static void open_functions(lua_State* lua);
  // Pushes the cluster. REQUIRES: the view outlives the state.
  void push(lua_State* lua);

  // The job of that id, if the script was shown it.
  [[nodiscard]] const Job* find(std::int64_t id) const;
  // Every job shown, in arrival order.
  [[nodiscard]] const std::vector<const Job*>& jobs() const { return jobs_; }
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] const Draft& draft() const { return draft_; }
  // Every slot there is to give: those of nodes that are up, and those that jobs hold elsewhere.
  [[nodiscard]] std::int64_t slots() const;

  // What the script remembered and when it asked for a round: for the draft, if its answer holds.
  [[nodiscard]] const std::map<std::string, std::string>& remembered() const { return remembered_; }
  [[nodiscard]] std::optional<Time> revisit_at() const { return revisit_at_; }

 private:
  enum class List { jobs, waiting, running };

  void gather();
  void push_list(lua_State* lua, List list);
  void push_nodes(lua_State* lua);
  void push_job(lua_State* lua, const Job& job);
  bool push_part(lua_State* lua, std::string_view name);

  static ClusterView& of(lua_State* lua);
  static int cluster_field(lua_State* lua);
  static int job_field(lua_State* lua);
  static int job_pairs(lua_State* lua);
  static int fit(lua_State* lua);
  static int speed(lua_State* lua);
  static int remaining_with(lua_State* lua);
  static int by(lua_State* lua);
  static int by_harm(lua_State* lua);
  static int recall(lua_State* lua);
  static int remember(lua_State* lua);
  static int revisit(lua_State* lua);
  const Job& job_argument(lua_State* lua, int index);
  [[nodiscard]] std::size_t keys() const;

  const Snapshot& snapshot_;
  Draft& draft_;
  std::string prefix_;
  std::vector<const Job*> jobs_, waiting_, running_;  // in arrival order
  std::vector<bool> shown_;                           // job n at n-1
  std::int64_t held_ = 0;                             // slots that shown jobs hold
  std::map<std::string, std::string> remembered_;
  std::optional<Time> revisit_at_;
};

inline constexpr std::size_t kMemoKeysMax = 256;  // of one script
inline constexpr std::size_t kMemoKeyMax = 64;
inline constexpr std::size_t kMemoValueMax = 1024;

}  // namespace paceline
