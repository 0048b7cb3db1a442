// A job as the state holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/gang.hpp"
#include "model/ids.hpp"
#include "model/job_spec.hpp"
#include "model/job_state.hpp"
#include "model/progress.hpp"
#include "model/reason.hpp"

namespace paceline {

// Slot-seconds that did not become progress, by cause.
struct Bill {
  double preemption = 0;
  double resize = 0;
  double failure = 0;
  friend bool operator==(const Bill&, const Bill&) = default;
};

struct TargetStatus {
  std::optional<Time> delivered_at;  // the deliver tier was met
  std::optional<Time> reached_at;    // the final tier was met
  friend bool operator==(const TargetStatus&, const TargetStatus&) = default;
};

struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  WorkerRange range;    // the spec's, until the owner gives another
  bool pinned = false;  // the range was given by `resize`
  JobState state = JobState::pending;
  bool held = false;

  // At most one gang holds running workers (current) and at most one waits for its seats (forming).
  std::optional<Gang> current;
  std::optional<Gang> forming;
  Generation last_generation;
  std::int32_t attempt = 0;

  std::int32_t retries_used = 0;
  std::int32_t quick_failures = 0;  // in a row, without progress
  std::int32_t resizes = 0;
  std::int32_t preemptions = 0;

  Time submitted_at;
  Time eligible_at;                // not before this (back-off)
  std::optional<Time> started_at;  // first time every worker ran
  std::optional<Time> ended_at;
  std::optional<Time> last_resized_at;
  std::optional<Time> paused_at;
  Time changed_at;    // up to here the sums below are right
  Duration waited{};  // PENDING and STARTING
  Duration ran{};     // RUNNING, RESIZING, STOPPING
  Duration paused{};
  std::int32_t leased = 0;  // slots leased to it now
  double slot_seconds = 0;  // leased so far
  Bill bill;

  std::optional<Progress> progress;
  std::optional<Checkpoint> checkpoint;
  TargetStatus target;

  std::optional<Ending> ending;  // that decided how the job ended
  Reason last_change;            // of the newest change a plan made to it
  Time last_changed_at;          // when; meaningless while last_change is none

  // Workers it holds now: of the current gang, else of the forming one, else 0.
  [[nodiscard]] std::int32_t workers() const;
  [[nodiscard]] std::int32_t slots(std::int32_t n) const { return n * spec->slots_per_worker; }
  // May its size be changed now? With what it declared and has acknowledged; not when its target is
  // reached or some of its workers are done: it leaves.
  [[nodiscard]] bool resizable() const;
  [[nodiscard]] bool should_stop() const { return target.reached_at.has_value(); }
  // The workers it is to have: of the forming gang, else of the current one, else 0.
  [[nodiscard]] std::int32_t planned_workers() const;

  friend bool operator==(const Job&, const Job&);
};

}  // namespace paceline
