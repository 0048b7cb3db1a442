#include "agent/linux/remains.hpp"

#include <csignal>
#include <set>

#include "agent/linux/process.hpp"

namespace paceline::agent {

std::vector<pid_t> Remains::find() const {
  std::set<pid_t> all;
  for (const pid_t pid : group_.members()) all.insert(pid);
  for (const pid_t pid : marked_processes(marker_)) all.insert(pid);
  return {all.begin(), all.end()};
}

bool Remains::sweep() const {
  if (find().empty()) return group_.remove();
  group_.freeze();
  for (const pid_t pid : find()) ::kill(pid, SIGKILL);
  group_.thaw();
  return false;
}

}  // namespace paceline::agent
