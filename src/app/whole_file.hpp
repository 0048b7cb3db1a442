// Files that people name and that may be there already: what was there stays until the new one is
// whole.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/result.hpp"

namespace paceline {

// Could write_whole() write it? Leaves everything as it is. Errors: storage.
Result<void> check_writable(const std::string& path);

// Writes the file aside and puts it under its name once `write` has written all of it. What is no
// regular file (a pipe, a terminal) is written directly. Errors: storage.
Result<void> write_whole(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace paceline
