// By what another machine knows that its directory of the same path is the same one, and no copy: some of the
// files in it and some of the folders above it, each with its number and the instant of its last change. A copy
// has others: nobody can set when a file was changed last.
//
//   launch.witnesses = witnesses_of("/home/ann/digits");     // "1311 1763636100000000000 train.py" …
//   is_witnessed(".", launch.witnesses);                     // there, in the directory
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace paceline {

// Those that were changed longest ago, for they are the likeliest to stay; of what one mount holds. None: it
// can't be looked at.
std::vector<std::string> witnesses_of(const std::filesystem::path& directory);

// One of them is there as it was, and of the directory's own mount.
bool is_witnessed(const std::filesystem::path& directory,
                  const std::vector<std::string>& witnesses);

}  // namespace paceline
