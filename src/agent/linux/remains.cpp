#include "agent/linux/remains.hpp"

#include <csignal>
#include <utility>

#include "agent/linux/signals.hpp"

namespace paceline::agent {

// The group tells at once; all of /proc is searched only when the group has nobody left.
MarkedProcesses Remains::find() const {
  std::vector<pid_t> members = group_.members();
  if (!members.empty()) return {std::move(members), true};
  return marked_processes(marker_);
}

bool Remains::sweep() const {
  const auto found = find();
  if (found.nobody()) return group_.remove();
  if (found.pids.empty()) return false;
  group_.freeze();
  send_signal(find().pids, SIGKILL);
  group_.thaw();
  return false;
}

bool Remains::have_ended() const { return find().nobody() && group_.remove(); }

}  // namespace paceline::agent
