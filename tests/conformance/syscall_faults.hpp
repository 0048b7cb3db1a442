// Makes system calls of this program fail: of the thread that begins, of all threads and processes it
// starts from then on, and of theirs, as long as they run this very program. The kernel asks a thread
// of ours about each call (seccomp, user notification), so nothing of the program is built otherwise.
//
//   auto& faults = *new SyscallFaults;          // one per process: it is asked until the very end
//   EXPECT_EQ(faults.begin(), "");              // on the main thread
//   faults.arm({.nth = 3, .error_number = ENOSPC});
//   ...
//   if (const auto hit = faults.disarm()) ...   // "mkdir"
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>

namespace paceline::testing {

struct SyscallFault {
  int nth = 1;  // of the calls that may fail so, from 1
  int error_number = 0;
  std::set<std::string> only = {};  // by name; empty: all
};

class SyscallFaults {
 public:
  // Empty on success, else why the kernel does not permit it.
  std::string begin();

  void arm(const SyscallFault& fault);
  // The call that failed; nothing: there were fewer.
  std::optional<std::string> disarm();

 private:
  void answer();
  [[nodiscard]] int error_for(int call, int pid);

  std::string program_;
  static constexpr int kUnknown = -2;
  std::atomic<int> listener_ = kUnknown;
  std::atomic<bool> armed_ = false;
  SyscallFault fault_;  // while not armed ours to change
  int seen_ = 0;
  std::atomic<int> hit_ = -1;  // index of the call
};

}  // namespace paceline::testing
