// The directory with everything a server must not lose (`--dir`): made if it is not there, and
// refused where it lies on a network file system, whose locks and syncs don't hold what a database
// needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// Makes `dir` and its parents where they are missing: for this user alone, for root such that others
// pass to what is theirs in it. Changes nothing if it is there. Errors: storage: not a directory, no
// right to write, full, read-only, on a network file system; then nothing was made. forbidden: it
// belongs to somebody else, or others may write it (files/own.hpp).
Result<void> prepare_dir(const std::filesystem::path& dir);

// What statfs() and /proc/self/mountinfo say of a file system.
struct FileSystem {
  std::uint64_t magic = 0;
  std::string type;  // "ext4", "fuse.sshfs", …; empty: unknown
};

// "NFS", …; nothing for a file system of this machine. FUSE is judged by its type.
std::optional<std::string_view> network_file_system(const FileSystem& system);

}  // namespace paceline
