// What every policy promises, on worlds that chance makes up. A world that breaks a promise is
// written to build/failing-worlds/POLICY-SEED.txt in the language of scenarios. Alone it is
// replayed with
//   PACELINE_WORLD=SEED build/dev/tests/paceline_worlds_test --gtest_filter='*/POLICY'
// and a long search is
//   PACELINE_WORLDS=100000 build/release/tests/paceline_worlds_test
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>

#include "policy/registry.hpp"
#include "support/numbers.hpp"
#include "worlds/promises.hpp"
#include "worlds/random_world.hpp"

namespace paceline::testing {
namespace {

constexpr int kLinesMax = 40;
constexpr std::array<const char*, 3> kReclaimAfters{"0s", "1m", "10m"};
constexpr std::uint64_t kDrainedEvery = 4;  // every so many worlds are played to their end
constexpr std::uint64_t kFloodedEvery =
    16;  // and of these every so many behind a stream of arrivals
constexpr int kSettleRoundsMax = 1000;
constexpr int kArrivalsMax = 1'000;  // of the stream: it never ends as far as jobs can see

// One world from its cluster on, with every line that made it.
class Life {
 public:
  Life(const PolicyInfo& info, std::uint64_t seed)
      : seed_(seed), chance_(seed), info_(info), policy_line_(chance_.policy(info.name)) {}

  // What was broken first; nothing if all went well.
  std::vector<std::string> live() {
    try {
      run(chance_.cluster());
      run(policy_line_);
      run(std::string("reclaim-after ") + kReclaimAfters[seed_ % kReclaimAfters.size()]);
      for (int i = 0; i < kLinesMax && promises_.broken().empty(); ++i)
        run(chance_.next(script_.world()));
      if (promises_.broken().empty() && seed_ % kFloodedEvery == 0) play_in_a_stream();
      if (promises_.broken().empty() && seed_ % kDrainedEvery == 0) play_to_the_end();
    } catch (const std::exception& wrong) {
      return {wrong.what()};
    }
    return promises_.broken().empty() ? broken_ : promises_.broken();
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("# A world of {} in which a promise is broken\n{}", info_.name, lines_);
  }
  [[nodiscard]] std::size_t jobs() const { return script_.world().state().jobs().size(); }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  void run(const std::string& line) {
    lines_ += line + "\n";
    if (line != "round") return void(script_.run(line));
    ++rounds_;
    promises_.before_round();
    promises_.after_round(script_.run(line));
  }

  // Rounds, each heard out, until nothing changes: the promises see every one.
  void calm() {
    for (int i = 0; i < kSettleRoundsMax && promises_.broken().empty(); ++i) {
      const auto before = script_.world().state().seq();
      for (const char* line : {"round", "obey"}) run(line);
      if (script_.world().state().seq() == before) return;
    }
    if (promises_.broken().empty()) broken_.push_back("the world does not come to rest");
  }

  // From here on nodes are up, every 10 minutes a small job comes and the job that runs for longest
  // ends. Whoever waits by then and is no less urgent than those who come, runs some day.
  void play_in_a_stream() {
    for (const Node& node : script_.world().state().nodes()) {
      if (!node.up) run("up " + node.spec.name);
    }
    resume_everybody();
    std::vector<JobId> wait;
    for (const auto& key : script_.world().state().waiting()) wait.push_back(key.job);
    for (int i = 0; i < kArrivalsMax && !wait.empty() && promises_.broken().empty(); ++i) {
      run("submit 1 priority=1");
      for (const char* line : {"round", "advance 10m"}) run(line);
      calm();
      end_the_oldest();
      std::erase_if(wait, [&](JobId id) { return script_.world().job(id).started_at.has_value(); });
    }
    if (!wait.empty() && promises_.broken().empty())
      broken_.push_back(fmt::format("job {} waits while others come and go", wait.front().value));
    for (const Job& job : script_.world().state().jobs()) {
      if (!is_over(job.state)) run(fmt::format("cancel {}", job.id.value));
    }
    calm();
  }

  void end_the_oldest() {
    const State& state = script_.world().state();
    const Job* oldest = nullptr;
    for (const auto& key : state.active()) {
      const Job& job = state.job(key.job);
      if (job.state != JobState::running) continue;
      if (oldest == nullptr || job.current->started_at < oldest->current->started_at) oldest = &job;
    }
    if (oldest != nullptr) run(fmt::format("ended {}", oldest->id.value));
  }

  // From here on nobody comes, nodes return, and after every rest one job ends. A job whose smallest
  // size fits the empty cluster (admission lets no other in) then runs after as many ends as there
  // are other jobs, at most; under a policy whose line is kept, as there are before it.
  void play_to_the_end() {
    for (const Node& node : script_.world().state().nodes()) {
      if (!node.up) run("up " + node.spec.name);
    }
    auto left = script_.world().state().queue().size();
    for (std::int64_t ends = 0; left > 0 && promises_.broken().empty() && broken_.empty(); --left) {
      resume_everybody();
      calm();
      resume_everybody();  // also who was on its way out of a gang that was paused
      run("advance 10m");
      calm();
      run("round");
      if (ends == 0) count_jobs_before();
      check_bound(ends);
      ends += end_one() ? 1 : 0;
    }
    if (!script_.world().state().queue().empty() && broken_.empty())
      broken_.push_back("a job is left when every other one has ended");
  }

  void resume_everybody() {
    for (const Job& job : script_.world().state().jobs()) {
      if (job.held || job.state == JobState::paused) run(fmt::format("resume {}", job.id.value));
    }
  }

  // Of the jobs that stand in line by then. A job that waits for another is before those behind it.
  void count_jobs_before() {
    const State& state = script_.world().state();
    auto before = static_cast<std::int64_t>(state.active().size());
    for (const auto& key : state.queue()) {
      if (state.active().contains(key)) continue;
      if (state.waiting().contains(key)) before_[key.job] = before;
      ++before;
    }
  }

  void check_bound(std::int64_t ends) {
    const bool line_is_kept =
        info_.name == "round-robin" || policy_line_.find("backfill=none") != std::string::npos;
    if (!line_is_kept) return;
    for (const auto& key : script_.world().state().waiting()) {
      if (!before_.contains(key.job) || ends < before_[key.job]) continue;
      broken_.push_back(fmt::format("job {} waits after {} ends", key.job.value, ends));
    }
  }

  // The first that runs. Somebody must: whoever waits would fit on the empty cluster.
  bool end_one() {
    const State& state = script_.world().state();
    for (const auto& key : state.active()) {
      if (state.job(key.job).state != JobState::running) continue;
      run(fmt::format("ended {}", key.job.value));
      return true;
    }
    if (!state.waiting().empty()) broken_.push_back("nobody runs and somebody waits");
    return false;
  }

  std::uint64_t seed_;
  RandomWorld chance_;
  const PolicyInfo& info_;
  std::string policy_line_;
  Script script_;
  Promises promises_{script_, what_to_expect(info_, policy_line_)};
  std::string lines_;
  std::map<JobId, std::int64_t> before_;
  std::vector<std::string> broken_;
  std::uint64_t rounds_ = 0;
};

std::filesystem::path write(const Life& life, const std::string& name) {
  const std::filesystem::path folder = "build/failing-worlds";
  std::filesystem::create_directories(folder);
  const auto file = folder / (name + ".txt");
  std::ofstream(file) << life.text();
  return file;
}

class Worlds : public ::testing::TestWithParam<std::string> {};

TEST_P(Worlds, KeepEveryPromise) {
  const PolicyRegistry registry;
  const PolicyInfo& info = **registry.find(GetParam());
  const std::uint64_t alone = testing::number_from("PACELINE_WORLD", 0);
  const std::uint64_t first = alone > 0 ? alone : 1;
  const std::uint64_t last = alone > 0 ? alone : testing::number_from("PACELINE_WORLDS", 1000);
  std::uint64_t jobs = 0, rounds = 0, broken = 0;
  for (std::uint64_t seed = first; seed <= last && broken < 10; ++seed) {
    Life life(info, seed);
    const auto found = life.live();
    jobs += life.jobs();
    rounds += life.rounds();
    if (found.empty()) continue;
    ++broken;
    const auto file = write(life, fmt::format("{}-{}", info.name, seed));
    ADD_FAILURE() << "seed " << seed << ": " << found.front() << "\nthe world is in "
                  << file.string();
  }
  fmt::print("{}: seeds {} to {}, {} jobs, {} rounds\n", info.name, first, last, jobs, rounds);
  EXPECT_GT(rounds, last - first) << "worthless if nothing happened";
}

std::vector<std::string> policies() {
  std::vector<std::string> names;
  const PolicyRegistry registry;
  for (const PolicyInfo& info : registry.all()) names.emplace_back(info.name);
  return names;
}

std::string policy_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Random, Worlds, ::testing::ValuesIn(policies()), policy_name);

}  // namespace
}  // namespace paceline::testing
