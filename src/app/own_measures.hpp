// What this process is: memory, files, processor time, and the files of its directory.
#pragma once

#include <filesystem>

#include "api/measures.hpp"

namespace paceline {

// Of this process and the server's directory; without turns and segments, of which it knows nothing.
Measures measure_own(const std::filesystem::path& directory);

}  // namespace paceline
