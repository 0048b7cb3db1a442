// Removes the logs of jobs that were dropped, on a thread of its own: a log of gigabytes takes a file
// system a while to let go of.
//
//   LogRemover remover("/var/lib/paceline");
//   options.remove_logs = [&](JobId job) { return remover.remove(job); };
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "app/background.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline {

class LogRemover {
 public:
  explicit LogRemover(std::string directory) : directory_(std::move(directory)) {}

  // Asks for it. True: nothing is left of them. False: ask again later. Errors: storage: asking again
  // tries again. One thread calls it, for one job after the other.
  Result<bool> remove(JobId job);

 private:
  enum class Progress : std::uint8_t { idle, wanted, done, failed };

  bool work();

  std::string directory_;
  JobId job_;    // changed while idle alone
  Error error_;  // read once it failed
  std::atomic<Progress> progress_ = Progress::idle;
  Background background_{[this] { return work(); }};
};

}  // namespace paceline
