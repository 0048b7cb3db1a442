#include "ship/reader.hpp"

#include <algorithm>

namespace paceline {
namespace {

constexpr std::size_t kKnownMax = 16;

}  // namespace

Result<const ShipReader::Known*> ShipReader::know(const ShipOf& ship) {
  const auto found = std::ranges::find(known_, ship, &Known::ship);
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return &known_.front();
  }
  const auto manifest = read_ship(store_, ship.first, ship.second);
  if (!manifest) return fail(manifest.error());
  Known known{ship, {}};
  known.files.reserve(manifest->files.size());
  for (const auto& file : manifest->files) known.files.push_back(*sha256_from_hex(file.sha256));
  std::ranges::sort(known.files);
  known_.push_front(std::move(known));
  if (known_.size() > kKnownMax) known_.pop_back();
  return &known_.front();
}

Result<ShipBytes> ShipReader::read(const ShipOf& ship, const std::string& digest,
                                   std::uint64_t from, std::size_t max) {
  const auto known = know(ship);
  if (!known) return fail(known.error());
  const auto wanted = sha256_from_hex(digest);
  const bool holds = wanted && std::ranges::binary_search((*known)->files, *wanted);
  if (!holds && digest != ship.second)
    return fail(ErrorCode::forbidden, "No such file travels with this job.");
  return read_ship_bytes(store_, ship.first, digest, from, max);
}

}  // namespace paceline
