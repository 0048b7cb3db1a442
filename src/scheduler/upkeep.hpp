// What keeps a server's directory small while nothing that runs needs it: old entries leave the
// database for segments, and of jobs that ended long ago fewer points are kept, then nothing. One
// small piece at a time, after a round and never instead of one; a crash between two of them leaves
// nothing that the next doesn't finish.
//
//   upkeep.checkpointed(now);           // the store may have something to do from now on
//   upkeep.step(state, now);            // at most one piece, where one is due
//   if (auto at = upkeep.next()) …
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "model/state.hpp"
#include "store/store.hpp"

namespace paceline {

class Upkeep {
 public:
  struct Options {
    JournalBounds journal;
    // All of a forgotten job is kept so long after its end; then fewer of its points are, and after
    // twice that it is dropped with its logs. Nothing: for ever.
    std::optional<Duration> keep = {};
    // Removes a piece of the logs of a job that is over and forgotten. True: none is left. Errors:
    // storage.
    std::function<Result<bool>(JobId)> remove_logs = [](JobId) { return true; };
  };

  // Between pieces, so that everything else has its turn; and after an error.
  static constexpr Duration kPause = std::chrono::milliseconds{20};
  static constexpr Duration kRetry = std::chrono::minutes{1};

  // REQUIRES: `store` outlives it.
  Upkeep(Store& store, Options options) : store_(store), options_(std::move(options)) {}

  // Events of the server after which there may be more to do.
  void checkpointed(Time now) { tidy_at_ = now; }
  void forgot(Time now) {
    if (options_.keep) drop_at_ = now;
  }

  // Errors are told in the log, and tried again later.
  void step(const State& state, Time now);
  [[nodiscard]] std::optional<Time> next() const;
  // Jobs that were dropped so far.
  [[nodiscard]] std::uint64_t drops() const { return drops_; }

 private:
  Result<void> tidy(Time now);
  Result<void> let_go(const State& state, Time now);
  Result<void> drop(const State& state, JobId job, Time now);

  Store& store_;
  Options options_;
  std::optional<Time> tidy_at_, drop_at_;
  std::uint64_t drops_ = 0;
};

}  // namespace paceline
