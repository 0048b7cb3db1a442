// What is learned from jobs (lengths, who slows whom down) is learned by kind: the jobs of one name of
// one owner. Nobody's jobs tell anything of, or change anything for, another's of the same name.
#pragma once

#include <string>

#include "model/job_spec.hpp"

namespace paceline {

// "1000/train": the owner's uid and the name.
std::string kind_of(const JobSpec& spec);

}  // namespace paceline
