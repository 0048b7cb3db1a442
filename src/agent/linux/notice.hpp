// Whom a notice is for: the main process; where that is our shell around a `run:` text, the
// programs that the shell waits for, so that the shell itself lives on to tell their exit code. The
// memory of none of them is looked at: that could wait for ever.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "agent/linux/files.hpp"

namespace paceline::agent {

// `main` alone, unless it still runs `shell`: then its children, and through a child that is a fork
// of the same shell (a bracketed part of its text) that one's children. A shell that waits for
// nobody is meant itself.
std::vector<pid_t> notice_targets(pid_t main, const std::optional<FileId>& shell);

}  // namespace paceline::agent
