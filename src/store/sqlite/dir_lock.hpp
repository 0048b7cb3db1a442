// One server per directory: holds a byte of DIR/paceline.db, which only its user can open, and
// DIR/paceline.lock, which names the holder, for as long as it lives. Whoever deletes the latter lets
// nobody in. The kernel lets go of both when the process ends, however it ends.
//
//   auto lock = DirLock::take(dir);
//   if (!lock) return fail(lock.error());   // "Paceline already runs on …/paceline (pid 4711)."
//
// REQUIRES: children of the process exec() something: the lock is closed then, but a bare fork()
// would keep it.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace paceline {

class DirLock {
 public:
  // Makes the directory like prepare_dir(), and an empty database where there is none. Errors:
  // conflict, with the pid of the first; storage; forbidden.
  static Result<DirLock> take(const std::filesystem::path& dir);

  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&& other) noexcept;
  ~DirLock();

 private:
  DirLock() = default;

  int file_ = -1;
  int database_ = -1;
};

}  // namespace paceline
