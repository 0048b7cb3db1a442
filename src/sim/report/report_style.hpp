// How the report looks on light and dark screens and on paper.
#pragma once

#include <string>

namespace paceline::sim {

std::string report_style();

}  // namespace paceline::sim
