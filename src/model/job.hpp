// A job as the state holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  [[nodiscard]] double total() const { return preemption + resize + failure; }
  Bill& operator+=(const Bill& other);
  Bill& operator-=(const Bill& other);
  Bill& operator/=(double divisor);
  friend bool operator==(const Bill&, const Bill&) = default;
};

// Time run at one size.
struct RanAt {
  std::int32_t workers = 0;
  Duration span{};
  friend bool operator==(const RanAt&, const RanAt&) = default;
};

// What was measured at one size on one kind of place: the newest rates, weighed exponentially.
struct SpeedPoint {
  std::int32_t workers = 0;
  std::int32_t nodes = 0;     // that the gang stood on
  std::string device;         // the model of its slots; where they are several "a100+h100"
  double rate = 0;            // work per second: samples, else steps, else epochs
  double variance = 0;        // of the rate
  std::uint32_t reports = 0;  // that went in
  friend bool operator==(const SpeedPoint&, const SpeedPoint&) = default;
};

inline constexpr std::size_t kSpeedPointsMax = 64;

// Where the newest report of the current gang stood: two of them make a rate.
struct SpeedMark {
  Generation generation;
  Time at;
  double work = 0;
  friend bool operator==(const SpeedMark&, const SpeedMark&) = default;
};

struct TargetStatus {
  std::optional<Time> delivered_at;  // the deliver tier was met
  std::optional<Time> reached_at;    // the final tier was met
  friend bool operator==(const TargetStatus&, const TargetStatus&) = default;
};

// Starts that machines refused, in a row: none of them cost a retry.
struct RefusedStart {
  std::int32_t times = 0;
  std::string why;  // of the newest: one sentence, for its owner
  friend bool operator==(const RefusedStart&, const RefusedStart&) = default;
};

struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  WorkerRange range;    // the spec's, until the owner gives another
  bool pinned = false;  // the range was given by `resize`
  JobState state = JobState::pending;
  bool held = false;

  // At most one gang trains (current), and at most one waits for its seats or, where it forms in
  // place, for its newcomers (forming).
  std::optional<Gang> current;
  std::optional<Gang> forming;
  std::vector<Parting> parting;  // while there is a current gang, which ends after them
  Generation last_generation;
  std::int32_t attempt = 0;

  std::int32_t retries_used = 0;
  std::int32_t quick_failures = 0;           // in a row, without progress
  std::optional<RefusedStart> refused = {};  // since it ran last
  std::int32_t resizes = 0;
  std::int32_t preemptions = 0;

  Time submitted_at;
  Time eligible_at;                // not before this (back-off)
  std::optional<Time> started_at;  // first time every worker ran
  std::optional<Time> ended_at;
  std::optional<Time> last_resized_at;
  std::optional<Time> paused_at;
  Time waiting_since;  // when it became PENDING or its slots were lent; meaningless in other states
  Time changed_at;     // up to here the sums below are right
  Duration waited{};   // PENDING and STARTING, and PAUSED for others
  Duration ran{};      // RUNNING, RESIZING, STOPPING
  Duration paused{};   // PAUSED by its owner
  std::int32_t leased = 0;  // slots leased to it now
  double slot_seconds = 0;  // leased so far
  double service_from = 0;  // of them, those that count for no queue any more (Plan::counted_anew)
  Bill bill;

  // What counts of its running, by size in rising order: work that was lost is taken out again.
  std::vector<RanAt> ran_at;
  std::vector<RanAt> saved_at;           // the same, as of the newest checkpoint
  std::vector<RanAt> told_at;            // the same, when it told last how far it is
  std::optional<Duration> usual_length;  // of jobs of its name, at the size that was submitted
  std::vector<SpeedPoint> speeds;        // by workers, nodes, device
  std::optional<SpeedMark> speed_mark;
  // Seconds until every worker ran again, weighed: from the notice of a resize, or from the start
  // that followed a stop.
  double resize_pause = 0;
  std::int32_t resize_pauses = 0;
  // The same of resizes in place: from when all ranks could be told until they trained again.
  double in_place_pause = 0;
  std::int32_t in_place_pauses = 0;

  std::optional<Progress> progress;
  std::optional<Checkpoint> checkpoint;
  // The newest one before it of which the server has a copy, and `saved_at` as of that: the job goes back
  // to it where the newest is lost.
  std::optional<Checkpoint> kept;
  std::vector<RanAt> kept_at;
  std::optional<PublishedModel> model;  // the newest
  TargetStatus target;

  std::optional<Ending> ending;  // that decided how the job ended
  Reason last_change;            // of the newest change a plan made to it
  Time last_changed_at;          // when; meaningless while last_change is none
  Reason dropped;  // why the newest change proposed for it may not be made yet; or none

  // Is its gang frozen for other jobs, which have its slots meanwhile? An owner's pause keeps them.
  [[nodiscard]] bool lends() const {
    return state == JobState::paused && current && current->lent_at;
  }
  // Does a gang of it have or await seats?
  [[nodiscard]] bool seated() const { return forming || (current && !lends()); }
  // Do processes of the current gang go on in the forming one? Then both are of one attempt.
  [[nodiscard]] bool forms_in_place() const {
    return forming && current && forming->attempt == current->attempt;
  }
  // Do those that are left of its gang wait for others in place of the dead?
  [[nodiscard]] bool awaits_replacements() const { return current && current->waits; }
  // Does a process of this rank of the forming gang come anew? REQUIRES: forms_in_place().
  [[nodiscard]] bool joins(std::int32_t rank) const {
    return !current->rank_of(forming->process(id, rank)).has_value();
  }
  // Of its current gang, else of the forming one, else one that leaves; nullptr: it is none of them.
  [[nodiscard]] const Worker* find_worker(const ProcessKey& process) const;
  // Can it get another generation now of which its processes are members as they are?
  [[nodiscard]] bool resizes_in_place() const;
  // Running of the current gang up to then that no checkpoint has. REQUIRES: there is one.
  [[nodiscard]] Duration unsaved(Time until) const;
  // Workers it has now: of the current gang, else of the forming one, else 0.
  [[nodiscard]] std::int32_t workers() const;
  [[nodiscard]] std::int32_t slots(std::int32_t n) const { return n * spec->slots_per_worker; }
  // May its size be changed now? With what it declared and has acknowledged. Not when its target is
  // reached or some of its workers are done: it leaves. Nor while a generation forms in place, or the
  // leavers of the last one end: a moment later nobody has to be started anew for it.
  [[nodiscard]] bool resizable() const;
  [[nodiscard]] bool should_stop() const { return target.reached_at.has_value(); }
  // May it be stopped for another job? Not if its owner forbids it, and not once it leaves by
  // itself.
  [[nodiscard]] bool preemptible() const;
  // Running time that counts, sizes weighed linearly: seconds at the wanted size. By fold rules before 6 a
  // name's length was learned so; estimate/remaining.hpp has what counts.
  [[nodiscard]] double length_run() const;
  // When its time is over, if it goes on as it does; nothing while no time counts or none is set.
  [[nodiscard]] std::optional<Time> limit_at() const;
  // Since when its newcomers all run without a pause, and are waited for.
  [[nodiscard]] std::optional<Time> newcomers_since() const;
  // Since when those that are left of its gang wait for room for others.
  [[nodiscard]] std::optional<Time> short_since() const;
  // Does nothing tell that it can go on from where it was?
  [[nodiscard]] bool begins_anew() const;
  // Was it told that it will be stopped for others?
  [[nodiscard]] bool is_asked() const { return current && current->asked && !current->stop; }
  // The workers it is to have: of the forming gang, else of the current one, else 0.
  [[nodiscard]] std::int32_t planned_workers() const;

  friend bool operator==(const Job&, const Job&);
};

}  // namespace paceline
