// How the members of a generation learn each other's endpoints: they meet where all know rank 0 to be.
//
// Each of the others dials rank 0, and both prove that they are of the generation (greeting.hpp). Then
//
//   others:  length, its endpoint
//   rank 0:  length, the endpoints of all ranks, a line each; once all have come
//
// A length has 4 bytes, little-endian.
#pragma once

#include <string>
#include <vector>

#include "endpoint.hpp"
#include "failure.hpp"
#include "greeting.hpp"
#include "patience.hpp"

namespace paceline::runtime {

struct Rendezvous {
  const Identity& own;
  const std::string& endpoint;
  const Venue& venue;
  Patience patience;
  int aborted;  // a descriptor: readable once nobody waits for the meeting any more
};

// The endpoints in the order of ranks; none: it was aborted.
Outcome<std::vector<std::string>> rendezvous(Rendezvous meeting);

}  // namespace paceline::runtime
