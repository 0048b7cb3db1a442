#include "faults/world_habits.hpp"

#include <array>

#include "faults/ledger.hpp"
#include "scheduler/admission.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHearOut = 5s;
constexpr Duration kLeaseLeast = 20s, kLeaseMore = 2min;
constexpr double kTwins = 0.2;
constexpr double kJoining = 0.8, kCopies = 0.4, kPilots = 0.5;
constexpr Duration kPilotLimitMin = 4min, kPilotLimitMore = 6min;
constexpr Duration kIdleMin = 20s, kIdleMore = 2min;
constexpr Duration kLifetimeMin = 2min, kLifetimeMore = 10min;
constexpr Duration kSendingMax = 1min;  // of a checkpoint to the server
constexpr double kCopiesSent = 0.7;     // worlds whose machines do it
constexpr double kPortsTold = 0.7;      // worlds whose machines tell of few ports
constexpr std::uint32_t kBlocksMin = 14, kUnevenBlocks = 2;
// Where machines join: wherever two blocks are taken for good, the widest gang has a run beside them.
constexpr std::uint32_t kBlocksMinJoining = 26;
constexpr std::array kShadowWork = {1, 1, 4, 20};

struct ArrivalPace {
  int jobs;
  Duration every;
};
constexpr std::array kPaces = {ArrivalPace{30, 20s}, ArrivalPace{50, 8s}, ArrivalPace{80, 2s}};

void keep_all_points(Limits& limits) {
  limits.points_per_second = limits.points_per_second_per_user = 100'000;
}

void draw_bounds(WorldHabits& world, Rng& rng) {
  static constexpr std::array<std::size_t, 5> kBounds = {1, 3, 20, 200, 10'000};
  world.engine.news_max = kBounds[rng.below(kBounds.size())];
  world.unstored_max = kBounds[rng.below(kBounds.size())];
  if (rng.chance(0.3)) world.lease = kLeaseLeast + Duration{rng.between(0, kLeaseMore.count())};
  if (!rng.chance(0.3)) return;
  Limits& limits = world.server.limits.emplace();
  limits.waiting_jobs_per_user = static_cast<std::uint64_t>(rng.between(1, 10));
  keep_all_points(limits);
}

void draw_more_bounds(WorldHabits& world, Rng& rng) {
  static constexpr std::array<std::uint64_t, 4> kCheckpointEntries = {1, 7, 100, 10'000};
  world.server.checkpoint_entries = kCheckpointEntries[rng.below(kCheckpointEntries.size())];
  if (!world.server.limits) return;
  Limits& limits = *world.server.limits;
  if (rng.chance(0.5)) {
    limits.points_per_second = 1 + rng.below(3);
    limits.points_per_second_per_user = 1 + rng.below(6);
    world.passes_over = true;
  }
  if (rng.chance(0.5))
    limits.launches_per_user = bytes_of(launch_of("job-00")) * (3 + rng.below(20));
}

// A server without limits forgets nothing.
void draw_forgetting(WorldHabits& world, Rng rng) {
  if (!world.server.limits && rng.chance(0.5)) keep_all_points(world.server.limits.emplace());
  if (!world.server.limits) return;
  Limits& limits = *world.server.limits;
  static constexpr std::array<std::uint64_t, 4> kJobs = {1, 3, 10, 10'000};
  static constexpr std::array<std::uint64_t, 4> kSeconds = {1, 20, 300, 7 * 24 * 3'600};
  limits.ended_jobs = kJobs[rng.below(kJobs.size())];
  limits.ended_jobs_age = kSeconds[rng.below(kSeconds.size())];
  static constexpr std::array<std::uint64_t, 3> kJournalEntries = {1, 20, 100'000};
  limits.journal_entries = kJournalEntries[rng.below(kJournalEntries.size())];
  if (!rng.chance(0.5)) return;
  static constexpr std::array<std::int64_t, 3> kKeepSeconds = {1, 30, 600};
  world.server.keep = std::chrono::seconds{kKeepSeconds[rng.below(kKeepSeconds.size())]};
  world.log_mischance = Rng(rng.next());
}

void draw_retiring(WorldHabits& world, Rng rng) {
  if (!world.server.limits) return;
  static constexpr std::array<std::uint64_t, 4> kSeconds = {1, 5, 30, 7 * 24 * 3'600};
  world.server.limits->absent_nodes_age = kSeconds[rng.below(kSeconds.size())];
  static constexpr std::array<std::uint64_t, 3> kOwners = {0, 1, 3};
  world.server.limits->failing_owners = kOwners[rng.below(kOwners.size())];
  static constexpr std::array<std::uint64_t, 3> kWaits = {2, 20, 600};
  world.server.limits->newcomers_wait = kWaits[rng.below(kWaits.size())];
  world.server.limits->replacements_wait = kWaits[rng.below(kWaits.size())];
}

void draw_spacing(WorldHabits& world, Rng rng) {
  if (!world.server.limits) return;
  static constexpr std::array<std::uint64_t, 4> kSeconds = {0, 1, 5, 60};
  world.server.limits->progress_interval = kSeconds[rng.below(kSeconds.size())];
}

void draw_ports_told(WorldHabits& world, Rng rng) {
  if (rng.chance(kPortsTold)) world.ports = Rng(rng.next());
}

// Short, as the jobs are.
void draw_patience(WorldHabits& world, Rng rng) {
  static constexpr std::array kPatience = {"", "", "10s", "1m", "4m", "off"};
  world.patience = kPatience[rng.below(kPatience.size())];
}

void draw_pilots(JoiningHabits& joining, Duration lease) {
  PilotHabits pilots{Rng(joining.rng.next()), {}, 1};
  Rng& rng = pilots.rng;
  if (!rng.chance(kPilots)) return;
  const auto nodes_max = static_cast<std::uint32_t>(rng.between(1, 3));
  pilots.hosts = nodes_max + static_cast<std::uint32_t>(rng.below(2));
  pilots.settings = {.nodes_max = nodes_max,
                     .time = kPilotLimitMin + Duration{rng.between(0, kPilotLimitMore.count())},
                     .cpus = static_cast<std::uint32_t>(rng.between(2, 4)),
                     .idle = kIdleMin + Duration{rng.between(0, kIdleMore.count())},
                     .lease = lease,
                     .look_every = std::chrono::seconds{rng.between(1, 15)}};
  joining.pilots = pilots;
}

void draw_copies(JoiningHabits& joining, Rng rng) {
  if (!rng.chance(kCopiesSent)) return;
  CopyHabits copies{Rng(rng.next())};
  static constexpr std::array<double, 3> kMachines = {0.5, 1, 1};
  copies.machines = kMachines[rng.below(kMachines.size())];
  copies.sender.takes = Duration{rng.between(0, kSendingMax.count())};
  copies.sender.shared = rng.chance(0.1);
  static constexpr std::array<double, 3> kUnkept = {0, 0.1, 0.7};
  copies.sender.unkept = kUnkept[rng.below(kUnkept.size())];
  joining.copies = copies;
}

void draw_joining(WorldHabits& world, Rng rng) {
  if (!rng.chance(kJoining)) return;
  JoiningHabits joining{Rng(rng.next())};
  joining.own_machine = rng.chance(0.5);
  joining.copy = rng.chance(kCopies);
  joining.more = rng.below(3);
  if (joining.own_machine && world.machines + joining.more == 1) joining.more = 1;
  joining.lifetime = kLifetimeMin + Duration{rng.between(0, kLifetimeMore.count())};
  world.twin = false;  // a name is one machine's, where machines join
  if (!world.lease) world.lease = kLeaseLeast + Duration{rng.between(0, kLeaseMore.count())};
  draw_pilots(joining, *world.lease);
  draw_copies(joining, Rng(rng.next()));
  world.joining = joining;
}

// Of a sequence of its own, as a seed's story is told by the other one.
void draw_apart(WorldHabits& world, Rng rng) {
  if (rng.chance(0.5)) world.server.unsaid_rules = {std::chrono::seconds{rng.between(1, 300)}};
  world.shadow_work_max = kShadowWork[rng.below(kShadowWork.size())];
  world.twin = rng.chance(kTwins);
  draw_more_bounds(world, rng);
}

}  // namespace

WorldHabits draw_world(const FaultOptions& options, Rng& rng) {
  WorldHabits world;
  const ArrivalPace pace = kPaces[rng.below(kPaces.size())];
  world.jobs = options.jobs.value_or(pace.jobs);
  world.every = pace.every;
  world.crash_every_commit = rng.chance(0.1) && options.misfortunes;
  world.server.hear_out = kHearOut;
  world.server.protects = rng.chance(0.7);
  world.server.placement = placers()[rng.below(placers().size())].name;
  draw_bounds(world, rng);
  world.frames_as_text = rng.chance(0.2);
  world.machines = 1 + rng.below(4);
  draw_apart(world, Rng(~options.seed));
  draw_forgetting(world, Rng(options.seed ^ 0x666f72676f74ULL));
  draw_retiring(world, Rng(options.seed ^ 0x726574697265ULL));
  draw_spacing(world, Rng(options.seed ^ 0x73706163696e67ULL));
  draw_ports_told(world, Rng(options.seed ^ 0x706f727473ULL));
  draw_patience(world, Rng(options.seed ^ 0x70617469656e6365ULL));
  if (options.seed >= kJoiningSeeds) draw_joining(world, Rng(options.seed ^ 0x6a6f696e696e67ULL));
  return world;
}

PortRange draw_ports(Rng& rng, bool joining) {
  const auto blocks = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(rng.below(most + 1)) * kPortBlock;
  };
  const std::uint32_t least = joining ? kBlocksMinJoining : kBlocksMin;
  const std::uint32_t first = kUsualPorts.first + blocks(kUnevenBlocks);
  return {first, kUsualPorts.first + least * kPortBlock + blocks(kUnevenBlocks)};
}

}  // namespace paceline::faults
