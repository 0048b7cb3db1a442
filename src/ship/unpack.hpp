// Makes a directory of a ship that lies in a store: each file's bytes are compared with their digest on the
// way. Nothing in a manifest leads elsewhere: until all is there the directory is this process's alone, its
// links are made last, and no step follows one. Then it is its user's, under its own name: whole or not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/result.hpp"

namespace paceline {

struct Unpacking {
  std::filesystem::path store;
  std::uint32_t uid = 0;  // in the store
  std::string ship;
  std::filesystem::path to;  // its parent is there and this process's; it is not
  struct Owner {
    std::uint32_t uid = 0, gid = 0;
  };
  std::optional<Owner> owner;  // nothing: this process's user
  // Digests of files that were compared as they came into the store just now. One that is in no other directory
  // is given away, and not copied: restock() is to be called then.
  std::set<std::string> fresh = {};
};

// Errors: not_found, data: a file of it is not in the store, or damaged there (and no more there then): have
// it sent anew; storage: trying again may help.
Result<void> unpack_ship(const Unpacking& order);

// Copies what was given away back into the store. What its owner has changed by then is missing from there on.
void restock_ships(const std::filesystem::path& store, std::uint32_t uid,
                   const std::set<std::string>& digests);

}  // namespace paceline
