// The high-water mark of a journal, DIR/paceline.mark: how far it had come when its server last
// acknowledged something. A journal that is behind it lost its end: a write-ahead log that was
// deleted or cut, a copy of the database put back, a disk that forgot. Lost entries are lost; that
// they were there, the mark tells.
//
// It lies beside the database, not in it, is written at every commit and synced at times: what a
// power cut may take from it makes it milder, never wrong. Two records of it take turns, so that a
// torn one leaves the other.
//
//   auto mark = HighWater::open(dir);
//   if (mark->known() && mark->known()->seq > last_seq) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline {

// As of the journal's last entry.
struct Mark {
  std::uint64_t seq = 0;
  std::uint32_t jobs = 0;  // ids given
  std::int64_t sum = 0;    // of the entry
  // No job has been given a higher one. Where a version before wrote the mark: as many as entries,
  // because each took one.
  Generation generation;
  friend bool operator==(const Mark&, const Mark&) = default;
};

inline constexpr std::uint32_t kGenerationMax = std::uint32_t{1} << 31;

// No job of a journal with so many entries has a higher generation, unless its end was lost before.
Generation generation_within(std::uint64_t entries);

class HighWater {
 public:
  // Makes the file where it is missing. Errors: storage; forbidden: the file is somebody else's, or
  // a link.
  static Result<HighWater> open(const std::filesystem::path& dir);

  HighWater(HighWater&& other) noexcept;
  HighWater& operator=(HighWater&& other) noexcept;
  ~HighWater();

  // Nothing: the file is new, or damaged.
  [[nodiscard]] const std::optional<Mark>& known() const { return known_; }
  // There is something in it, but no record that can be read.
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  Result<void> raise(const Mark& mark);
  Result<void> sync();

 private:
  HighWater() = default;

  std::filesystem::path file_;
  int fd_ = -1;
  std::optional<Mark> known_;
  bool damaged_ = false;
  std::uint64_t writes_ = 0;
};

}  // namespace paceline
