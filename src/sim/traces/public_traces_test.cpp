// The public traces themselves, where PACELINE_TRACES names a folder with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "sim/traces/read_trace.hpp"

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;

class PublicTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PACELINE_TRACES");
    if (folder == nullptr) GTEST_SKIP() << "PACELINE_TRACES names no folder with public traces";
    folder_ = folder;
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  bool there(const std::string& name) const { return std::filesystem::exists(path(name)); }

  static Trace read(const std::string& path) {
    auto trace = read_trace(path, {});
    if (!trace) ADD_FAILURE() << trace.error().message;
    return trace ? std::move(*trace) : Trace{};
  }

  std::filesystem::path folder_;
};

TEST_F(PublicTraces, Philly) {
  if (!there("philly/philly.csv.xz")) GTEST_SKIP() << "no philly/philly.csv.xz";
  const Trace trace = read(path("philly/philly.csv.xz"));
  EXPECT_EQ(trace.format, "philly");
  EXPECT_EQ(trace.jobs.size(), 82'247U);
  EXPECT_EQ(trace.no_slots + trace.no_duration + trace.bad_lines, 0U);
  std::int64_t slot_seconds = 0;
  for (const TraceJob& job : trace.jobs) slot_seconds += job.slots * (job.duration / 1s);
  EXPECT_EQ(slot_seconds / 3600, 978'078);
  const auto [first, last] = std::minmax_element(
      trace.jobs.begin(), trace.jobs.end(),
      [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  EXPECT_EQ(first->submitted, Time(1504521041s)) << "2017-09-04 10:30:41";
  EXPECT_EQ(last->submitted, Time(1513929731s)) << "2017-12-22 08:02:11";
}

TEST_F(PublicTraces, Itp) {
  constexpr std::array<std::size_t, 5> kJobs = {1'595, 5'778, 3'011, 15'802, 3'629};
  for (std::size_t i = 0; i < kJobs.size(); ++i) {
    const std::string name = "itp/cluster0" + std::to_string(i + 1) + ".csv.xz";
    if (!there(name)) GTEST_SKIP() << "no " << name;
    const Trace trace = read(path(name));
    EXPECT_EQ(trace.format, "itp");
    EXPECT_EQ(trace.jobs.size(), kJobs[i]) << name;
    EXPECT_EQ(trace.no_slots + trace.no_duration + trace.bad_lines, 0U);
  }
}

TEST_F(PublicTraces, Pollux) {
  if (!there("pollux/workloads")) GTEST_SKIP() << "no pollux/workloads";
  for (const auto& entry : std::filesystem::directory_iterator(path("pollux/workloads"))) {
    const Trace trace = read(entry.path());
    EXPECT_EQ(trace.format, "pollux");
    EXPECT_EQ(trace.jobs.size(), 160U) << entry.path();
    EXPECT_FALSE(trace.has_durations);
    for (const TraceJob& job : trace.jobs) {
      EXPECT_GT(job.batch_size, 0);
      EXPECT_FALSE(job.application.empty());
    }
  }
}

}  // namespace
}  // namespace paceline::sim
