// How ranks and times are named in sentences.
#pragma once

#include <chrono>
#include <span>
#include <string>

namespace paceline::runtime {

std::string ranks_text(std::span<const int> ranks);        // "ranks 1, 2"; of many the first ones
std::string seconds_text(std::chrono::milliseconds time);  // "0.5 s"

}  // namespace paceline::runtime
