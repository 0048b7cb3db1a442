// What is learned from jobs (lengths, which slow each other down) is learned by kind: the jobs of
// one name of one owner. Jobs of one owner say nothing about another owner's jobs of the same name.
#pragma once

#include <string>

#include "model/job_spec.hpp"

namespace paceline {

// "1000/train": the owner's uid and the name.
std::string kind_of(const JobSpec& spec);

}  // namespace paceline
