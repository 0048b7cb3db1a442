// What the workers of one server are known by on the machine: the marker in the environment of each
// of their processes, and the names of their control groups. Both follow from the server's
// directory and the worker's key alone, so nobody has to believe a file to find a worker's
// processes.
//
// The directory is known by its path and by its inode: two servers may stand at one path of
// different mounts (containers) and still see each other's processes and groups.
//
//   const Marks marks("/srv/paceline");   // REQUIRES: /srv/paceline/agent/workers is there
//   marks.marker(key)                     // PACELINE_WORKER=7.2.0@/srv/…/7.2.0#51f0a32bd5c9e077
//   marks.group()                         // paceline-51f0a32bd5c9e077
#pragma once

#include <string>

#include "agent/linux/claim.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

class Marks {
 public:
  explicit Marks(std::string server_directory);

  [[nodiscard]] std::string claim_path(const ProcessKey& key) const;
  // Where damaged claims are kept, under the same names.
  [[nodiscard]] std::string aside_path(const ProcessKey& key) const;

  // By what a claim of this format knows its worker.
  [[nodiscard]] std::string marker(const ProcessKey& key,
                                   ClaimFormat format = ClaimFormat::sealed) const;
  // The name of the group that holds the groups of all workers.
  [[nodiscard]] std::string group(ClaimFormat format = ClaimFormat::sealed) const;

  // True if the order's marker is exactly the one above, and each of its groups lies in ours and is
  // named for the worker.
  [[nodiscard]] bool are_on(const WorkerOrder& order, ClaimFormat format) const;

 private:
  std::string directory_;
  std::string id_;
};

}  // namespace paceline::agent
