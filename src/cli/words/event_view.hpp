// An event of the API (docs/api.md, "Events") as lines for people.
#pragma once

#include <string>

#include "cli/words/document.hpp"

namespace paceline {

// "   12  11:08:20  plan            fifo: start job 7 with 2 workers (runs on 2 slots)". Kinds
// without a form of their own show their keys. A report that met a tier of its job's target has a
// second line that says so. `now`: seconds since 1970.
std::string event_lines(const Document& event, double now);

}  // namespace paceline
