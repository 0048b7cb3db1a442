// What a server keeps on a disk is its user's, and nobody else may write it. A user who can change
// its directory, its database or its sockets decides what it does with its rights. For root that
// means any command as anybody.
//
//   if (auto made = make_own_directory("/var/lib/paceline", 0711); !made) …
//   if (auto ours = check_own_file(dir / "paceline.db", S_IFREG); !ours) …
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// What to do about a directory, or a file in it, that the system refuses for `reason`, an errno.
std::string_view remedy(int reason);

// Is the directory this user's (a link to one counts), nobody else may write it, and nobody else
// may put another in its place? The latter is asked of the directories above: for root they must be
// root's own, unless they are sticky like /tmp; for everybody else, not open to all. Errors:
// forbidden; storage: it can't be looked at.
Result<void> check_own_directory(const std::filesystem::path& dir);

// Makes the directory with its parents where they are missing, and gives it `mode` where it is new,
// whatever the umask is. What root makes above it is passable for everybody. Errors: as above;
// storage.
Result<void> make_own_directory(const std::filesystem::path& dir, mode_t mode);

// Nothing is there, or something of this `type` (S_IFREG, S_IFSOCK) that is this user's and that
// nobody else may write; a link never will do. Errors: forbidden; storage.
Result<void> check_own_file(const std::filesystem::path& file, mode_t type);

}  // namespace paceline
