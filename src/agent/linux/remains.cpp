#include "agent/linux/remains.hpp"

#include <csignal>

#include "agent/linux/process.hpp"
#include "agent/linux/signals.hpp"

namespace paceline::agent {

// The group tells at once; all of /proc is searched only when the group has nobody left.
std::optional<std::vector<pid_t>> Remains::find() const {
  std::vector<pid_t> members = group_.members();
  if (!members.empty()) return members;
  return marked_processes(marker_);
}

bool Remains::sweep() const {
  const auto found = find();
  if (found && found->empty()) return group_.remove();
  group_.freeze();
  send_signal(find().value_or(std::vector<pid_t>{}), SIGKILL);
  group_.thaw();
  return false;
}

bool Remains::have_ended() const {
  const auto found = find();
  return found && found->empty() && group_.remove();
}

}  // namespace paceline::agent
