// States from parts that were stored and read again. A sum beside them says that they are what was
// written; not that they fit together, if somebody else wrote them or a page came from another time.
#pragma once

#include "base/result.hpp"
#include "model/state.hpp"

namespace paceline {

// The state that the parts make. Assumes nothing of them. Errors: data, with the first thing that
// does not fit.
Result<State> assemble(StateParts parts);

}  // namespace paceline
