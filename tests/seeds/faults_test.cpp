// The control plane under faults, one seed after the other. A seed that fails is replayed alone
// with
//   PACELINE_SEED=N build/dev/tests/paceline_seeds_test
// and a long search for one that does is
//   PACELINE_SEEDS=10000 build/dev/tests/paceline_seeds_test
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "engine/agents/agents_engine.hpp"
#include "sim/fault_world.hpp"
#include "store/memory/memory_store.hpp"

namespace paceline::sim {
namespace {

EngineUnderTest make_engine(Clock& clock, std::function<Result<LaunchSpec>(JobId)> launches) {
  auto engine = std::make_unique<AgentsEngine>(clock, std::move(launches), AgentsEngine::Options{});
  ServerEnd* end = engine.get();
  return {std::move(engine), end};
}

// What the program logs while it lives, without printing it.
class Log {
 public:
  Log() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(text_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("faults", sink));
  }
  ~Log() { spdlog::set_default_logger(before_); }
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

FaultReport run_seed(std::uint64_t seed) {
  const Log log;
  MemoryStore disk;
  FaultOptions options;
  options.seed = seed;
  FaultReport report = FaultWorld(options, disk, make_engine).run();
  if (log.text().find("is refused") != std::string::npos)
    report.faults.push_back("a plan was refused");
  return report;
}

std::vector<std::uint64_t> seeds() {
  if (const char* one = std::getenv("PACELINE_SEED")) return {std::strtoull(one, nullptr, 10)};
  const char* count = std::getenv("PACELINE_SEEDS");
  const std::uint64_t last = count ? std::strtoull(count, nullptr, 10) : 100;
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= last; ++seed) all.push_back(seed);
  return all;
}

// Worthless if nothing happened.
TEST(FaultSeeds, TogetherSeeEveryKindOfTroubleAndEveryEnd) {
  std::map<std::string, std::uint64_t> happened;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const auto& [what, times] : run_seed(seed).happened) happened[what] += times;
  }
  for (const char* what : {"server crash", "commit that nobody was told of", "agent crash",
                           "machine restarted", "supervisor died", "link cut", "connection broken",
                           "disk full", "clock set", "devices changed", "notice", "kill", "freeze",
                           "resize", "retry", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}) {
    EXPECT_GE(happened[what], 10U) << what;
  }
}

class Faults : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Faults, LoseNothingAndStartNothingTwice) {
  const FaultReport report = run_seed(GetParam());
  for (const auto& fault : report.faults) ADD_FAILURE() << fault;
  EXPECT_GE(report.jobs, 30U);
  EXPECT_EQ(run_seed(GetParam()).digest, report.digest) << "the same seed gives the same run";
  if (HasFailure())
    std::printf("replay: PACELINE_SEED=%lu build/dev/tests/paceline_seeds_test\n", GetParam());
}

std::string seed_name(const ::testing::TestParamInfo<std::uint64_t>& seed) {
  return std::to_string(seed.param);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Faults, ::testing::ValuesIn(seeds()), seed_name);

}  // namespace
}  // namespace paceline::sim
