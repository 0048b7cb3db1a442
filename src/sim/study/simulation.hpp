// One simulation: the live controller, policies and placer on a virtual clock. At each
// instant everything that ends or is reported is told first, then everything that was submitted,
// then there is one round; what the plan asks of workers happens at that instant, too.
//
//   const Outcome outcome = simulate(workload, setup, registry);
//   outcome.jobs[0].ended - outcome.jobs[0].submitted
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.hpp"
#include "placement/placers.hpp"
#include "policy/registry.hpp"
#include "sim/study/occupancy.hpp"
#include "sim/study/study_engine.hpp"
#include "sim/truth/speedup.hpp"
#include "sim/truth/training.hpp"
#include "sim/truth/workload.hpp"

namespace paceline::sim {

// What a policy knows of lengths: the truth; what jobs report and jobs of their name took; nothing.
enum class Know { oracle, estimate, none };

std::string_view to_string(Know know);  // "oracle", "estimate", "none"
Result<Know> parse_know(std::string_view text);

// "las(queues=2,threshold=3600)"
struct PolicyChoice {
  std::string name;
  Parameters parameters;
  std::string script;  // of a policy in Lua; empty: built in
  [[nodiscard]] std::string text() const;
};

// What a script that can't decide a round does to the simulation: ends it, or, as live, lets the
// policy before it decide that round, and after three in a row all others.
enum class OnFailure { stop, fallback };

std::string_view to_string(OnFailure on_failure);  // "stop", "fallback"
Result<OnFailure> parse_on_failure(std::string_view text);

struct Setup {
  std::vector<NodeSpec> nodes;
  PolicyChoice policy;                                  // REQUIRES: the registry can make it
  std::string placement = std::string(kDefaultPlacer);  // REQUIRES: make_placer() knows it
  bool protects = true;                                 // running jobs, by plan/protection.hpp
  Costs costs;
  double failures_per_slot_hour = 0;
  Duration save_every = std::chrono::minutes{30};  // of jobs that may be stopped, resized or fail
  Duration reclaim_after{};                        // Rules::reclaim_after
  Know know = Know::oracle;
  Speedup speedup = Speedup::linear();  // of elastic jobs
  // Of the workload's trace, those that were profiled, elastic or not: in place of the speed-up.
  std::shared_ptr<const Trainings> trainings = {};   // nullptr: none was
  std::shared_ptr<const DeviceSpeeds> devices = {};  // nullptr: all are alike
  std::optional<LearningCurve> learning = {};        // of all jobs; nothing: they report no metric
  std::uint64_t seed = 0;                            // of failures
  bool keep_occupancy = false;                       // which jobs had the slots
  OnFailure on_failure = OnFailure::stop;
};

// Where the jobs' speeds come from: "as profiled, batch fixed; 3 jobs without a profile or a batch:
// amdahl=0.05", or what --speedup said.
std::string speedup_text(const Setup& setup);

// What became of one job. Times of a job that never got there are the end of the simulation.
struct JobOutcome {
  std::uint32_t job = 0;   // among the trace's
  std::int32_t slots = 0;  // asked for
  std::int32_t most = 0;   // that it could use
  std::int32_t slots_per_worker = 1;
  Duration length{};  // with these
  Time submitted;
  std::optional<Time> started, ended;
  Duration waited{};  // without all of its workers
  double slot_seconds = 0;
  std::int32_t resizes = 0;
  std::int32_t preemptions = 0;
  bool completed = false;
  std::optional<Time> reached = {};  // when it met its target
  const Speedup* speedup = nullptr;  // its own, by slots; nullptr: the setup's
};

// Rounds that a script could not decide.
struct ScriptFailures {
  std::size_t rounds = 0;
  std::string why;               // of the first, one sentence
  Duration first{};              // since the first submission, as the next
  std::optional<Duration> left;  // from when on another policy decided everything
};

struct Outcome {
  std::vector<JobOutcome> jobs;  // in the order of submission
  std::int64_t slots = 0;        // of the cluster
  double leased = 0;             // slot-seconds
  Losses lost;
  std::uint64_t events = 0;            // entries of the journal
  std::uint64_t digest = 0;            // of every plan and its time: equal runs have equal ones
  std::size_t refused = 0;             // by the server's own admission
  std::size_t unfinished = 0;          // nothing would have happened any more
  std::optional<Occupancy> occupancy;  // where it was to be kept
  ScriptFailures failures;
};

// Called now and then with the number of jobs that are over; false: give up.
using Watch = std::function<bool(std::size_t over)>;

// Errors: unavailable: it was given up; invalid: the script failed; internal: the policy changes its
// mind for ever.
Result<Outcome> simulate(const Workload& workload, const Setup& setup,
                         const PolicyRegistry& registry, const Watch& watch = {});

}  // namespace paceline::sim
