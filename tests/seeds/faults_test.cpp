// The control plane under faults, one seed after the other. A seed that fails is replayed with
//   build/release/paceline simulate --faults SEED --story
// and script/faults looks for more of them.
#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "app/faults.hpp"
#include "faults/fault_json.hpp"
#include "faults/log_tap.hpp"
#include "faults/world_habits.hpp"
#include "support/numbers.hpp"

namespace paceline::faults {
namespace {

constexpr std::uint64_t kSeedsAgain = 10;
constexpr std::uint64_t kSeedsSwept = 4;
constexpr std::uint64_t kEffectsMax = 3;

std::uint64_t seeds() { return testing::number_from("PACELINE_SEEDS", 1'000); }

FaultStudy run(std::uint64_t last, unsigned threads) {
  return run_faults({1, last, threads}, fault_kit(), {});
}

const FaultStudy& study() {
  static const FaultStudy all = run(seeds(), std::thread::hardware_concurrency());
  return all;
}

void expect_none_failed(const FaultStudy& study) {
  for (const FailedSeed& failed : study.failed) {
    for (const auto& fault : failed.faults) ADD_FAILURE() << "seed " << failed.seed << " " << fault;
    ADD_FAILURE() << "again with: " << replay_command(failed.seed);
  }
  EXPECT_EQ(study.failures, 0U);
}

TEST(Faults, LoseNothingAndStartNothingTwice) {
  expect_none_failed(study());
  EXPECT_EQ(study().seeds, seeds());
  EXPECT_GE(study().jobs, 30 * seeds());
}

// Beyond the first seeds: they found something once.
//   4687: news told while a write was refused, and nobody asked for them
//   6202: a gang that forms while the server dies at every commit
//   424604: reports that are told again by an agent that did not hear that they are stored
//   554683: a server that can't write for most of the time, as the oracle has to see
//   9218127: a gang started anew, of which one worker says early that it stands, and ends
//   9227247: a newcomer that fails after the others have ended well
//   9468935: the last of a gang ends in the batch in which those left of it are given up
//   20000287: a checkpoint's node retires while its job waits for it to be sent
//   20003138: a checkpoint on the only node, which others join while no job changes
//   20012393: a node that retires by a commit in doubt, and joins anew before that is known
//   20012415: a pilot ends, and a gang is to begin there once the one before has left a machine that is away
//   20022013: a job starts on a node that left, as of a server that is always down again after a moment
//   20028447: a machine is said to be off, and a copy of it runs
//   20029681: a pilot's node is undrained while another one is asked for
//   20030179: a pilot stands whose agent is kept out by its clock
//   20032442: a job needs longer than a pilot lasts, and others wait behind it
//   20040220: a copy of a machine is switched off, and with it what its workers wrote
//   20053822: a server dies before it has written what the word that a machine is off means
//   20061365: a clock is set while pilots are on their way
//   20084941, 20089172: a copy of a machine dials a server that could not write down from which boot it was heard
TEST(Faults, OfSeedsThatFoundSomethingAreSurvived) {
  const LogTap quiet;
  for (const std::uint64_t seed :
       {4687U,     6202U,     424604U,   554683U,   9218127U,  9227247U,  9468935U,
        20000287U, 20003138U, 20012393U, 20012415U, 20022013U, 20028447U, 20029681U,
        20030179U, 20032442U, 20040220U, 20053822U, 20061365U, 20084941U, 20089172U}) {
    FaultOptions options;
    options.seed = seed;
    for (const auto& fault : run_fault_seed(options, fault_kit()).faults)
      ADD_FAILURE() << "seed " << seed << " " << fault;
  }
}

// What happens once in so many seeds at the least: worthless if nothing does.
struct Often {
  const char* what;
  std::uint64_t seeds;
};
constexpr Often kHappens[] = {
    // ---- to the server ----
    {"server crash", 1},
    {"commit that nobody was told of", 1},
    {"commit in doubt", 1},
    {"disk full", 1},
    {"clock seen set", 1},
    {"point passed over", 10},
    {"submission refused", 1},
    // ---- to machines and agents ----
    {"agent crash", 1},
    {"machine died", 1},
    {"machine away for long", 1},
    {"machine in want", 1},
    {"start refused", 1},
    {"port taken", 2},
    {"port of a gang taken", 4},
    {"clock set", 1},
    {"devices changed", 1},
    {"slots came or went", 1},
    {"start on a slot that is gone", 10},
    {"machine of the same name", 2},
    {"node retired", 10},
    {"node joined anew", 10},
    {"lease over", 25},
    // ---- to workers ----
    {"supervisor died", 1},
    {"claim removed", 10},
    {"limit held without a server", 100},
    // ---- to connections ----
    {"link cut", 1},
    {"link cut one way", 1},
    {"network cut", 1},
    {"connection broken", 1},
    {"message lost", 1},
    {"message doubled", 1},
    {"message overtaken", 1},
    // ---- plans, people, ends ----
    {"start", 25},
    {"resize", 25},
    {"move", 25},
    {"stop", 25},
    {"notice", 25},
    {"kill", 25},
    {"freeze", 25},
    {"cancel", 25},
    {"pause", 25},
    {"resume", 25},
    {"range set", 25},
    {"retry", 25},
    {"policy set", 25},
    {"policy tried", 25},
    {"policy promoted", 25},
    {"policy rolled back", 25},
    {"trial ended", 25},
    {"script loaded", 25},
    {"script forgotten", 25},
    {"script failed", 100},
    {"logs removed", 1},
    {"job forgotten", 1},
    {"COMPLETED", 25},
    {"FAILED", 25},
    {"CANCELLED", 25},
    {"TIMEOUT", 25},
};

void expect_happened(const FaultStudy& study, std::uint64_t seeds, std::span<const Often> kinds) {
  for (const auto& [what, each] : kinds) {
    const auto found = study.happened.find(what);
    const std::uint64_t times = found == study.happened.end() ? 0 : found->second;
    EXPECT_GE(times, seeds / each) << what;
  }
}

TEST(Faults, TogetherSeeEveryKindOfTroubleAndEveryEnd) {
  expect_happened(study(), seeds(), kHappens);
}

// ---- machines that join, and nodes that Slurm brings ----

std::uint64_t joining_seeds() { return seeds() / 2; }

const FaultStudy& joining_study() {
  static const FaultStudy all = run_faults(
      {kJoiningSeeds + 1, kJoiningSeeds + joining_seeds(), std::thread::hardware_concurrency()},
      fault_kit(), {});
  return all;
}

TEST(Faults, OfMachinesThatJoinLoseNothingAndStartNothingTwice) {
  expect_none_failed(joining_study());
}

constexpr Often kHappensToThoseThatJoin[] = {
    {"node joins", 1},
    {"node joins, told again", 2},
    {"join refused", 2},
    {"line pasted once more", 2},
    {"certificate renewed", 1},
    {"node turned away", 1},
    {"node not heard any more", 2},
    {"agent hears nothing", 5},
    {"node removed", 1},
    {"node removed, whose machine is off", 2},
    {"copy of a machine comes", 4},
    // ---- to pilots ----
    {"pilot asked for", 1},
    {"pilot starts", 1},
    {"pilot ends", 1},
    {"Slurm's node fails", 10},
    {"Slurm forgets a pilot", 2},
    {"Slurm's controller is away", 1},
    {"Slurm has every node back", 10},
};

TEST(Faults, OfMachinesThatJoinAreOfEveryKind) {
  expect_happened(joining_study(), joining_seeds(), kHappensToThoseThatJoin);
}

TEST(Faults, AreTheSameForTheSameSeedOnAnyThread) {
  EXPECT_EQ(run(kSeedsAgain, 1).digest, run(kSeedsAgain, 2).digest);
  const auto joining = [](unsigned threads) {
    return run_faults({kJoiningSeeds + 1, kJoiningSeeds + kSeedsAgain, threads}, fault_kit(), {})
        .digest;
  };
  EXPECT_EQ(joining(1), joining(2));
  EXPECT_NE(run(1, 1).digest, run_faults({2, 2, 1}, fault_kit(), {}).digest);
}

FaultReport run_small(std::uint64_t seed, std::optional<PlannedCrash> crash) {
  FaultOptions options;
  options.seed = seed;
  options.faults_for = std::chrono::seconds{20};
  options.jobs = 3;
  options.misfortunes = false;
  options.crash = crash;
  return run_fault_seed(options, fault_kit());
}

// A small world in which nothing else goes wrong, once for each commit in it and each point there.
TEST(Faults, OfTheServerAtEachPointOfEachCommitAreSurvived) {
  const LogTap quiet;
  for (std::uint64_t seed = 1; seed <= kSeedsSwept; ++seed) {
    const FaultReport whole = run_small(seed, {});
    EXPECT_TRUE(whole.faults.empty()) << "seed " << seed << " without a crash";
    EXPECT_GE(whole.commits, 20U);
    for (std::uint64_t i = 0; i < whole.commits * kCrashPoints; ++i) {
      const PlannedCrash crash{1 + i / kCrashPoints, static_cast<CrashPoint>(i % kCrashPoints),
                               i % kEffectsMax};
      for (const auto& fault : run_small(seed, crash).faults)
        ADD_FAILURE() << "seed " << seed << ", commit " << crash.commit << ", point "
                      << i % kCrashPoints << ": " << fault;
    }
  }
}

}  // namespace
}  // namespace paceline::faults
