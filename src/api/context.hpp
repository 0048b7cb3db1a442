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

#include "api/access.hpp"
#include "api/api.hpp"
#include "api/foreign_looks.hpp"
#include "api/login.hpp"
#include "api/routes.hpp"
#include "api/signal.hpp"
#include "http/http.hpp"
#include "link/agent_door.hpp"
#include "scheduler/controller.hpp"
#include "wire/job_json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

class Token;

// A page of jobs or events ends at the first one beyond this.
inline constexpr std::size_t kPageBytesMax = 8 << 20;
// A request waits so long for what is being foreseen.
inline constexpr Duration kForeseenWithin = std::chrono::milliseconds{1'500};

// A job of the state, valid until the next step, or one that it forgot, alive as long as this is.
using SharedJob = std::shared_ptr<const Job>;

// How many jobs are in each state, those forgotten as they ended; kept as they change.
class JobCounts {
 public:
  explicit JobCounts(const State& state);
  void update(const State& state, std::span<const JobId> touched);
  void forget(std::span<const JobId> jobs);
  [[nodiscard]] std::size_t of(JobState state) const {
    return counts_.at(static_cast<std::size_t>(state));
  }

 private:
  [[nodiscard]] std::size_t& count(JobState state) {
    return counts_.at(static_cast<std::size_t>(state));
  }

  std::array<std::size_t, kJobStates.size()> counts_{};
  std::map<JobId, JobState> last_;  // of those that the state has
};

// Commands and directories of live jobs, so that a queue is shown without opening every job's
// private file again and again. Bounded; the oldest ids go first.
class CommandLines {
 public:
  struct Line {
    std::string command;
    std::string directory;
    ShippedDirectory shipped;
  };
  // Empty for a job whose launch is forgotten.
  const Line& of(JobId job, Store& store);
  void forget(JobId job) { lines_.erase(job); }

 private:
  std::map<JobId, Line> lines_;
};

// "7". Errors: invalid.
Result<JobId> read_job_id(std::string_view text);

struct ApiContext {
  ApiContext(Controller& c, ApiOptions o);

  [[nodiscard]] const State& state() const { return controller.state(); }
  [[nodiscard]] bool shared() const { return options.uid == 0; }
  // The principal that asks; without name or account, where nobody knows these now. Errors: forbidden: nobody
  // whom this server serves.
  [[nodiscard]] Result<Principal> caller(const HttpRequest& request);
  // The same, as far as the transport tells.
  [[nodiscard]] Result<Principal> caller(const Peer& peer);
  // Whoever has this token. Errors: as above.
  [[nodiscard]] Result<Principal> holder(std::string_view token);
  // Is as much known of whoever asks as that needs? Of viewers and machines nothing need be. Errors:
  // unavailable (may_help).
  enum class Needs { account, account_and_name };
  [[nodiscard]] Result<void> is_known(const Principal& by, Needs needs);
  // The machine that has this join token. Errors: as above.
  [[nodiscard]] Result<Principal> newcomer(const Token& token) const;
  // The node at the other end. Errors: forbidden: it shows no identity that is taken.
  [[nodiscard]] Result<KnownNode> node(const Peer& peer) const;
  // Tells that a machine may not join or connect.
  void turned_away(const Peer& peer, const Error& why) const;
  [[nodiscard]] static Viewer viewer(const Principal& by, const Job& job) {
    return allowed(by, Action::read_private, job) ? Viewer::owner : Viewer::other;
  }

  // Of the state, or from the store. Errors: not_found, which tells of a job that was dropped; what the store says.
  [[nodiscard]] Result<SharedJob> find(JobId id);
  // The job that a request's first id names. Errors: also invalid.
  [[nodiscard]] Result<SharedJob> job(const HttpRequest& request);

  // For what people get: with times as the wall clock showed them.
  [[nodiscard]] JsonWriter json() const;
  void write_job(JsonWriter& json, const Job& job, const Principal& by);
  [[nodiscard]] std::string job_text(const Job& job, const Principal& by);

  // Of a shared server: may this user's jobs run? Errors: forbidden; unavailable (may_help): nobody knows now.
  [[nodiscard]] Result<void> may_run(std::uint32_t uid) const {
    return options.account ? options.account(uid) : Result<void>{};
  }

  // Begins to look into the future; calls `answer` once that is done, or after kForeseenWithin with
  // what there is.
  static void answer_within(const std::shared_ptr<Exchange>& exchange,
                            const std::function<void(std::function<void()> done)>& begin,
                            std::function<void()> answer);

  // What the wall clock shows.
  [[nodiscard]] WallTime wall_now() const { return shown(state().clock_marks(), controller.now()); }

  // The account of that name. Errors: unavailable (may_help): nobody knows now.
  Result<std::optional<Login>> login(const std::string& user);

  // The login name of a user, or the number where there is none. Errors: as above.
  Result<std::string> user_name(std::uint32_t uid);

  // Calls `touched` after every durable change of that job.
  [[nodiscard]] ListenToken watch(JobId id, std::function<void()> touched);

  void committed(std::span<const Entry> entries, std::span<const JobId> touched);

  Controller& controller;
  ApiOptions options;
  Time started_at;
  JobCounts counts;
  CommandLines commands;
  Signal<std::span<const Entry>> entries;  // every durable batch
  static constexpr std::size_t kWatchedMin = 1024;
  std::map<JobId, Signal<>> watched;
  std::size_t watched_max = kWatchedMin;  // then those without listeners are dropped
  LoginNames user_names;
  NamedLogins logins;
  ForeignLooks foreign_looks;
  static constexpr std::size_t kRecalledMax = 1'024;
  std::map<JobId, SharedJob>
      recalled;  // forgotten jobs that were asked for of late; they don't change
  std::uint64_t dropped_by_then = 0;  // jobs, when one was recalled last

  // ---- a shutdown ----
  bool leaving = false;                            // it was asked for: no new jobs
  std::vector<std::shared_ptr<Exchange>> leavers;  // their requests
  ListenToken all_over;                            // listens for the end of the last job
};

// What stands behind "Bearer" in the request. Nothing: it shows no token.
std::optional<std::string_view> bearer_token(const HttpRequest& request);

// Of somebody whom this machine has no account for.
Error no_account(const std::string& user);

// Of a server that keeps no directories of jobs.
Error ships_nothing();

// Of a server without a door for other machines.
Error joins_nobody();

// {"at", "earliest", "latest", "known"}, or null.
void write_expected(JsonWriter& json, std::string_view key,
                    const std::optional<ExpectedTime>& expected);
// Of a job in the newest foresight; nothing there: null.
void write_expected(JsonWriter& json, const JobExpected* expected);

// [{"change", "slots", "starts_at"}…] as "changes": what would start a job sooner.
void write_what_ifs(JsonWriter& json, const std::vector<WhatIf>& what_ifs);

// What becomes of a job: "stops", "shrinks"…; "asks": it goes on, and is stopped at `stops_at`.
std::string_view word_of(const Effect& effect);

using SharedContext = std::shared_ptr<ApiContext>;

// With a body for 200, or an error.
void reply_with(Exchange& exchange, Result<std::string> body);
// A route that answers at once: a body for 200, or an error.
Handler answering(std::function<Result<std::string>(const HttpRequest&)> route);
RouteHandler answering(
    std::function<Result<std::string>(const HttpRequest&, const Principal&)> route);

void add_server_routes(Routes& routes, const SharedContext& context);
void add_job_routes(Routes& routes, const SharedContext& context);
void add_expected_routes(Routes& routes, const SharedContext& context);
void add_command_routes(Routes& routes, const SharedContext& context);
void add_ship_routes(Routes& routes, const SharedContext& context);
void add_checkpoint_routes(Routes& routes, const SharedContext& context);
void add_log_routes(Routes& routes, const SharedContext& context);
void add_node_routes(Routes& routes, const SharedContext& context);
void add_token_routes(Routes& routes, const SharedContext& context);
void add_joining_routes(Routes& routes, const SharedContext& context);
void add_slurm_routes(Routes& routes, const SharedContext& context);
void add_link_routes(Routes& routes, const SharedContext& context);
void add_user_routes(Routes& routes, const SharedContext& context);
void add_policy_routes(Routes& routes, const SharedContext& context);
void add_shadow_routes(Routes& routes, const SharedContext& context);
void add_rule_routes(Routes& routes, const SharedContext& context);
void add_event_routes(Routes& routes, const SharedContext& context);
void add_journal_routes(Routes& routes, const SharedContext& context);
void add_attach_route(Routes& routes, const SharedContext& context);
void add_stacks_route(Routes& routes, const SharedContext& context);

}  // namespace paceline
