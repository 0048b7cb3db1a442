// Spread: as few workers of a gang on each node as possible, evenly, on the emptiest nodes. Good
// where workers fight for what a node has only once: memory bandwidth, disks, the network card.
#pragma once

#include "placement/gang.hpp"

namespace paceline {

class SpreadPlacer : public GangPlacer {
 public:
  SpreadPlacer() : GangPlacer(PlacingStyle::spread) {}
};

}  // namespace paceline
