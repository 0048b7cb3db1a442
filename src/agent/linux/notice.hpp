// Whom a notice is for: the main process; where that is our shell around a `run:` text, the
// programs that the shell waits for, so that the shell itself lives on to tell their exit code.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace paceline::agent {

// A program file, whatever its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

std::optional<FileId> file_id(const std::string& path);

// `main` alone, unless it still runs `shell`: then its children, and through a child that is a fork
// of the same shell (a bracketed part of its text) that one's children. A shell that waits for
// nobody is meant itself.
std::vector<pid_t> notice_targets(pid_t main, const std::optional<FileId>& shell);

}  // namespace paceline::agent
