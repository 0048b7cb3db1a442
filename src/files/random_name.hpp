#pragma once

#include <string>

namespace paceline {

// A name that nobody can guess and nothing else has: 128 random bits, as 32 hexadecimal digits.
std::string random_name();

}  // namespace paceline
