// What a trial costs the live side: two servers with the same cluster live through the same rounds,
// turn by turn, one of them with a candidate in its shadow that works on a thread of its own, as in
// the program. Before each round a job ends and another comes. Times are the live thread's processor
// time, durable writes included, so that whoever shares the machine changes them little.
// $PACELINE_BENCH_ROUNDS: how many (300).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/background.hpp"
#include "base/rng.hpp"
#include "clock/manual/manual_clock.hpp"
#include "disk.hpp"
#include "engine/obedient_testing.hpp"
#include "gpu_node.hpp"
#include "scheduler/controller.hpp"

namespace {

using namespace paceline;

constexpr std::int64_t kSlots = 10'000;
constexpr std::int64_t kJobs = 10'000;  // run, and as many wait
constexpr int kBeginnings = 5;

double live_milliseconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return 1e3 * static_cast<double>(spent.tv_sec) + 1e-6 * static_cast<double>(spent.tv_nsec);
}

template <class Deed>
double timed(Deed deed) {
  const double began = live_milliseconds();
  deed();
  return live_milliseconds() - began;
}

class Server {
 public:
  explicit Server(const std::string& policy) {
    Controller::Options options;
    options.policy = policy;
    options.coalesce = {};
    options.read_beside = [file = disk_.database()] {
      return SqliteStore::open_to_read(file).and_then([](auto read) { return read->load(); });
    };
    controller_.emplace(disk_.store(), engine_, clock_, policies_, options);
    (void)controller_->recover();
    for (std::int64_t i = 0; i < kSlots / kSlotsPerNode; ++i) engine_.tell(gpu_node(i));
    for (std::int64_t i = 0; i < kJobs; ++i) submit();
    run_until_quiet();
    for (std::int64_t i = 0; i < kJobs; ++i) submit();
    run_until_quiet();
  }

  void work_in_background() {
    background_.emplace([this] { return controller_->shadow().work(); });
    controller_->shadow().on_work([this] { background_->wake(); });
  }

  void try_policy(const std::string& name) {
    controller_->desk().try_out({name, {}}, {}, [](const Result<void>&) {});
    run_until_quiet();
  }

  // One job ends and one comes. The live thread's milliseconds for the round and what follows.
  double turn() {
    clock_.advance(std::chrono::seconds{1});
    const JobId job = controller_->state().active().begin()->job;
    engine_.tell(WorkerEnded{{job, controller_->state().job(job).current->generation, 0},
                             {Cause::exited, 0, 0, {}, clock_.now()}});
    submit();
    return timed([&] { run_until_quiet(); });
  }

  [[nodiscard]] ShadowReport report() { return *controller_->shadow().report(); }

 private:
  void submit() {
    Submission submission;
    submission.spec.name = "train";
    submission.spec.user = fmt::format("user-{}", rng_.below(50));
    submission.spec.workers = {1, 1, 1};
    submission.spec.elastic = Elastic::restart;
    submission.spec.expected_duration = std::chrono::seconds{rng_.between(60, 100'000)};
    submission.launch.command = {"train"};
    submission.launch.directory = "/";
    controller_->submit(std::move(submission), [](const Result<JobId>&) {});
  }

  void run_until_quiet() {
    do {
      (void)controller_->step();
    } while (!engine_.quiet());
  }

  Disk disk_;
  testing::ObedientEngine engine_;
  ManualClock clock_{time_from_us(1'000'000'000)};
  PolicyRegistry policies_;
  Rng rng_{1};
  std::optional<Controller> controller_;
  std::optional<Background> background_;
};

double p99(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * 99 / 100];
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::int64_t rounds() {
  const char* wanted = std::getenv("PACELINE_BENCH_ROUNDS");
  return wanted == nullptr ? 300 : std::max(1L, std::strtol(wanted, nullptr, 10));
}

void shadow_live_round(benchmark::State& bench, const std::string& live,
                       const std::string& candidate) {
  Server alone(live), tried(live);
  tried.work_in_background();
  std::vector<double> begin_ms;
  begin_ms.reserve(kBeginnings);
  for (int i = 0; i < kBeginnings; ++i)
    begin_ms.push_back(timed([&] { tried.try_policy(candidate); }));
  std::vector<double> alone_ms, trial_ms;
  for (auto _ : bench) {
    alone_ms.push_back(alone.turn());
    trial_ms.push_back(tried.turn());
    bench.SetIterationTime(1e-3 * trial_ms.back());
  }
  const auto report = tried.report();
  bench.counters["begin_max_ms"] = *std::max_element(begin_ms.begin(), begin_ms.end());
  bench.counters["alone_p99_ms"] = p99(alone_ms);
  bench.counters["p99_ms"] = p99(trial_ms);
  bench.counters["ratio"] = sum(trial_ms) / sum(alone_ms);
  bench.counters["extra_us"] =
      1e3 * (sum(trial_ms) - sum(alone_ms)) / static_cast<double>(trial_ms.size());
  bench.counters["compared"] = static_cast<double>(report.rounds);
  bench.counters["skipped"] = static_cast<double>(report.skipped);
}

void add(const std::string& live, const std::string& candidate) {
  benchmark::RegisterBenchmark(
      fmt::format("shadow_live_round/{}_tries_{}", live, candidate).c_str(),
      [=](benchmark::State& bench) { shadow_live_round(bench, live, candidate); })
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(rounds());
}

const bool kAdded = [] {
  add("fifo", "srtf");
  add("srtf", "las");
  return true;
}();

}  // namespace
