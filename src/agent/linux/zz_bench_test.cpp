#include <gtest/gtest.h>
#include <sys/resource.h>
#include <chrono>
#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
namespace paceline::agent {
static double ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
static double cpu() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return 1e3 * double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-3 * double(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
TEST(ZBench, Throughput) {
  TempDirectory d;
  TestHost h(d.path());
  h->claims();
  double c0 = cpu();
  double t0 = ms();
  int n = 500, live = 0, started = 0, gone = 0;
  double perf = 0;
  while (gone < n) {
    while (live < 4 && started < n) {
      auto l = shell_worker(key(1 + unsigned(started)), "");
      l.launch.command = {"/bin/true"};
      double a = ms();
      h.start(l);
      perf += ms() - a;
      ++started;
      ++live;
    }
    h.turn();
    int g = (int)h.seen<WorkerGone>().size();
    live -= g - gone;
    for (auto& c : h->claims())
      if (c.gone) h->perform(Discard{c.key});
    gone = g;
  }
  double t = ms() - t0;
  printf("%d jobs %.0f ms: %.0f/s; perform %.3f ms each; agent cpu %.0f ms\n", n, t, n * 1000 / t,
         perf / n, cpu() - c0);
}
TEST(ZBench, Latency) {
  TempDirectory d;
  TestHost h(d.path());
  h->claims();
  std::vector<double> v;
  for (int i = 0; i < 50; i++) {
    auto l = shell_worker(key(1 + unsigned(i)), "exec sleep 1000");
    double a = ms();
    h.start(l);
    size_t n = h.seen<WorkerRuns>().size();
    while (h.seen<WorkerRuns>().size() == n) h.turn();
    v.push_back(ms() - a);
  }
  std::sort(v.begin(), v.end());
  printf("start->runs p50 %.2f p90 %.2f ms\n", v[25], v[45]);
  auto p = ClaimFile::open(d / "agent/workers/9.1.0").processes();
  printf("%s\n", read_file("/proc/" + std::to_string(p.supervisor.pid) + "/smaps_rollup")->c_str());
  printf("%s\n", read_file("/proc/" + std::to_string(p.supervisor.pid) + "/status")->c_str());
}
}  // namespace paceline::agent
