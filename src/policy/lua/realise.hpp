// Turns what a script chose into changes of a draft (policy/settle.hpp), and tells why the others
// wait.
#pragma once

#include <vector>

#include "policy/lua/answer.hpp"

namespace paceline {

// Choices for jobs that can't be changed now are passed over.
void realise(const std::vector<Choice>& choices, const Snapshot& snapshot, Draft& draft);

}  // namespace paceline
