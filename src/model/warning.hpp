// What its owner should know of a running gang. It changes nothing.
#pragma once

#include <cstdint>
#include <string>

namespace paceline {

enum class Warning {
  no_rendezvous,  // several workers, and for a while nobody has opened a port of the gang's
  no_directory,   // what travels with it has not come to all of its nodes for a while
};

// For people: "none of its 4 workers has opened MASTER_PORT …". Of a gang of so many workers, which
// have so many slots together.
std::string sentence(Warning warning, std::int32_t workers, std::int32_t slots);

}  // namespace paceline
