// The two rows above everything: whose slots these are, how many are used, and how fresh it is.
#pragma once

#include "cli/top/cluster.hpp"
#include "cli/top/paper.hpp"

namespace paceline {

// `stands`: nothing new is asked for.
Rows draw_header(const Paper& paper, const Cluster& cluster, bool stands);

}  // namespace paceline
