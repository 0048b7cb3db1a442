// Files that hold a secret: their owner's alone to read, and whole on the disk before they have
// their name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// Takes the place of what was there. Errors: storage: what was there stays.
Result<void> write_secret(const std::filesystem::path& file, std::string_view text);

// Nothing: there is no such file. Errors: forbidden (somebody else's, a link, or others may read
// it), data (over 64 KiB), storage.
Result<std::optional<std::string>> read_secret(const std::filesystem::path& file);

}  // namespace paceline
