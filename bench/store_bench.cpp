// The SQLite store: durable submissions by batch size, checkpoints, and what a restart reads.
#include <benchmark/benchmark.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "disk.hpp"
#include "store/history_testing.hpp"

namespace {

using namespace paceline;

// `count` submissions as the controller batches them: entry, launch and key.
Batch submissions(History& history, std::int64_t count) {
  Batch batch;
  for (std::int64_t i = 0; i < count; ++i) {
    batch.entries.push_back(history.submit());
    const auto job = std::get<JobSubmitted>(std::get<Event>(batch.entries.back().body)).job;
    batch.launches.emplace_back(job, some_launch(1, job.value));
    batch.keys.push_back(
        {1000, std::to_string(job.value) + "-0123456789abcdef", job, batch.entries.back().at});
  }
  return batch;
}

std::vector<JobId> first_jobs(std::int64_t count) {
  std::vector<JobId> jobs;
  for (std::int64_t i = 1; i <= count; ++i) jobs.emplace_back(static_cast<std::uint32_t>(i));
  return jobs;
}

void store_append(benchmark::State& bench) {
  Disk disk;
  History history(1);
  for (auto _ : bench) {
    bench.PauseTiming();
    const auto batch = submissions(history, bench.range(0));
    bench.ResumeTiming();
    if (!disk.store().append(batch)) bench.SkipWithError("append failed");
  }
  bench.counters["per_submission"] =
      benchmark::Counter(static_cast<double>(bench.iterations() * bench.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(store_append)
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void store_checkpoint(benchmark::State& bench) {
  Disk disk;
  History history(1);
  benchmark::DoNotOptimize(disk.store().append(submissions(history, 10'000)));
  benchmark::DoNotOptimize(disk.store().checkpoint(history.state(), first_jobs(10'000)));
  const auto changed = first_jobs(bench.range(0));
  for (auto _ : bench) {
    if (!disk.store().checkpoint(history.state(), changed))
      bench.SkipWithError("checkpoint failed");
  }
}
BENCHMARK(store_checkpoint)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// A checkpoint of 10,000 jobs, and 5,000 entries after it.
void store_restart(benchmark::State& bench) {
  Disk disk;
  History history(1);
  while (history.state().jobs().size() < 10'000) {
    Batch batch;
    for (int i = 0; i < 1000; ++i) batch.entries.push_back(history.next());
    benchmark::DoNotOptimize(disk.store().append(batch));
  }
  const auto jobs = static_cast<std::int64_t>(history.state().jobs().size());
  benchmark::DoNotOptimize(disk.store().checkpoint(history.state(), first_jobs(jobs)));
  Batch tail;
  for (int i = 0; i < 5'000; ++i) tail.entries.push_back(history.next());
  benchmark::DoNotOptimize(disk.store().append(tail));
  for (auto _ : bench) {
    disk.open();
    const auto state = disk.store().load();
    if (!state || state->seq() != history.state().seq()) bench.SkipWithError("load failed");
  }
  bench.counters["jobs"] = static_cast<double>(jobs);
}
BENCHMARK(store_restart)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
