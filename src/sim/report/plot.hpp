// The distributions of a study's job completion times and waits as a file of their own, for a paper
// or a slide.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sim/study/study.hpp"

namespace paceline::sim {

enum class PlotFormat { png, svg };

// By the suffix of a file's name. Errors: invalid.
Result<PlotFormat> plot_format_of(std::string_view path);

// An SVG file's text. REQUIRES: the plan kept details.
std::string plot(const Study& study, const StudyPlan& plan);

}  // namespace paceline::sim
