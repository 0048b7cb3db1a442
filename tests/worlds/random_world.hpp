// Worlds that chance makes up, as lines of the language of scenarios (scenario/script.hpp): what
// people, workers, nodes and time might do next in the world as it is.
//
//   RandomWorld chance(7);
//   script.run(chance.cluster());
//   while (…) script.run(chance.next(script.world()));
//
// Small on purpose: one to six nodes and at most kJobsMax jobs meet more edges than large ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "support/world.hpp"

namespace paceline::testing {

class RandomWorld {
 public:
  static constexpr std::size_t kJobsMax = 9;

  explicit RandomWorld(std::uint64_t seed) : rng_(seed) {}

  [[nodiscard]] std::string cluster();
  // With small thresholds, so that queues, limits and weights matter in a short life.
  [[nodiscard]] std::string policy(std::string_view name);
  [[nodiscard]] std::string next(const World& world);

 private:
  using Words = std::vector<std::string_view>;

  std::string submit(const World& world);
  std::string range(std::int64_t step);
  std::string of_a_job(const World& world);
  std::string of_a_running_job(const World& world);
  std::string of_a_node(const World& world);
  std::string_view one_of(const Words& words);
  bool often() { return rng_.chance(0.5); }
  bool seldom() { return rng_.chance(0.12); }

  Rng rng_;
};

}  // namespace paceline::testing
