#include "agent/linux/notice.hpp"

#include <sys/stat.h>

#include "agent/linux/files.hpp"
#include "agent/linux/process.hpp"

namespace paceline::agent {
namespace {

constexpr int kDepthMax = 16;

constexpr std::size_t kCommandLineMax = 4 << 20;

std::optional<std::string> command_line_of(pid_t pid) {
  return read_file("/proc/" + std::to_string(pid) + "/cmdline", kCommandLineMax);
}

// The shell that was started, and the forks in which it runs bracketed parts of its text. A script
// that it starts with a shell of its own has another command line, and maybe a trap: that one is
// meant itself.
struct OurShell {
  FileId program;
  std::optional<std::string> command_line;

  [[nodiscard]] bool is(pid_t pid) const {
    return file_id("/proc/" + std::to_string(pid) + "/exe") == program &&
           command_line_of(pid) == command_line;
  }
};

void collect(pid_t pid, const OurShell& shell, int depth, std::vector<pid_t>& targets) {
  std::vector<pid_t> waited_for;
  if (depth < kDepthMax && shell.is(pid)) waited_for = children(pid);
  if (waited_for.empty()) targets.push_back(pid);
  for (const pid_t child : waited_for) collect(child, shell, depth + 1, targets);
}

}  // namespace

std::optional<FileId> file_id(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::vector<pid_t> notice_targets(pid_t main, const std::optional<FileId>& shell) {
  if (main <= 0) return {};
  if (!shell) return {main};
  std::vector<pid_t> targets;
  collect(main, {*shell, command_line_of(main)}, 0, targets);
  return targets;
}

}  // namespace paceline::agent
