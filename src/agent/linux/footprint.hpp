#pragma once

namespace paceline::agent {

// Gives back the pages of the program and its libraries that starting needed. What is run again the
// kernel brings back from its cache.
void forget_start_code();

}  // namespace paceline::agent
