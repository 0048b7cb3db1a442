// How often something happened in a world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace paceline::faults {

using Happened = std::map<std::string, std::uint64_t, std::less<>>;

}  // namespace paceline::faults
