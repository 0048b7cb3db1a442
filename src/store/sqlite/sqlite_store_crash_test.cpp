// Killed at any moment, a store holds whole batches and every one that was acknowledged.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "store/history_testing.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

constexpr std::uint64_t kHistorySeed = 11;
constexpr int kKills = 50;

History history_up_to(std::uint64_t seq) {
  History history(kHistorySeed);
  while (history.state().seq() < seq) history.next();
  return history;
}

std::vector<JobId> all_jobs(const State& state) {
  std::vector<JobId> jobs;
  for (const auto& job : state.jobs()) jobs.push_back(job.id);
  return jobs;
}

// Each entry comes with one point, so that half a batch would show.
void add(Batch& batch, Entry entry) {
  MetricPoint point;
  point.job = JobId{1};
  point.report = entry.seq;
  batch.points.push_back(point);
  batch.entries.push_back(std::move(entry));
}

// Goes on with the history, batch by batch, and tells each durable seq. Never returns.
[[noreturn]] void append_forever(const std::filesystem::path& dir, std::uint64_t seed,
                                 int acknowledge) {
  auto store = SqliteStore::open(dir).value();
  auto history = history_up_to(store->load().value().seq());
  for (Rng rng(seed);;) {
    Batch batch;
    for (auto count = rng.between(1, 20); count > 0; --count) add(batch, history.next());
    if (!store->append(batch)) ::_exit(2);
    const auto seq = history.state().seq();
    if (::write(acknowledge, &seq, sizeof seq) != sizeof seq) ::_exit(3);
    if (!rng.chance(0.1)) continue;
    if (!store->checkpoint(history.state(), all_jobs(history.state()))) ::_exit(4);
  }
}

// Kills a child that appends, at a random moment. Returns the last seq that it acknowledged; 0:
// none.
std::uint64_t append_until_killed(const std::filesystem::path& dir, std::uint64_t seed) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) append_forever(dir, seed, pipe[1]);
  ::close(pipe[1]);
  Rng rng(seed);
  std::uint64_t last = 0, seq = 0;
  for (auto batches = rng.below(8); batches > 0 && ::read(pipe[0], &seq, sizeof seq) == sizeof seq;
       --batches)
    last = seq;
  const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds{rng.below(3000)};
  while (std::chrono::steady_clock::now() < moment) {
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child gave up with " << status;
  while (::read(pipe[0], &seq, sizeof seq) == sizeof seq) last = seq;
  ::close(pipe[0]);
  return last;
}

TEST(SqliteStoreCrash, LosesNothingAcknowledgedAndKeepsNoHalfBatch) {
  Scratch scratch;
  std::uint64_t acknowledged = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const auto seed = static_cast<std::uint64_t>(kill) + 1;
    acknowledged = std::max(acknowledged, append_until_killed(scratch.dir(), seed));
    const auto store = SqliteStore::open(scratch.dir()).value();
    const auto state = store->load().value();
    ASSERT_GE(state.seq(), acknowledged) << "seed " << seed;
    ASSERT_EQ(state.parts(), history_up_to(state.seq()).state().parts()) << "seed " << seed;
    ASSERT_EQ(store->entries(0, 1'000'000)->size(), state.seq()) << "seed " << seed;
    ASSERT_EQ(store->points(JobId{1}, "", state.seq(), 10)->points.size(),
              state.seq() == 0 ? 0U : 1U)
        << "seed " << seed;
    ASSERT_TRUE(store->points(JobId{1}, "", state.seq() + 1, 10)->points.empty())
        << "seed " << seed;
  }
  EXPECT_GT(acknowledged, 100U);
}

}  // namespace
}  // namespace paceline
