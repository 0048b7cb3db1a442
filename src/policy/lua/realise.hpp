// Turns what a script chose into changes of a draft.
#pragma once

#include <vector>

#include "policy/lua/answer.hpp"

namespace paceline {

void realise(const std::vector<Choice>& choices, const Snapshot& snapshot, Draft& draft);

}  // namespace paceline
