// Many short jobs through one server: they start at once, end at once, and are forgotten. What counts
// is what stays: memory, a restart, and how long it takes to find one of them, however many there were;
// and how long a round may have to wait for a piece of what moves the journal into segments.
// $PACELINE_BENCH_JOBS: how many (20,000).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clock/manual/manual_clock.hpp"
#include "disk.hpp"
#include "engine/obedient_testing.hpp"
#include "gpu_node.hpp"
#include "scheduler/controller.hpp"

namespace {

using namespace paceline;

constexpr std::int64_t kNodes = 16;
constexpr std::uint32_t kAtOnce = 100;  // submitted in one batch
constexpr int kLooks = 1'000;
constexpr std::uint64_t kEntriesKept = 1'000;

using Steady = std::chrono::steady_clock;

template <class Deed>
double milliseconds(Deed deed) {
  const auto began = Steady::now();
  deed();
  return std::chrono::duration<double, std::milli>(Steady::now() - began).count();
}

// Of this process, in MB.
double resident() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, held = 0;
  file >> pages >> held;
  return held * 4096 / 1e6;
}

class ShortServer {
 public:
  ShortServer() {
    start();
    for (std::int64_t i = 0; i < kNodes; ++i) engine_->tell(gpu_node(i));
    run_until_quiet();
  }

  void run(std::uint32_t jobs) {
    for (std::uint32_t i = 0; i < jobs; ++i) submit(i);
    run_until_quiet();
    std::vector<ProcessKey> workers;
    for (const auto& key : state().active())
      workers.push_back(state().job(key.job).current->process(key.job, 0));
    clock_.advance(std::chrono::seconds{1});
    for (const ProcessKey& worker : workers)
      engine_->tell(WorkerEnded{worker, {Cause::exited, 0, 0, {}, clock_.now()}});
    run_until_quiet();
  }

  // As after a kill: the newest checkpoint and the journal after it.
  void restart() {
    controller_.reset();
    disk_.open();
    start();
  }

  // Moves what no restart needs into segments. How long nearly all of its pieces took, in ms.
  double tidy() {
    (void)controller_->checkpoint();
    std::vector<double> pieces;
    for (bool more = true; more;)
      pieces.push_back(milliseconds([&] {
        more = disk_.store().tidy({kEntriesKept, std::nullopt}).value_or(false);
      }));
    std::ranges::sort(pieces);
    return pieces[pieces.size() * 99 / 100];
  }

  [[nodiscard]] const State& state() const { return controller_->state(); }
  Disk& disk() { return disk_; }

 private:
  void start() {
    Controller::Options options;
    options.policy = "fifo";
    options.coalesce = {};
    options.limits.emplace();
    engine_.emplace();
    controller_.emplace(disk_.store(), *engine_, clock_, policies_, options);
    (void)controller_->recover();
  }

  void submit(std::uint32_t number) {
    Submission submission;
    submission.spec.name = "short";
    submission.spec.user = fmt::format("user-{}", number % 50);
    submission.launch.command = {"echo", "hello"};
    submission.launch.directory = "/";
    controller_->submit(std::move(submission), [](const Result<JobId>&) {});
  }

  void run_until_quiet() {
    do {
      (void)controller_->step();
    } while (!engine_->quiet());
  }

  Disk disk_;
  std::optional<paceline::testing::ObedientEngine> engine_;
  ManualClock clock_{time_from_us(1'000'000'000)};
  PolicyRegistry policies_;
  std::optional<Controller> controller_;
};

std::uint32_t jobs_wanted() {
  const char* wanted = std::getenv("PACELINE_BENCH_JOBS");
  return wanted == nullptr ? 20'000 : static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
}

void forgetting(benchmark::State& bench) {
  for (auto _ : bench) {
    const double before = resident();
    ShortServer server;
    const std::uint32_t jobs = jobs_wanted();
    double most = 0;
    for (std::uint32_t ran = 0; ran < jobs; ran += kAtOnce) {
      server.run(kAtOnce);
      most = std::max(most, resident());
    }
    std::vector<double> looks;
    for (int i = 0; i < kLooks; ++i) {
      const JobId id{1 + static_cast<std::uint32_t>(i) * 7'919U % jobs};
      looks.push_back(milliseconds([&] {
        if (!server.state().find_job(id))
          benchmark::DoNotOptimize(server.disk().store().forgotten(id, 1));
      }));
    }
    std::ranges::sort(looks);
    bench.counters["resident_mb"] = most - before;
    bench.counters["in_memory"] = static_cast<double>(server.state().jobs().size());
    bench.counters["find_p99_ms"] = looks[kLooks * 99 / 100];
    bench.counters["page_ms"] = milliseconds(
        [&] { benchmark::DoNotOptimize(server.disk().store().forgotten(JobId{1}, 250)); });
    bench.counters["bytes_per_job"] =
        static_cast<double>(std::filesystem::file_size(server.disk().database())) / jobs;
    bench.counters["piece_p99_ms"] = server.tidy();
    bench.counters["segment_bytes_per_job"] =
        static_cast<double>(server.disk().store().segments().bytes()) / jobs;
    bench.counters["restart_s"] = 1e-3 * milliseconds([&] { server.restart(); });
    bench.counters["jobs_after"] = server.state().jobs().given();
  }
}

BENCHMARK(forgetting)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
