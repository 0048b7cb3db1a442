// Takes the submissions of one step into its batch: each is admitted, or refused with what to do next, and
// the same Idempotency-Key makes one job, also within the step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "model/launch.hpp"
#include "model/principal.hpp"
#include "model/state.hpp"
#include "notify/notify.hpp"
#include "scheduler/admission.hpp"
#include "scheduler/room.hpp"
#include "store/store.hpp"

namespace paceline {

struct Submission {
  JobSpec spec;  // user and uid are the submitter's, from the connection
  LaunchSpec launch;
  std::string key;    // Idempotency-Key; empty: none. With it, the same submission is made once
  Principal by = {};  // whose submission it is
  Notify notify = {};
};

class Intake {
 public:
  struct Parts {
    const State& state;
    Store& store;
    Admission* admission;  // nullptr: as much as comes
    // Whether anything new may be accepted.
    const std::function<Result<void>()>& room;
    Time now;
    WallTime wall;
    ComingNodes coming = {};
  };
  struct Taken {
    JobId job;
    bool is_new = true;    // an event has to tell of it: submitted()
    bool durable = false;  // it was taken in an earlier step
  };

  explicit Intake(const Parts& parts) : parts_(parts) {}

  // Gives it an id, and puts what starts it and its key into the batch. The event is the caller's.
  // Errors: what admit() and the limits say; conflict: the key was used for another submission.
  Result<Taken> take(Batch& batch, Submission& submission);

 private:
  [[nodiscard]] Result<std::optional<Taken>> find_repeated(const Batch& batch,
                                                           const Submission& submission) const;
  [[nodiscard]] Result<void> admit_submission(const Submission& submission, JobId id) const;
  [[nodiscard]] Result<void> admit_after_forgotten(const JobSpec& spec) const;
  [[nodiscard]] Result<JobId> repeated(JobId job, const Submission& submission) const;
  [[nodiscard]] static Result<JobId> repeated(const Batch& batch, JobId job,
                                              const Submission& submission);

  Parts parts_;
  std::map<std::pair<std::uint32_t, std::string>, JobId> keys_;  // of this step
  std::uint32_t taken_ = 0;
};

}  // namespace paceline
