// Text from outside (traces, command lines, names of files) made fit for HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace paceline::sim {

// Well-formed UTF-8 without control characters, with entities for what markup is made of: fit for
// text and for quoted attributes.
std::string escaped(std::string_view text);

}  // namespace paceline::sim
