// How much may wait: jobs of one user and of all, and what would start them. Kept up to date with
// the state, so that a submission is judged at once.
//
//   if (auto ok = admission.admit(state, store, by, spec.uid, launch); !ok) return done(fail(ok.error()));
//   admission.took(id, spec.uid, launch);   // it is in the batch
//   admission.follow(state, touched);       // the batch was folded …
//   admission.drop_from(next_id);           // … or refused
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

#include "base/result.hpp"
#include "model/launch.hpp"
#include "model/limits.hpp"
#include "model/principal.hpp"
#include "model/state.hpp"
#include "store/store.hpp"

namespace paceline {

class Admission {
 public:
  explicit Admission(const Limits& limits) : limits_(limits) {}

  // May one more of user `uid` be taken? No limit per user holds `by` that is an admin, and the last
  // twentieth of the places of waiting jobs is kept for admins: when users have filled the others,
  // the server can still be given work. Errors: unavailable, with the limit; storage.
  Result<void> admit(const State& state, Store& store, const Principal& by, std::uint32_t uid,
                     const LaunchSpec& launch);
  // Does it ask for no more than one job may have? Holds for everybody. Errors: invalid.
  [[nodiscard]] Result<void> admit_limits(const JobSpec& spec) const;
  // A job that follows the state's last, and those taken before, is in the batch.
  void took(JobId job, std::uint32_t uid, const LaunchSpec& launch);
  // Jobs from `first` on will not be.
  void drop_from(JobId first);
  // These jobs have changed.
  void follow(const State& state, std::span<const JobId> touched);
  // Of these, those that are over were checkpointed: nothing would start them any more.
  void forget_launches(const State& state, std::span<const JobId> jobs);

 private:
  struct Known {
    std::uint32_t uid = 0;
    bool waits = false;
    std::uint64_t bytes = 0;
  };
  struct User {
    std::uint64_t waiting = 0, bytes = 0;
    bool summed = false;  // `bytes` has what was there before the server started
  };

  void count(Known& job, bool waits);
  void set_bytes(Known& job, std::uint64_t bytes);
  Result<void> sum_launches(const State& state, Store& store, std::uint32_t uid);

  Limits limits_;
  std::map<JobId, Known> jobs_;  // that wait, or of which something is stored
  std::unordered_map<std::uint32_t, User> users_;
  std::uint64_t waiting_ = 0;
};

// The bytes of what starts a job.
std::uint64_t bytes_of(const LaunchSpec& launch);

}  // namespace paceline
