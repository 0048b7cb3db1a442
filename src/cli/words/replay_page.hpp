// What `paceline simulate --replay` tells a person.
#pragma once

#include <string>

#include "cli/words/document.hpp"

namespace paceline {

std::string replay_page(const Document& replay);

// Did anything come out otherwise?
bool differs(const Document& replay);

}  // namespace paceline
