// What a person asks for: a training script with a worker range, limits, a target. What starts it
// (command, environment, directory) is private to its owner and lives in LaunchSpec
// (model/launch.hpp), outside journal, events and other people's API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/points.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/affinity.hpp"
#include "model/ids.hpp"
#include "model/loss_limits.hpp"
#include "model/target.hpp"

namespace paceline {

// min..max@want, in workers. Rigid policies start a job at `want`.
struct WorkerRange {
  std::int32_t min = 1;
  std::int32_t max = 1;
  std::int32_t want = 1;

  [[nodiscard]] bool contains(std::int32_t workers) const {
    return workers >= min && workers <= max;
  }
  friend bool operator==(const WorkerRange&, const WorkerRange&) = default;
};

// Reads "4", "2..8" or "2..8@4"; want is min if omitted. Errors: invalid (not a range, zero, min >
// max, want outside).
Result<WorkerRange> parse_range(std::string_view text);
std::string to_string(const WorkerRange& range);  // the same forms

enum class Elastic {
  automatic,  // in place with the runtime; by restart only once a checkpoint was acknowledged
  restart,    // by restart at any time: the owner vouches that the script resumes
  no,         // the size stays
};

std::string_view to_string(Elastic elastic);  // "auto", "restart", "no"
Result<Elastic> parse_elastic(std::string_view text);

// What becomes of workers whose machine doesn't hear of the server for as long as its lease lasts.
enum class OnDisconnect {
  stop,   // the machine ends them, and the job starts elsewhere
  go_on,  // they run on, and the job waits for the machine
};

std::string_view to_string(OnDisconnect on_disconnect);  // "stop", "continue"
Result<OnDisconnect> parse_on_disconnect(std::string_view text);

// Where checkpoints are kept that lie on one machine alone.
enum class CheckpointStore {
  server,  // the server has a copy of the newest two, and later starts find them on any node
  none,    // nowhere: the job sees to it that its starts find them
};

std::string_view to_string(CheckpointStore store);  // "server", "none"
Result<CheckpointStore> parse_checkpoint_store(std::string_view text);

// How ranks belong together: each group of `tensor` workers exchanges so much that it stays on one
// node, in one link island if it can; `pipeline` of them make one copy of the model. The job grows
// in copies: its sizes are multiples of step().
struct Mesh {
  std::int32_t tensor = 1;
  std::int32_t pipeline = 1;

  [[nodiscard]] std::int32_t step() const { return tensor * pipeline; }
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

// Are the range's sizes whole copies of the model? Errors: invalid.
// Could any job have that range? Errors: invalid.
Result<void> validate_range(const WorkerRange& range);
Result<void> fits_mesh(const WorkerRange& range, const Mesh& mesh);

inline constexpr std::int32_t kSignalMax = 64;  // the largest number of a signal

// How a stop is announced: the signal, then this long to checkpoint and leave, then SIGKILL.
struct Notice {
  std::int32_t signal = 15;  // SIGTERM
  Duration grace = std::chrono::seconds{120};
  friend bool operator==(const Notice&, const Notice&) = default;
};

struct JobSpec {
  std::string name;
  std::string user;  // the submitter's login name
  std::uint32_t uid = 0;
  WorkerRange workers;
  std::int32_t slots_per_worker = 1;
  Mesh mesh;
  std::vector<std::string> devices;      // any of these device models serves; empty: any at all
  std::vector<Affinity> affinity;        // all of them count
  bool exclusive = false;                // shares its nodes with no other job
  double cpus = 0;                       // CPU cores each worker may use; 0: unlimited
  std::uint64_t memory_bytes = 0;        // memory each worker may use; 0: unlimited
  std::uint64_t log_limit_bytes = 0;     // of all its logs on a machine; 0: the server's bound
  bool preemptible = true;               // may be stopped for another job
  std::int32_t priority = 50;            // 0..100, larger first
  std::optional<Duration> max_duration;  // of running; pauses don't count
  std::optional<Duration> minimum_run;   // not resized or stopped earlier; else the policy's
  std::optional<double> stop_loss, resize_loss;  // LossLimits of its own; else the policy's
  std::optional<Duration> expected_duration;
  std::optional<std::uint64_t> expected_samples;
  // How many times as fast as one worker it trains with so many; empty: unknown. In between and to
  // no worker linear, beyond the last flat.
  Points<std::int32_t> expected_speeds;
  std::optional<WallTime> deadline;
  std::int32_t retries = 0;
  Elastic elastic = Elastic::automatic;
  std::string checkpoint_glob;  // relative to the working directory; empty: none
  std::optional<Target> target;
  std::vector<JobId> after;  // all must be COMPLETED first
  bool hold = false;
  bool pty = false;
  Notice notice;
  OnDisconnect on_disconnect = OnDisconnect::stop;
  CheckpointStore checkpoint_store = CheckpointStore::server;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

inline constexpr std::int32_t kWorkersMax = 100'000;
inline constexpr std::int32_t kSlotsPerWorkerMax = 1'024;
inline constexpr std::size_t kNameLengthMax = 128;
inline constexpr std::int32_t kMeshMax = 1'024;  // of tensor and of pipeline
inline constexpr std::size_t kDevicesMax = 32;
inline constexpr std::size_t kAffinityMax = 32;
inline constexpr std::size_t kAfterMax = 1'000;
inline constexpr std::int32_t kRetriesMax = 1'000;
inline constexpr std::size_t kExpectedSpeedsMax = 1'024;

// Does the job keep others off its nodes: exclusive, or required to be away from jobs?
bool keeps_others_off(const JobSpec& spec);

// Everything about a spec that can be judged without knowing the cluster. Errors: invalid.
Result<void> validate(const JobSpec& spec);

}  // namespace paceline
