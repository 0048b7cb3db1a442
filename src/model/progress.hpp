// How far a training is. Progress counts samples; steps are shown too. Every field is what the
// script reported last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace paceline {

// What a script found when its training went on where it was left (docs/runtime.md).
struct ResumeAudit {
  bool agrees = false;
  std::string text;  // "step 1200 of checkpoint ckpt-7.pt: …", or what differs
  friend bool operator==(const ResumeAudit&, const ResumeAudit&) = default;
};

inline constexpr std::size_t kResumeTextMax = 2048;  // bytes

struct Progress {
  std::optional<std::uint64_t> step, total_steps, samples, position;
  std::optional<double> epoch, total_epochs, step_seconds, learning_rate;
  std::map<std::string, double> metrics;  // the newest value of each
  Time reported_at;
  std::optional<ResumeAudit> resume = {};  // of the last one

  // Done so far in the unit that the script reports: samples, else steps, else epochs.
  [[nodiscard]] std::optional<double> work() const;
  // Done part in 0..1, from samples, steps or epochs, whichever is known with its total;
  // `expected_samples` may be nullopt.
  [[nodiscard]] std::optional<double> ratio(std::optional<std::uint64_t> expected_samples) const;

  friend bool operator==(const Progress&, const Progress&) = default;
};

// What changed in one report: unset fields stay as they were.
void merge(Progress& into, const Progress& report);

inline constexpr std::size_t kMetricsMax = 64;  // names a job may have; further ones are dropped

// Where a checkpoint lies of which it is not known that all machines see it: on one machine, and, once that
// has sent it, with the server.
struct CheckpointPlace {
  std::string node;  // that machine's name
  std::string
      inside;  // where it is in the directory that travels with the job; empty: it isn't in there
  ProcessKey by;  // who acknowledged it, and in its report of this number
  std::uint64_t report = 0;
  std::string ship;    // by which the server keeps a copy (ship/manifest.hpp); empty: there is none
  std::string unkept;  // why there will be none, in one sentence; empty: it is on its way
  friend bool operator==(const CheckpointPlace&, const CheckpointPlace&) = default;

  [[nodiscard]] bool is_of(const CheckpointPlace& other) const {
    return by == other.by && report == other.report;
  }
};

// What became of it.
enum class Keeping {
  kept,    // the server has a copy
  unkept,  // it gets none
  shared,  // it lies where all machines see it
  lost,    // its machine is gone, and it with that
};

// The same as its machine tells it.
struct KeptCheckpoint {
  ProcessKey by;
  std::uint64_t report = 0;
  Keeping keeping = Keeping::kept;
  std::string text = {};  // the copy's ship, or why there is none
};

// A durable point that a job has acknowledged.
struct Checkpoint {
  std::string path;
  std::optional<std::uint64_t> step, samples;
  Time acknowledged_at;
  std::optional<CheckpointPlace> place = {};  // nothing: wherever the job starts, it is there

  // May a start on that machine not find it?
  [[nodiscard]] bool is_missing_on(const std::string& node) const {
    return place && place->ship.empty() && place->node != node;
  }
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// A model that a job has handed out: a file that is whole, and that a later one replaces as a whole.
struct PublishedModel {
  std::string node;    // its name: the path is one there
  std::string path;    // absolute
  std::string sha256;  // of the file's bytes, 64 hexadecimal digits; empty: not said
  std::optional<std::uint64_t> bytes, step, samples;
  Time published_at;
  friend bool operator==(const PublishedModel&, const PublishedModel&) = default;
};

// One point of a job's curves, kept in a table of its own and never in the journal.
struct MetricPoint {
  JobId job;
  Generation born;  // with the number: the process that reported it
  std::int32_t number = 0;
  std::uint64_t report =
      0;  // grows with each report of the process; a repeated one is the same point
  Time at;
  std::optional<std::uint64_t> step, samples;
  std::map<std::string, double> values;
  friend bool operator==(const MetricPoint&, const MetricPoint&) = default;
};

// Points of a process that are not kept, because there were too many at once.
struct PassedOver {
  ProcessKey process;
  std::int64_t points = 0;   // how many more; -1: one of before is kept after all
  std::uint64_t newest = 0;  // of their reports
  friend bool operator==(const PassedOver&, const PassedOver&) = default;
};

}  // namespace paceline
