// Shared memory that goes with its gang. The workers of a gang on this machine see a /dev/shm of
// their own: a directory /dev/shm/paceline-<id>/<job>.<generation> of the machine's, put over it in a
// mount namespace of theirs, so that its size and its accounting are the machine's. They have a
// namespace of System V IPC and message queues of their own, too. Both need a server that may make
// namespaces.
//
//   GangMemory memory(Marks(directory).group());
//   const auto given = memory.give(gang);          // for every worker of it
//   enter_memory(given->directory, given->ipc);    // in the worker, before its exec
//   memory.forget(gang);                           // once its last worker is over
//   if (const auto left = memory.forgotten())      // nothing: can't be seen now
//     for (const auto& directory : *left) remove_tree(directory);  // until nothing is left
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

using GangKey = std::pair<JobId, Generation>;

inline constexpr const char* kSharedMemory = "/dev/shm";

struct GivenMemory {
  std::string directory;  // that becomes /dev/shm; empty: the machine's
  UniqueFd ipc;           // the namespace; empty: the machine's
};

class GangMemory {
 public:
  // `name` is the server's own among those of the machine. Tries once whether namespaces may be made.
  explicit GangMemory(std::string name);
  // Leaves what gangs that go on have.
  ~GangMemory();
  GangMemory(const GangMemory&) = delete;
  GangMemory& operator=(const GangMemory&) = delete;

  [[nodiscard]] bool permitted() const { return permitted_; }
  // The same for every worker of the gang. REQUIRES: permitted. Errors: storage.
  Result<GivenMemory> give(const GangKey& gang);
  // A worker of the gang that an earlier agent started runs as this process.
  void adopt(const GangKey& gang, pid_t main);
  // What the gang left is moved out of the way: a worker of it that starts yet gets a new one. Where
  // the machine lacks what that needs, the gang stays among the known ones.
  void forget(const GangKey& gang);
  // Gangs that have a directory; nothing where that can't be seen now.
  [[nodiscard]] std::optional<std::vector<GangKey>> known() const;
  // What gangs left that were forgotten, by this agent or an earlier one, and is still to be emptied;
  // nothing where that can't be seen now.
  [[nodiscard]] std::optional<std::vector<std::string>> forgotten() const;

 private:
  [[nodiscard]] Result<void> make_base() const;
  [[nodiscard]] std::string directory_of(const GangKey& gang) const;
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

  std::string base_;
  bool permitted_ = false;
  std::map<GangKey, UniqueFd> ipc_;
};

// In a forked child of one thread: from now on this process sees the directory as /dev/shm, whatever
// it mounts is seen by nobody else, and it is in the namespace `ipc` (-1: stays). 0, or errno.
int enter_memory(const char* directory, int ipc);

// Is the path /dev/shm or below it? What lies there is out of sight under one of one's own.
bool in_shared_memory(const std::string& path);

// True for a descriptor of a namespace.
bool is_namespace(int fd);

}  // namespace paceline::agent
