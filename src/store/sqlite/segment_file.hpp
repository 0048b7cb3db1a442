// A segment of the journal, DIR/segments/FIRST-LAST-SUM.jsonl.gz: entries that no restart needs any
// more, one JSON object a line as the journal had it (`zcat` shows them). The sum, of all its bytes,
// is in its name; a file that doesn't match is damaged.
//
//   SegmentWriter writer;
//   for (…) writer.add(seq, at, text);
//   auto file = std::move(writer).finish();   // file.name, file.bytes
//
//   auto lines = read_segment(path);          // lines->at(seq)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

struct Segment {
  std::uint64_t first = 0, last = 0;  // entries
  std::uint64_t sum = 0;
  std::uint64_t bytes = 0;  // of the file
  Time from, until;         // of the first entry and the last
  [[nodiscard]] std::uint64_t entries() const { return last - first + 1; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

std::string name_of(const Segment& segment);
// First, last and sum; nothing: the file is no segment.
std::optional<Segment> parse_segment_name(std::string_view name);

// Compresses as it goes, in memory.
class SegmentWriter {
 public:
  SegmentWriter();
  ~SegmentWriter();
  SegmentWriter(SegmentWriter&&) noexcept;
  SegmentWriter& operator=(SegmentWriter&&) noexcept;

  // REQUIRES: entries follow each other; `text` has no line end.
  void add(std::uint64_t seq, Time at, std::string_view text);
  [[nodiscard]] std::uint64_t entries() const;
  [[nodiscard]] std::uint64_t text_bytes() const;  // before compression

  struct File {
    Segment segment;
    std::string bytes;
  };
  // REQUIRES: it has an entry.
  File finish() &&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The lines of a segment.
class SegmentLines {
 public:
  SegmentLines(std::uint64_t first, std::string text);
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t entries() const { return ends_.size(); }
  // REQUIRES: first() <= seq < first() + entries().
  [[nodiscard]] std::string_view at(std::uint64_t seq) const;

 private:
  std::uint64_t first_;
  std::string text_;
  std::vector<std::size_t> ends_;
};

// Reads the file's length and times as well. Errors: storage; data: it is no segment.
Result<Segment> look_at_segment(const std::filesystem::path& file);

// Errors: storage; data: damaged, with what can't be read and where to go on.
Result<SegmentLines> read_segment(const std::filesystem::path& file);

}  // namespace paceline
