// What the routes share. Internal to api.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/api.hpp"
#include "api/http.hpp"
#include "api/router.hpp"
#include "api/signal.hpp"
#include "api/ticker.hpp"
#include "scheduler/controller.hpp"
#include "wire/job_json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// A page of jobs or events ends at the first one beyond this.
inline constexpr std::size_t kPageBytesMax = 8 << 20;

// How many jobs are in each state, kept as they change.
class JobCounts {
 public:
  explicit JobCounts(const State& state);
  void update(const State& state, std::span<const JobId> touched);
  [[nodiscard]] std::size_t of(JobState state) const {
    return counts_.at(static_cast<std::size_t>(state));
  }

 private:
  std::array<std::size_t, kJobStates.size()> counts_{};
  std::vector<std::optional<JobState>> last_;  // of job n at n-1
};

// Commands and directories of live jobs, so that a queue is shown without opening every job's
// private file again and again. Bounded; the oldest ids go first.
class CommandLines {
 public:
  struct Line {
    std::string command;
    std::string directory;
  };
  // Empty for a job whose launch is forgotten.
  const Line& of(JobId job, Store& store);
  void forget(JobId job) { lines_.erase(job); }

 private:
  std::map<JobId, Line> lines_;
};

struct ApiContext {
  ApiContext(boost::asio::io_context& io, Controller& c, ApiOptions o);

  [[nodiscard]] const State& state() const { return controller.state(); }
  [[nodiscard]] bool shared() const { return options.uid == 0; }
  // May this peer do what concerns everybody: the policy, a shutdown?
  [[nodiscard]] bool administers(const Peer& peer) const;
  [[nodiscard]] bool owns(const Peer& peer, const Job& job) const;
  [[nodiscard]] Viewer viewer(const Peer& peer, const Job& job) const {
    return owns(peer, job) ? Viewer::owner : Viewer::other;
  }

  // The job that a request's first id names. Errors: invalid, not_found.
  [[nodiscard]] Result<const Job*> job(const ApiRequest& request) const;
  // The same, for its owner or root. Errors: also forbidden.
  [[nodiscard]] Result<const Job*> own_job(const ApiRequest& request) const;

  // For what people get: with times as the wall clock showed them.
  [[nodiscard]] JsonWriter json() const;
  void write_job(JsonWriter& json, const Job& job, const Peer& peer);
  [[nodiscard]] std::string job_text(const Job& job, const Peer& peer);

  // The login name of a user, or the number where there is none.
  const std::string& user_name(std::uint32_t uid);

  // Calls `touched` after every durable change of that job.
  [[nodiscard]] ListenToken watch(JobId id, std::function<void()> touched);

  void committed(std::span<const Entry> entries, std::span<const JobId> touched);

  Controller& controller;
  ApiOptions options;
  Time started_at;
  JobCounts counts;
  CommandLines commands;
  Ticker ticker;                           // for what grows without a commit: logs
  Signal<std::span<const Entry>> entries;  // every durable batch
  static constexpr std::size_t kWatchedMin = 1024;
  std::map<JobId, Signal<>> watched;
  std::size_t watched_max = kWatchedMin;  // then those without listeners are dropped
  std::map<std::uint32_t, std::string> user_names;

  // ---- a shutdown ----
  bool leaving = false;                            // it was asked for: no new jobs
  std::vector<std::shared_ptr<Exchange>> leavers;  // who asked
  ListenToken all_over;                            // listens for the end of the last job
};

using SharedContext = std::shared_ptr<ApiContext>;

// A route that answers at once: a body for 200, or an error.
Handler answering(std::function<Result<std::string>(const ApiRequest&)> route);

// Errors: forbidden.
tl::unexpected<Error> not_yours(const Job& job);

void add_server_routes(Router& router, const SharedContext& context);
void add_job_routes(Router& router, const SharedContext& context);
void add_command_routes(Router& router, const SharedContext& context);
void add_log_routes(Router& router, const SharedContext& context);
void add_node_routes(Router& router, const SharedContext& context);
void add_user_routes(Router& router, const SharedContext& context);
void add_policy_routes(Router& router, const SharedContext& context);
void add_shadow_routes(Router& router, const SharedContext& context);
void add_rule_routes(Router& router, const SharedContext& context);
void add_event_routes(Router& router, const SharedContext& context);
void add_attach_route(Router& router, const SharedContext& context);

}  // namespace paceline
