// How the jobs of a trace train whose applications were profiled: how fast each gang is against the
// one that the job asked for, alone and packed.
//
//   speed(gang, p) = X(gang, B) ε(B, p) / (X(wanted, B₀) ε(B₀, p))
//
// X samples per second, ε statistical efficiency, B the batch on this gang, B₀ the one asked for, p
// how far the training is (all in profile.hpp). A fixed batch, B = B₀, leaves X(gang) / X(wanted): the
// same at every p. A scaled one is B = B₀ K / K₀ with K replicas instead of K₀: every replica keeps its
// local batch, the gradient gets less noisy than it need be, and a step is worth less than it costs
// while there is little noise. Batches stay within those that were validated.
//
// Source: Pollux (OSDI'21), section 3: goodput = throughput × statistical efficiency.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time.hpp"
#include "sim/trace.hpp"
#include "sim/truth/pace.hpp"
#include "sim/truth/profile.hpp"
#include "sim/truth/speedup.hpp"

namespace paceline::sim {

// What becomes of a job's batch at another size than the wanted one.
enum class BatchRule { fixed, scaled };

std::string_view to_string(BatchRule rule);  // "fixed", "scaled"
// Errors: invalid.
Result<BatchRule> parse_batch_rule(std::string_view text);

struct TrainingOptions {
  BatchRule batch = BatchRule::fixed;
  std::int32_t slots_per_node = 1;  // of the nodes on which gangs are packed
  std::int64_t slots_max = 1;       // of the cluster
};

// A part of a training at one speed.
struct Stretch {
  double until = 1;  // the part of the training that is done then, as time at the wanted size
  double speed = 1;  // against the wanted size
};

class Training {
 public:
  struct Asked {
    std::int32_t slots = 1;
    std::int64_t batch = 1;
  };

  // `profile` outlives it. REQUIRES: check_profile(profile); all numbers are above 0.
  Training(const Profile& profile, Asked asked, const TrainingOptions& options);

  // `gang`: slots on each node, here and below; one replica has one slot.
  [[nodiscard]] std::vector<Stretch> stretches(std::span<const std::int32_t> gang) const;
  // Of a job that runs for `length` at the wanted size, which is the part `reach` of its training.
  [[nodiscard]] Pace pace(std::span<const std::int32_t> gang, Duration length, double reach) const;
  // Over the whole training, of packed gangs by their slots.
  [[nodiscard]] const Speedup& speedup() const { return speedup_; }

 private:
  [[nodiscard]] std::int64_t batch_at(std::int32_t slots) const;
  [[nodiscard]] double time_on(std::int32_t slots) const;

  const Profile& profile_;
  Asked asked_;
  TrainingOptions options_;
  std::vector<std::int32_t> wanted_;  // the gang
  Speedup speedup_;
};

// Of every job of a trace whose application has a profile and whose batch is known.
class Trainings {
 public:
  Trainings(const Trace& trace, std::shared_ptr<const Profiles> profiles,
            const TrainingOptions& options);
  Trainings(const Trainings&) = delete;
  Trainings& operator=(const Trainings&) = delete;

  // `job` of the trace; nullptr: nothing is known of it.
  [[nodiscard]] const Training* of(std::uint32_t job) const { return of_jobs_[job]; }
  [[nodiscard]] std::size_t unknown() const;  // jobs
  [[nodiscard]] BatchRule batch() const { return batch_; }

 private:
  using Key = std::tuple<std::string, std::int32_t, std::int64_t>;  // application, slots, batch

  std::shared_ptr<const Profiles> profiles_;
  BatchRule batch_;
  std::map<Key, Training> trainings_;
  std::vector<const Training*> of_jobs_;
};

}  // namespace paceline::sim
