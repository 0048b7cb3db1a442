#include "agent/linux/notice.hpp"

#include <string>

#include "agent/linux/process.hpp"

namespace paceline::agent {
namespace {

constexpr int kDepthMax = 16;

// The forks in which our shell runs bracketed parts of its text. A script that it starts with a shell
// of its own may have a trap: that one is meant itself.
bool is_fork(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && !stat->runs_own_program;
}

void collect(pid_t shell, int depth, std::vector<pid_t>& targets) {
  const std::vector<pid_t> waited_for = children(shell);
  if (waited_for.empty()) targets.push_back(shell);
  for (const pid_t child : waited_for) {
    if (depth < kDepthMax && is_fork(child))
      collect(child, depth + 1, targets);
    else
      targets.push_back(child);
  }
}

}  // namespace

std::vector<pid_t> notice_targets(pid_t main, const std::optional<FileId>& shell) {
  if (main <= 0) return {};
  if (!shell) return {main};
  if (file_id("/proc/" + std::to_string(main) + "/exe") != shell) return {main};
  std::vector<pid_t> targets;
  collect(main, 0, targets);
  return targets;
}

}  // namespace paceline::agent
