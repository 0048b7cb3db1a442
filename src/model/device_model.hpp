// Does a device answer to the short name that a person gave its model? Products have long names
// ("NVIDIA H100 80GB HBM3"); people write h100, or a100-80gb.
//
//   is_model("h100", "NVIDIA H100 80GB HBM3") == true
//   is_model("a100-80gb", "NVIDIA A100-SXM4-80GB") == true
//   is_model("h10", "NVIDIA H100 80GB HBM3") == false     words are whole
#pragma once

#include <string_view>

#include "model/job_spec.hpp"

namespace paceline {

// Do all words of `wanted` stand in `model`, in their order, whatever their case? Words are letters
// and digits; everything else separates them. A name without a word is nobody's.
bool is_model(std::string_view wanted, std::string_view model);

// May the job run on devices of that model?
bool takes_device(const JobSpec& spec, std::string_view model);

}  // namespace paceline
