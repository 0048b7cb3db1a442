// Holds the logs and timelines that each user has on this machine to a limit: where they are
// larger, their oldest bytes are given back to the file system. Logs of workers that have ended
// give first, beginning with the one that was written longest ago; then those in use, of which only
// what was read and stored may go.
//
//   LogLimit limit("/srv/paceline", 1 << 30);
//   limit.hold({{{JobId{7}, 0}, 4096}}, {});   // again and again; job 7 runs
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/linux/log_file.hpp"
#include "agent/linux/log_room.hpp"

namespace paceline::agent {

class LogLimit {
 public:
  // Bytes per user, of what takes room on the disk; 0: no limit.
  LogLimit(std::string server_directory, std::uint64_t bytes_per_user)
      : directory_(std::move(server_directory)), bytes_max_(bytes_per_user) {}

  // `in_use`: logs in use, each with the offset before which nobody needs it any more. `begun`: those
  // that a worker began to write since the last call, whether or not it still does. The first call
  // looks at every log there is: some seconds where there are very many.
  void hold(const std::map<LogKey, std::uint64_t>& in_use, const std::set<LogKey>& begun);

 private:
  void find_all();
  void look(const LogKey& key);
  void give_back(std::uint32_t uid, std::uint64_t excess,
                 const std::map<LogKey, std::uint64_t>& in_use);
  [[nodiscard]] std::vector<LogKey> of_user(std::uint32_t uid,
                                            const std::map<LogKey, std::uint64_t>& in_use) const;

  std::string directory_;
  std::uint64_t bytes_max_;
  std::map<LogKey, LogRoom> logs_;
  std::set<LogKey> used_before_;
  bool found_all_ = false;
};

}  // namespace paceline::agent
