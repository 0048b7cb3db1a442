// Pieces of what travels with jobs, for somebody who may have one ship: of that one's files alone.
//
//   ShipReader reader(dir + "/ships");
//   reader.read({uid, ship}, digest, from, max);
//
// One thread calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "ship/store.hpp"
#include "trust/sha256.hpp"

namespace paceline {

// A user's ship.
using ShipOf = std::pair<std::uint32_t, std::string>;

class ShipReader {
 public:
  // The directory of a ShipStore.
  explicit ShipReader(std::filesystem::path store) : store_(std::move(store)) {}

  // At most `max` bytes of a file of the ship from there on; of its manifest by the ship's own name. Errors:
  // forbidden: no file of it; not_found, data, storage.
  Result<ShipBytes> read(const ShipOf& ship, const std::string& digest, std::uint64_t from,
                         std::size_t max);

 private:
  struct Known {
    ShipOf ship;
    std::vector<Sha256> files;  // in order
  };
  Result<const Known*> know(const ShipOf& ship);

  std::filesystem::path store_;
  std::list<Known> known_;  // the one that was asked for last is the first
};

}  // namespace paceline
