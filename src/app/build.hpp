// What the running program was built from. Every plan in the journal names it.
#pragma once

#include <string>

namespace paceline {

struct Build {
  std::string version;  // "0.1.0"
  std::string text;     // "0.1.0 (803c4c0, gcc 12.2)"; without the commit outside a checkout
};

}  // namespace paceline
