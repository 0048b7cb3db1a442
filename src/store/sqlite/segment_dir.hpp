// The segments of a journal, in DIR/segments (segment_file.hpp). For store/sqlite, and for
// commands that show them.
//
//   SegmentDir segments(dir / "segments");
//   if (auto ok = segments.look(); !ok) …
//   for (const Segment& segment : segments.all()) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "store/sqlite/segment_file.hpp"

namespace paceline {

class SegmentDir {
 public:
  explicit SegmentDir(std::filesystem::path dir) : dir_(std::move(dir)) {}

  // Finds what there is; none where there is no such directory. What a crash left half written is no
  // segment. Errors: storage.
  Result<void> look();
  // By their entries; no entry is in two.
  [[nodiscard]] const std::vector<Segment>& all() const { return all_; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::filesystem::path path_of(const Segment& segment) const;

  // The segment that holds the entry; nullptr: none does.
  [[nodiscard]] const Segment* find(std::uint64_t seq) const;
  // The lines of a segment, valid until the next call. Errors: storage, data: damaged.
  Result<const SegmentLines*> lines(const Segment& segment);

  // Writes, syncs and names it; makes the directory where it is missing. REQUIRES: it follows the
  // last one. Errors: storage, forbidden: then there is nothing of it.
  Result<void> add(const SegmentWriter::File& file);
  // Errors: storage.
  Result<void> remove_first();
  // Renames every segment with entries beyond this one, so that none is read any more: they are of a
  // history that was given up. Errors: storage.
  Result<void> set_aside_after(std::uint64_t seq);

 private:
  struct Read {
    std::uint64_t first = 0;
    SegmentLines lines;
  };

  std::filesystem::path dir_;
  std::vector<Segment> all_;
  std::optional<Read> read_;  // the last one
};

}  // namespace paceline
