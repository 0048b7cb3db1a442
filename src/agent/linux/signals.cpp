#include "agent/linux/signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace paceline::agent {

bool may_signal(pid_t pid, std::span<const pid_t> ancestors) {
  return pid > 1 && pid != ::getpid() &&
         std::find(ancestors.begin(), ancestors.end(), pid) == ancestors.end();
}

void send_signal(std::span<const pid_t> pids, int signal) {
  if (pids.empty()) return;
  const std::vector<pid_t> above = ancestors();
  for (const pid_t pid : pids)
    if (may_signal(pid, above)) ::kill(pid, signal);
}

bool send_signal(const ProcessId& process, int signal) {
  return may_signal(process.pid, ancestors()) && is_alive(process) &&
         ::kill(process.pid, signal) == 0;
}

}  // namespace paceline::agent
