// Pack: as few nodes as possible, on them the nearest links, and of those the tightest fit, which
// keeps large holes for large gangs. The default.
#pragma once

#include "placement/gang.hpp"

namespace paceline {

class PackPlacer : public GangPlacer {
 public:
  PackPlacer() : GangPlacer(PlacingStyle::pack) {}
};

}  // namespace paceline
