// An event of the API (docs/api.md, "Events") as one line.
#pragma once

#include <string>

#include "cli/document.hpp"

namespace paceline {

// "   12  11:08:20  plan  fifo: start job 7 with 2 workers (runs on 2 slots)". Kinds without a form
// of their own show their keys. `now`: seconds since 1970.
std::string event_line(const Document& event, double now);

}  // namespace paceline
