// The only place of this folder that sends signals, and so the one rule of whom they may reach: a
// list of pids comes from /proc, from a control group or from a claim, and each of these may be
// wrong.
//
//   send_signal(descendants(root), SIGKILL);
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <span>

#include "agent/linux/process.hpp"

namespace paceline::agent {

// Never pid 1 or less (kill(2) takes those for groups, and 1 is the init of this pid namespace),
// never this process, never one of its ancestors: those are passed over.
void send_signal(std::span<const pid_t> pids, int signal);

// The same for one process, and only while it is the one that is meant. False if it wasn't sent.
bool send_signal(const ProcessId& process, int signal);

// The rule itself. `ancestors`: of the calling process, see process.hpp.
bool may_signal(pid_t pid, std::span<const pid_t> ancestors);

}  // namespace paceline::agent
