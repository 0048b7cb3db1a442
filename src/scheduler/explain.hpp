// Why a job is as it is: from its state, and for what a policy decides from the very code that
// decides, run on a draft that is thrown away.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/viewer.hpp"
#include "plan/draft.hpp"
#include "policy/patience.hpp"
#include "policy/policy.hpp"
#include "policy/reservation.hpp"
#include "scheduler/passes.hpp"
#include "scheduler/room.hpp"

namespace paceline {

// What patience does for a waiting job.
struct Waits {
  struct Kept {
    std::size_t slots = 0, free = 0;
    std::optional<JobId> last;  // the last to leave them
    std::optional<Time> at;     // likely; nothing: unknown
  };
  Passes passed;
  std::optional<Time> patience_until;  // nothing: it has no end
  std::optional<Kept> kept;            // slots, for this job
};

// What a round would say of every job now.
class Explanation {
 public:
  Explanation(const Snapshot& snapshot, const Policy* policy, const Placer& placer,
              Protects protects, const ComingNodes& coming = {});

  // As others may read it, unless its owner asks.
  [[nodiscard]] Reason reason(const Job& job, Viewer viewer = Viewer::other) const;
  // The reason as a sentence, then what it depends on.
  [[nodiscard]] std::vector<std::string> lines(const Job& job, Viewer viewer = Viewer::other) const;
  // Nothing: the job doesn't wait in line.
  [[nodiscard]] std::optional<Waits> waits(const Job& job) const;

 private:
  void find_kept(const Draft& draft);
  [[nodiscard]] Reason waiting(const Job& job) const;
  [[nodiscard]] std::string why_stopping(const Job& job) const;
  [[nodiscard]] Reason starting(const Job& job) const;
  [[nodiscard]] Reason running(const Job& job) const;
  [[nodiscard]] Reason asked(const Job& job) const;
  void add_devices(const Job& job, std::vector<std::string>& lines) const;
  void add_deadline(const Job& job, std::vector<std::string>& lines) const;
  void add_protection(const Job& job, std::vector<std::string>& lines) const;
  void add_refusals(const Job& job, std::vector<std::string>& lines) const;
  void add_patience(const Job& job, std::vector<std::string>& lines) const;
  void add_queue(const Job& job, std::vector<std::string>& lines) const;
  void add_holders(std::vector<std::string>& lines) const;

  Snapshot snapshot_;
  const Patience* patience_ = nullptr;
  std::optional<Reservation> kept_;  // by the round that was played
  Outlook outlook_;                  // of it
  std::unordered_map<JobId, Reason> waits_;
  std::map<JobId, Reason> refused_;
  Protects protects_;
  ComingNodes coming_;
  LossLimits limits_;
};

}  // namespace paceline
