// Holds the logs that one job has on this machine, all its ranks' together, to a limit. Beyond it
// the longest give first, down to one length for all. Of each the head stays, which tells how it
// began, and the tail; what goes is the oldest behind the head (log_room.hpp). What was not read
// and stored yet stays until the logs take half as much again; then it goes, too, and a line in the
// log tells so. Look several times a second: it takes that long to notice what grows. Timelines
// don't count: each has a bound of its own (timeline_file.hpp), to which it is held here, too.
//
//   JobLogLimit limit("/srv/paceline", 1 << 30);
//   limit.hold({{JobId{7}, {0, {{0, 4096}}}}});   // again and again while job 7 runs
//   limit.hold({});                               // and once more
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "agent/linux/log_file.hpp"

namespace paceline::agent {

struct JobLogs {
  std::uint64_t bytes_max = 0;  // the job's own limit; 0: the machine's
  // By number, those in use, each with the offset before which nobody needs it any more; kLogEnd of
  // those that were begun since the last call and are not in use any more.
  std::map<std::int32_t, std::uint64_t> stored = {};
};

class JobLogLimit {
 public:
  // Bytes per job, of what takes room on the disk; 0: no limit.
  JobLogLimit(std::string server_directory, std::uint64_t bytes_per_job)
      : directory_(std::move(server_directory)), bytes_max_(bytes_per_job) {}

  // `jobs`: those with logs in use. One that was there at the last call and is not now is looked at a
  // last time. Logs of other jobs are left alone.
  void hold(const std::map<JobId, JobLogs>& jobs);

 private:
  struct Known {
    std::uint64_t bytes_max = 0;
    std::map<std::int32_t, std::uint64_t> rooms;  // by number
    std::set<std::int32_t> used;                  // at the last call
    int rest = 0;                                 // calls until removing is tried again
  };

  Known& look(JobId job, const JobLogs& now);
  void hold_job(JobId job, Known& known, const JobLogs& now) const;
  [[nodiscard]] std::string path_of(LogKey log) const {
    return log_path(directory_, log.first, log.second);
  }

  std::string directory_;
  std::uint64_t bytes_max_;
  std::map<JobId, Known> jobs_;
};

}  // namespace paceline::agent
