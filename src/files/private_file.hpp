// Small files that hold secrets: their user alone reads and writes them, and what was there stays
// until the new one is whole and durable.
//
//   auto text = read_private(dir / "tokens", 1 << 20);
//   if (auto kept = write_private(dir / "tokens", changed); !kept) return fail(kept.error());
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// Mode 0600. Errors: storage.
Result<void> write_private(const std::filesystem::path& file, std::string_view text);

// Nothing: it is not there. Errors: forbidden: it is somebody else's, a link, or others may read or
// write it; data: over `bytes_max`; storage.
Result<std::optional<std::string>> read_private(const std::filesystem::path& file,
                                                std::size_t bytes_max);

}  // namespace paceline
