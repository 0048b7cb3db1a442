// Writes all of a text to a descriptor, however many pieces that takes.
#pragma once

#include <string_view>

namespace paceline {

// False: not all of it could be written; errno says why.
bool write_all(int fd, std::string_view text);

}  // namespace paceline
