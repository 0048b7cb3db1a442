// Pieces of files one behind the other, as POST /v1/ships/pieces takes them: before each a line that says which.
//
//   {"sha256":"9f86d0…","from":0,"bytes":3}
//   one{"sha256":"…
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "ship/store.hpp"

namespace paceline {

using ShipPieces = std::vector<std::pair<ShipPiece, std::string_view>>;

// With the newline; the bytes follow.
std::string piece_line(const ShipPiece& piece);
// Views of `text`. Errors: invalid.
Result<ShipPieces> read_pieces(std::string_view text);

}  // namespace paceline
