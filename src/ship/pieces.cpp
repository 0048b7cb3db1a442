#include "ship/pieces.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLineMax = 256;
constexpr JsonBounds kLineBounds{kLineMax, 2, 8};
constexpr std::uint32_t kPieceMax = 4 << 20;

Result<ShipPiece> read_piece_line(std::string_view line) {
  const auto json = parse_json(line, kLineBounds);
  if (!json) return fail(json.error());
  ShipPiece piece;
  ObjectReader reader(*json, "piece");
  reader.require({"sha256", "from", "bytes"}).text("sha256", piece.sha256, 64);
  reader.whole("from", piece.from, 0, kManifestSumMax).whole("bytes", piece.bytes, 0, kPieceMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return piece;
}

}  // namespace

std::string piece_line(const ShipPiece& piece) {
  JsonWriter json;
  json.begin_object().field("sha256", piece.sha256).field("from", piece.from);
  json.field("bytes", piece.bytes).end_object();
  return json.take() + "\n";
}

Result<ShipPieces> read_pieces(std::string_view text) {
  ShipPieces pieces;
  while (!text.empty()) {
    const auto end = text.substr(0, kLineMax).find('\n');
    if (end == std::string_view::npos)
      return fail(ErrorCode::invalid, "A piece of a file begins with a line that says which.",
                  "docs/api.md tells how pieces are sent.");
    auto piece = read_piece_line(text.substr(0, end));
    if (!piece) return fail(std::move(piece.error()));
    text.remove_prefix(end + 1);
    if (text.size() < piece->bytes)
      return fail(ErrorCode::invalid, "A piece of a file is shorter than its line says.",
                  "docs/api.md tells how pieces are sent.");
    const auto bytes = text.substr(0, piece->bytes);
    text.remove_prefix(bytes.size());
    pieces.emplace_back(std::move(*piece), bytes);
  }
  return pieces;
}

}  // namespace paceline
