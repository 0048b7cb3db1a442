#include "placement/placers.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/nearest.hpp"
#include "placement/any.hpp"
#include "placement/pack.hpp"
#include "placement/spread.hpp"

namespace paceline {
namespace {

template <class P>
std::unique_ptr<Placer> make() {
  return std::make_unique<P>();
}

constexpr std::array kPlacers = {
    PlacerInfo{"pack", "As few nodes as possible, the nearest links, the tightest fit.",
               make<PackPlacer>},
    PlacerInfo{"spread", "As few workers of a job on each node as possible, evenly.",
               make<SpreadPlacer>},
    PlacerInfo{
        "any",
        "The first free slots serve, unless a job asks for a place; links are not looked at.",
        make<AnyPlacer>},
};

}  // namespace

std::span<const PlacerInfo> placers() { return kPlacers; }

Result<std::unique_ptr<Placer>> make_placer(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PlacerInfo& info : kPlacers) {
    if (info.name == name) return info.make();
    names.push_back(info.name);
  }
  const auto near = nearest(name, names);
  return fail(ErrorCode::not_found, fmt::format("There is no placement '{}'.", name),
              near ? fmt::format("Did you mean '{}'?", *near) : "Choose pack, spread or any.");
}

}  // namespace paceline
