// What a ship holds: the files, links and empty directories of a job's directory, each file by the SHA-256
// of its bytes. In its one canonical text its own SHA-256 is the ship's name.
//
//   auto manifest = read_manifest(body);          // from anybody: every path in it stays inside
//   const std::string text = to_text(*manifest);
//   ship_name(text);                               // "9f86d081884c7d65…", 64 digits
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline {

inline constexpr std::uint64_t kShipBytesMax = std::uint64_t{2} << 30;    // of a job's directory
inline constexpr std::uint64_t kManifestSumMax = std::uint64_t{1} << 40;  // of anything
inline constexpr std::size_t kShipEntriesMax = 20'000;
inline constexpr std::size_t kManifestBytesMax = 4 << 20;  // one body of a request

struct ShipFile {
  std::string path;  // "src/train.py", from the directory
  std::uint32_t mode = 0644;
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 small hexadecimal digits
  friend bool operator==(const ShipFile&, const ShipFile&) = default;
};

struct ShipLink {
  std::string path;
  std::string target;  // relative, and inside
  friend bool operator==(const ShipLink&, const ShipLink&) = default;
};

struct Manifest {
  // Each in the order of the paths' bytes.
  std::vector<ShipFile> files;
  std::vector<ShipLink> links;
  std::vector<std::string> directories;  // that are empty

  [[nodiscard]] std::uint64_t bytes() const;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Puts everything in order. Errors: invalid (a path or a target that leads out, stands twice or below a
// file; a digest that is none), too_large.
Result<void> tidy_manifest(Manifest& manifest);

// The canonical text. REQUIRES: it is tidied.
std::string to_text(const Manifest& manifest);

// From JSON in any order of keys and entries. Errors: as tidy_manifest, and what is no manifest.
Result<Manifest> read_manifest(std::string_view text);

// Of a manifest's canonical text.
std::string ship_name(std::string_view text);
bool is_ship_name(std::string_view name);

// Does a link at `path` with this target lead to something inside, by its words?
bool leads_inside(std::string_view path, std::string_view target);

}  // namespace paceline
