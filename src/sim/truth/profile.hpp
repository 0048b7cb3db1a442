// What was measured of an application's training: how long a step takes where, and how far a step
// gets. From it follow samples per second, statistical efficiency, and how long a job trains.
//
//   const std::vector<std::int32_t> gang = packed(6, 4);      // 4 replicas on a node, 2 on another
//   step_time(profile, gang, 683).seconds                     → 0.31
//   efficiency(profile, 4096, 0)                              → 0.06: of a sample's worth at 128
//   training_time(profile, gang, 4096)                        → 20 minutes
//
// Step times, for a local batch (samples of one replica in one step):
//   - where this gang's replicas per node were measured, in any order, the mean over the orders;
//   - else by nodes and replicas per node: linear between the measured numbers of nodes, and for
//     each of these linear between its measured numbers of replicas per node;
//   - linear between measured local batches. A larger batch than was measured there is split into
//     equal passes whose gradients are added up: all but the last take the step without its
//     synchronisation;
//   - beyond all that was measured, on more nodes, with more replicas on each or with a smaller local
//     batch: the time at the nearest place that was, times what the fit of step_fit.hpp says of the
//     one over what it says of the other; without a fit flat.
// So a measured point is given as it was measured, and nothing jumps where the measurements end. The
// fit alone would be 4 to 9 % off for half of Pollux's own points and up to half for single ones, and
// would even out what a second node costs, which is what placement is about (decision 0026).
//
// Progress is counted in steps of the reference batch, the smallest that was validated. A step of
// B samples gets gain(B) = (σ² + μ²) / (σ² M₀ / B + μ²) of them, with M₀ the reference batch, σ² the
// variance of its gradient and μ² the square of the true one's norm: both as they were measured at
// this progress, linear between the validated batches and flat beyond. efficiency = gain M₀ / B, as
// in Pollux (φ + M₀) / (φ + B) with φ = M₀ σ² / μ².
//
// Source: Pollux (OSDI'21), section 3; the measurements of petuum/adaptdl, branch osdi21-artifact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "sim/trace.hpp"
#include "sim/truth/step_fit.hpp"

namespace paceline::sim {

inline constexpr std::int64_t kTrainingSecondsMax = 10'000'000'000;

struct StepTime {
  double seconds = 0;       // in all
  double sync_seconds = 0;  // of them, spent on nothing but other replicas' gradients
};

// By local batch. REQUIRES, where it is used: not empty; seconds above 0.
using StepTimes = std::map<std::int64_t, StepTime>;

struct ValidationPoint {
  double progress = 0;   // since the beginning, in steps of the reference batch
  double iteration = 0;  // likewise, in steps of its own batch
  double metric = 0;     // of the application's own kind
  double grad_sqr = 0;   // μ², on the way here from the point before
  double grad_var = 0;   // σ², likewise, of the reference batch
};

struct Profile {
  std::string application;
  std::map<std::vector<std::int32_t>, StepTimes> placements;         // by replicas per node, rising
  std::map<std::int32_t, std::map<std::int32_t, StepTimes>> scales;  // by nodes, then replicas
  std::map<std::int64_t, std::vector<ValidationPoint>> validations;  // by batch; progress rises
  std::optional<StepFit> fit;  // of all scales: what is beyond them; nothing: flat
};

using Profiles = std::map<std::string, Profile>;  // by application

// What the functions below REQUIRE: something was measured at some scale, some batch was validated,
// and all numbers are in their range. Errors: data.
Result<void> check_profile(const Profile& profile);

// What was measured of each scale: what a fit is made of, and held against.
std::vector<StepPoint> step_points(const Profile& profile);

// As few nodes as possible, all full but the last: replicas per node.
// REQUIRES: replicas > 0, slots_per_node > 0.
std::vector<std::int32_t> packed(std::int32_t replicas, std::int32_t slots_per_node);

// REQUIRES, here and below: `gang` has a node, and every node in it a replica; batches are above 0.
StepTime step_time(const Profile& profile, std::span<const std::int32_t> gang,
                   std::int64_t local_batch);
// Of the mean gang of that scale. REQUIRES: 0 < nodes <= replicas.
StepTime step_time(const Profile& profile, GangScale scale, std::int64_t local_batch);

// The smallest batch that was validated.
std::int64_t reference_batch(const Profile& profile);

// Nearest to it among those that lie between validated ones.
std::int64_t bounded_batch(const Profile& profile, std::int64_t batch);

// Where the efficiency of a batch changes: progress, up to the last.
std::set<double> gradient_changes(const Profile& profile, std::int64_t batch);

// How far a sample gets, against one of the reference batch: at most 1.
double efficiency(const Profile& profile, std::int64_t batch, double progress);

// `batch` is over the whole gang, here and below; replicas get equal parts, rounded up.
double samples_per_second(const Profile& profile, std::span<const std::int32_t> gang,
                          std::int64_t batch);
double progress_per_second(const Profile& profile, std::span<const std::int32_t> gang,
                           std::int64_t batch, double progress);

// Where training is over: the last point that every validated batch got to.
double last_progress(const Profile& profile);

// From no progress to the last, undisturbed; at most kTrainingSecondsMax.
Duration training_time(const Profile& profile, std::span<const std::int32_t> gang,
                       std::int64_t batch);

// Gives every job of a trace without durations its training time, alone and packed on nodes of so
// many slots, with the nearest batch that lies between validated ones. Does nothing to a trace with
// durations. `file` is for messages. Errors: invalid, where a job trains what has no profile, or has
// no batch.
Result<void> set_durations(Trace& trace, std::string_view file, const Profiles& profiles,
                           std::int32_t slots_per_node);

}  // namespace paceline::sim
