// One server per directory: holds DIR/paceline.lock for as long as it lives. The kernel lets go of
// it when the process ends, however it ends.
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
  // Makes the directory like prepare_dir(). Errors: conflict, with the pid of the first; storage.
  static Result<DirLock> take(const std::filesystem::path& dir);

  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&& other) noexcept;
  ~DirLock();

 private:
  explicit DirLock(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace paceline
