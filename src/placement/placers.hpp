// Every placer there is, by name. A cluster has one; where jobs may stand at all is the jobs' own
// word (plan/constraints.hpp).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "plan/draft.hpp"

namespace paceline {

struct PlacerInfo {
  std::string_view name;
  std::string_view summary;  // one sentence
  std::unique_ptr<Placer> (*make)();
};

inline constexpr std::string_view kDefaultPlacer = "pack";

std::span<const PlacerInfo> placers();
// Errors: not_found, naming the nearest known one.
Result<std::unique_ptr<Placer>> make_placer(std::string_view name);

}  // namespace paceline
