// -w: shows something again and again while it changes, whatever happens to the server meanwhile.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "cli/words/output.hpp"

namespace paceline {

// Prints what `draw` gives; with `watch` again and again, in place on a terminal, elsewhere where
// it changed, until a signal or a broken output. Errors: those of `draw`, unless the server is only
// away.
Result<int> show(Console& console, const Output& output,
                 const std::function<Result<std::string>()>& draw);

}  // namespace paceline
