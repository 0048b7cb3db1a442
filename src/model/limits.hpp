// What one user, one job or all together may take of a server: every bound that its administrator
// sets with `paceline up --limit NAME=VALUE`. docs/limits.md is the page for people; it tells what
// happens beyond each, and the bounds that are fixed.
//
// A new limit is a member, a row of kLimits and a row of that page (a test compares them). The
// code that keeps to it takes it from the options that `app` hands on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

inline constexpr std::uint64_t kLogsPerJobMin = 1U << 20;

struct Limits {
  std::uint64_t connections = 1'024;
  std::uint64_t connections_per_user = 64;
  std::uint64_t traffic = 256U << 20;
  std::uint64_t traffic_per_user = 32U << 20;
  std::uint64_t waiting_jobs = 100'000;
  std::uint64_t waiting_jobs_per_user = 20'000;
  std::uint64_t launches_per_user = 512U << 20;
  std::uint64_t priority = 100;
  std::uint64_t points_per_second = 100;
  std::uint64_t points_per_second_per_user = 1'000;
  std::uint64_t progress_interval = 5;
  std::uint64_t worker_processes = 8'192;
  std::uint64_t logs_per_user = std::uint64_t{16} << 30;
  std::uint64_t logs_per_job = std::uint64_t{1} << 30;
  std::uint64_t log_at_end = 128U << 20;
  std::uint64_t ship_size = std::uint64_t{2} << 30;
  std::uint64_t ships_per_user = std::uint64_t{16} << 30;
  std::uint64_t ships = std::uint64_t{64} << 30;
  std::uint64_t checkpoint_size = std::uint64_t{8} << 30;
  std::uint64_t checkpoint_entries = 100'000;
  std::uint64_t script_time = 1;
  std::uint64_t ended_jobs = 10'000;
  std::uint64_t ended_jobs_age = std::uint64_t{7} * 24 * 3600;
  std::uint64_t absent_nodes_age = std::uint64_t{7} * 24 * 3600;
  std::uint64_t failing_owners = 3;
  std::uint64_t newcomers_wait = 600;
  std::uint64_t replacements_wait = 60;
  std::uint64_t journal_entries = 100'000;
  std::uint64_t messages_per_user = 1'000;
  std::uint64_t waiting_messages_per_user = 500;

  friend bool operator==(const Limits&, const Limits&) = default;
};

enum class LimitUnit { count, bytes, seconds };

struct Limit {
  std::string_view name;  // "connections-per-user"
  std::uint64_t Limits::*value;
  LimitUnit unit;
  std::uint64_t min, max;  // that it may be set to
  std::string_view what;   // that it counts
};

inline constexpr std::array kLimits = {
    Limit{"connections", &Limits::connections, LimitUnit::count, 16, 1'000'000,
          "connections to the API"},
    Limit{"connections-per-user", &Limits::connections_per_user, LimitUnit::count, 4, 1'000'000,
          "connections to the API of one user"},
    Limit{"traffic", &Limits::traffic, LimitUnit::bytes, 32U << 20, std::uint64_t{1} << 40,
          "requests and unread answers in memory"},
    Limit{"traffic-per-user", &Limits::traffic_per_user, LimitUnit::bytes, 8U << 20,
          std::uint64_t{1} << 40, "requests and unread answers of one user in memory"},
    Limit{"waiting-jobs", &Limits::waiting_jobs, LimitUnit::count, 1, 10'000'000,
          "jobs that are not over and have no slots"},
    Limit{"waiting-jobs-per-user", &Limits::waiting_jobs_per_user, LimitUnit::count, 1, 10'000'000,
          "jobs of one user that are not over and have no slots"},
    Limit{"launches-per-user", &Limits::launches_per_user, LimitUnit::bytes, 4U << 20,
          std::uint64_t{1} << 40, "commands and environments of one user's jobs"},
    Limit{"priority", &Limits::priority, LimitUnit::count, 50, 100,
          "of a job whose submitter is no operator"},
    Limit{"points-per-second", &Limits::points_per_second, LimitUnit::count, 1, 100'000,
          "metric points kept of one job in a second"},
    Limit{"points-per-second-per-user", &Limits::points_per_second_per_user, LimitUnit::count, 1,
          1'000'000, "metric points kept of one user's jobs in a second"},
    Limit{"progress-interval", &Limits::progress_interval, LimitUnit::seconds, 0, 3600,
          "between two entries of the journal that tell of one job's progress"},
    Limit{"worker-processes", &Limits::worker_processes, LimitUnit::count, 64, 4'194'304,
          "processes and threads of one worker"},
    Limit{"logs-per-user", &Limits::logs_per_user, LimitUnit::bytes, 1U << 20,
          std::uint64_t{1} << 50, "logs of one user's jobs on a machine, by the room they take"},
    Limit{"logs-per-job", &Limits::logs_per_job, LimitUnit::bytes, kLogsPerJobMin,
          std::uint64_t{1} << 50, "logs of one job on a machine, by the room they take"},
    Limit{"log-at-end", &Limits::log_at_end, LimitUnit::bytes, 1U << 20, std::uint64_t{1} << 50,
          "bytes of a log that are read for reports after its worker's end"},
    Limit{"ship-size", &Limits::ship_size, LimitUnit::bytes, 1U << 20, std::uint64_t{2} << 30,
          "files of one directory that is shipped"},
    Limit{"ships-per-user", &Limits::ships_per_user, LimitUnit::bytes, 1U << 20,
          std::uint64_t{1} << 50,
          "shipped files, and copies of checkpoints, of one user on a machine"},
    Limit{"ships", &Limits::ships, LimitUnit::bytes, 1U << 20, std::uint64_t{1} << 50,
          "shipped files of all users on a machine"},
    Limit{"checkpoint-size", &Limits::checkpoint_size, LimitUnit::bytes, 1U << 20,
          std::uint64_t{1} << 40, "files of one checkpoint that the server keeps a copy of"},
    Limit{"checkpoint-entries", &Limits::checkpoint_entries, LimitUnit::count, 1'000, 800'000,
          "entries of directories that one look for checkpoint files goes through"},
    Limit{"script-time", &Limits::script_time, LimitUnit::seconds, 1, 60,
          "of the processor for one round of a policy in Lua"},
    Limit{"ended-jobs", &Limits::ended_jobs, LimitUnit::count, 1, 1'000'000,
          "jobs that are over in the server's memory"},
    Limit{"ended-jobs-age", &Limits::ended_jobs_age, LimitUnit::seconds, 1,
          std::uint64_t{3660} * 24 * 3600, "how long a job that is over stays in memory"},
    Limit{"absent-nodes-age", &Limits::absent_nodes_age, LimitUnit::seconds, 1,
          std::uint64_t{3660} * 24 * 3600, "how long a node that is absent counts"},
    Limit{"failing-owners", &Limits::failing_owners, LimitUnit::count, 0, 1'000'000,
          "users whose jobs fail on a node one after the other"},
    Limit{"newcomers-wait", &Limits::newcomers_wait, LimitUnit::seconds, 1,
          std::uint64_t{3660} * 24 * 3600, "until the newcomers of a resize in place are ready"},
    Limit{"replacements-wait", &Limits::replacements_wait, LimitUnit::seconds, 1,
          std::uint64_t{3660} * 24 * 3600, "until there is room in place of workers that died"},
    Limit{"journal-entries", &Limits::journal_entries, LimitUnit::count, 100, 1'000'000'000,
          "entries of the journal in the database; older ones lie in segments"},
    Limit{"messages-per-user", &Limits::messages_per_user, LimitUnit::count, 1, 1'000'000,
          "messages about one user's jobs in a day"},
    Limit{"waiting-messages-per-user", &Limits::waiting_messages_per_user, LimitUnit::count, 1,
          1'000'000, "messages about one user's jobs that no sink has taken yet"},
};

// "count", "bytes", "seconds"; and back, nothing for another word.
std::string_view to_string(LimitUnit unit);
std::optional<LimitUnit> parse_limit_unit(std::string_view text);

// Nothing if there is none of that name.
const Limit* find_limit(std::string_view name);

// As `--limit` takes it: "64", "32M", "7d".
std::string limit_text(LimitUnit unit, std::uint64_t value);

}  // namespace paceline
