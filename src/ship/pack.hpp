// Packs a directory for its job: what is in it, less what .gitignore and .pacelineignore name (git's rules;
// those of the folders above count, too, as far up as there is a .git) and .git itself. Sockets and the like
// stay behind.
//
//   const auto packed = pack({.directory = "/home/ann/digits"});
//   packed->files.size(), packed->bytes()
//   pack_piece("/home/ann/digits", file, 0, 1 << 20);     // bytes to send
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ship/manifest.hpp"

namespace paceline {

struct Packing {
  std::filesystem::path directory;
  std::vector<std::string> paths = {};  // in it, these alone; none: all
  bool ignores = true;                  // false: everything but .git goes along
  std::uint64_t bytes_max = kShipBytesMax;
};

// Looks at all names and sizes before it reads a file. Errors: not_found, invalid, too_large, storage.
Result<Manifest> pack(const Packing& packing);

// The bytes of a packed file from there on, at most `max`. Errors: conflict: it changed; storage.
Result<std::string> pack_piece(const std::filesystem::path& directory, const ShipFile& file,
                               std::uint64_t from, std::size_t max);

}  // namespace paceline
