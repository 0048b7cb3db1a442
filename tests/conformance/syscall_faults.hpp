// Makes system calls of this program fail: of the thread that begins, of all threads and processes it
// starts from then on, and of theirs, as long as they run this very program. The kernel asks a thread
// of ours about each call (seccomp, user notification), so nothing of the program is built otherwise.
//
//   auto& faults = *new SyscallFaults;          // one per process: it is asked until the very end
//   EXPECT_EQ(faults.begin(), "");              // on the main thread
//   faults.arm({.calls = {"mkdir"}, .nth = 3, .error_number = ENOSPC});
//   ...
//   if (const auto hit = faults.disarm()) ...   // "mkdir 'DIR/logs/7'"
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "conformance/calls.hpp"

namespace paceline::conformance {

struct SyscallFault {
  std::set<std::string_view> calls = {};  // empty: none, they are only counted
  int nth = 1;                            // of these calls, from 1; 0: every one
  int error_number = 0;
  std::string on = {};  // only where this is part of the path of what the call works on
};

class SyscallFaults {
 public:
  // Empty on success, else why the kernel does not permit it.
  std::string begin();

  void arm(SyscallFault fault);
  // The call that failed last; nothing: there were fewer.
  std::optional<std::string> disarm();
  // How often this program made each call between the last arm() and disarm(), those that failed
  // included; of an armed fault its own calls alone.
  [[nodiscard]] const std::map<std::string_view, int>& counted() const { return done_.counted; }

 private:
  struct Asked;
  struct Round {
    SyscallFault fault;
    bool armed = false;
    int seen = 0;
    std::map<std::string_view, int> counted;
    std::string hit;
  };
  void answer();
  [[nodiscard]] int error_for(const Asked& asked);
  void begin_round(Round round);

  std::string program_;
  static constexpr int kUnknown = -2;
  std::atomic<int> listener_ = kUnknown;
  // Whoever is asked about must not hold it when he calls the kernel: rounds are swapped under it, and
  // nothing is allocated.
  std::mutex mutex_;
  Round round_;
  Round done_;
};

}  // namespace paceline::conformance
