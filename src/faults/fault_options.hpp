// What a world of faults is made of, what may befall it, and what is told of it afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "faults/crash_point.hpp"
#include "faults/happened.hpp"
#include "faults/set_clock.hpp"
#include "policy/registry.hpp"
#include "store/store.hpp"
#include "wire/agent_link.hpp"

namespace paceline::faults {

// The engine under test: one object with two faces.
struct EngineUnderTest {
  std::unique_ptr<Engine> engine;
  ServerEnd* end = nullptr;
  // As Reception::Ways says of it.
  std::function<Result<void>(std::string_view node, std::string_view by)> count_off = {};
  // A node says what became of a checkpoint that it was asked for. Errors: conflict: it isn't (any more).
  std::function<Result<void>(std::string_view node, const KeptCheckpoint& kept)> take_kept = {};
};
// What the engine holds to, as AgentsEngine::Options says.
struct EngineBounds {
  std::size_t news_max = 10'000;
};
// What the engine asks the store for.
struct EngineSources {
  std::function<Result<LaunchSpec>(JobId)> launches;
  std::function<std::uint64_t(const ProcessKey&)> newest_report;
};
using MakeEngine = std::function<EngineUnderTest(Clock&, EngineSources, const EngineBounds&)>;

// What the world is made of; all of it outlives the world.
struct FaultParts {
  Store& disk;  // empty
  const MakeEngine& make_engine;
  const MakeClock& make_clock;
  const PolicyRegistry& policies;
  const std::vector<std::string>& scripts;  // texts of policies that people bring
};

// The server dies once, at its n-th commit, counted from 1. `effects`: frames sent by
// then, for CrashPoint::between_effects.
struct PlannedCrash {
  std::uint64_t commit = 1;
  CrashPoint point = CrashPoint::before_commit;
  std::uint64_t effects = 0;
};

struct FaultOptions {
  std::uint64_t seed = 1;
  Duration faults_for = std::chrono::minutes{10};
  Duration calm_for_max = std::chrono::hours{6};  // by then everything is over
  bool misfortunes = true;                        // false: only the network is bad
  bool disks_fill = true;
  std::optional<PlannedCrash> crash;
  std::optional<int> jobs;  // that people submit; else as many as chance wants
  // Called with one line for each thing that happens, and its time since the beginning.
  std::function<void(Duration since, std::string_view line)> story;
};

struct FaultReport {
  std::vector<std::string> faults;
  std::uint64_t digest = 0;
  Happened happened;
  std::uint64_t commits = 0;
  std::size_t jobs = 0;
  Duration took{};
};

}  // namespace paceline::faults
