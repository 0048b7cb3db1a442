// What `paceline simulate` tells a person of a study: what it rests on, a row for each policy and seed,
// and how policies compare.
#pragma once

#include <string>

#include "cli/words/console.hpp"
#include "cli/words/document.hpp"
#include "cli/words/output.hpp"

namespace paceline {

std::string study_page(const Document& study, const Console& console, const Output& output);

}  // namespace paceline
