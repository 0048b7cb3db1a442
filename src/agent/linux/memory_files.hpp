// Files of /proc that show the memory of a process: its environment, its command. Whoever reads them
// waits for that process, which its user can make last for ever (a page on a file system that does not
// answer). So a child reads them, and is killed over one that takes too long.
//
//   const auto read = read_memory_files(paths, [&](std::size_t i, const MemoryFile& file) {
//     if (file.error == ETIMEDOUT) …  // paths[i] doesn't answer
//   });
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace paceline::agent {

struct MemoryFile {
  std::string text;
  int error = 0;  // why it can't be read; ETIMEDOUT: it doesn't answer; ECANCELED: it was not asked
};

inline constexpr auto kMemoryPatience = std::chrono::milliseconds{250};

// How long is waited for files that don't answer at once: each that doesn't at all halves it for those after it.
struct MemoryPatience {
  std::chrono::milliseconds each = kMemoryPatience;
  std::chrono::milliseconds all = std::chrono::hours{1};  // then nobody is asked any more
};

inline constexpr std::size_t kMemoryFileMax = std::size_t{2} << 20;  // what is longer is cut there

// Hands over one file after the other. Errors: storage, where there can be no child.
Result<void> read_memory_files(
    const std::vector<std::string>& paths,
    const std::function<void(std::size_t index, const MemoryFile& file)>& take,
    MemoryPatience patience = {});

}  // namespace paceline::agent
