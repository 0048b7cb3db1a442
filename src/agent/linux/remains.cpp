#include "agent/linux/remains.hpp"

#include <csignal>

#include "agent/linux/process.hpp"
#include "agent/linux/signals.hpp"

namespace paceline::agent {

// The group tells at once; all of /proc is searched only when the group has nobody left.
std::vector<pid_t> Remains::find() const {
  std::vector<pid_t> members = group_.members();
  return members.empty() ? marked_processes(marker_) : members;
}

bool Remains::sweep() const {
  if (find().empty()) return group_.remove();
  group_.freeze();
  send_signal(find(), SIGKILL);
  group_.thaw();
  return false;
}

bool Remains::have_ended() const { return find().empty() && group_.remove(); }

}  // namespace paceline::agent
