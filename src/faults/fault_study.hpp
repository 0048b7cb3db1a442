// Many worlds of faults, one for each seed, several at a time; what they saw together.
//
//   const FaultStudy study = run_faults({.first = 1, .last = 1000, .threads = 2}, kit, {});
//   study.failed    → empty, or the seeds in which something happened that must not
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fault_options.hpp"
#include "policy/registry.hpp"
#include "store/store.hpp"

namespace paceline::faults {

// What every world is built of; used from all threads.
struct FaultKit {
  std::function<std::unique_ptr<Store>()> make_disk;
  MakeEngine make_engine;
  MakeClock make_clock;
  const PolicyRegistry& policies;
  std::vector<std::string> scripts;
};

struct FaultStudyPlan {
  std::uint64_t first = 1;  // seed
  std::uint64_t last = 1;   // REQUIRES: >= first
  unsigned threads = 1;     // worlds at a time, at most; 0: one per core
  // Of the one seed; REQUIRES: first == last.
  std::function<void(Duration since, std::string_view line)> story{};
};

struct FailedSeed {
  std::uint64_t seed = 0;
  std::vector<std::string> faults;
};

struct FaultStudy {
  std::uint64_t seeds = 0;         // that were run
  std::uint64_t jobs = 0;          // submitted in them
  double virtual_seconds = 0;      // that passed in them
  Happened happened;               // how often
  std::uint64_t failures = 0;      // seeds with faults
  std::vector<FailedSeed> failed;  // the first kFailedSeedsMax of them
  std::uint64_t digest = 0;        // of every seed's digest, in order
};

inline constexpr std::size_t kFailedSeedsMax = 20;

// Called with the done part now and then, from any thread but never from two at once; false: give
// up, and tell of the seeds so far.
using FaultWatch = std::function<bool(double done)>;

FaultReport run_fault_seed(const FaultOptions& options, const FaultKit& kit);
FaultStudy run_faults(const FaultStudyPlan& plan, const FaultKit& kit, const FaultWatch& watch);

// The seed whose world runs on this thread: to tell which, when the program dies.
std::optional<std::uint64_t> running_fault_seed();

}  // namespace paceline::faults
