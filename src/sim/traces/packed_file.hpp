// A file as it lies there: plain, or packed with gzip, xz, zstd or bzip2, alone or in a tar. Read as
// a stream, in pieces; through libarchive.
//
//   Result<PackedFile> file = PackedFile::open("philly.csv.xz");
//   while (*file->next())                       // once, unless it is a tar
//     for (;;) {
//       Result<std::string_view> piece = file->read();
//       if (!piece) return fail(piece.error());
//       if (piece->empty()) break;
//       use(*piece);
//     }
//
// Errors name the file: it is missing, a directory, unreadable, cut off or damaged. What a gzip or
// plain file lost at its very end can't always be seen; xz, zstd and bzip2 carry checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/archive_library.hpp"

namespace paceline::sim {

// Of one file inside, unpacked.
inline constexpr std::int64_t kUnpackedBytesMax = 16LL << 30;

class PackedFile {
 public:
  static Result<PackedFile> open(const std::string& path);
  // The same of bytes that are there already, and outlive it; `path` is for messages.
  static Result<PackedFile> open_bytes(std::string_view bytes, std::string path);

  // To the first or next file inside; false if there is none. Directories, links and the like are
  // passed over.
  Result<bool> next();
  // Its name inside a tar; empty if there is no tar.
  [[nodiscard]] const std::string& member() const { return member_; }

  // The next piece of the file inside, valid until the next call; empty at its end, and where there
  // is none.
  Result<std::string_view> read();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    const ArchiveLibrary* library = nullptr;
    void operator()(archive* reader) const;
  };
  PackedFile(const ArchiveLibrary& library, std::string path);
  [[nodiscard]] tl::unexpected<Error> damaged() const;

  const ArchiveLibrary* library_;
  std::string path_;
  std::unique_ptr<archive, Close> reader_;
  std::string member_;
  bool inside_ = false;
  std::int64_t unpacked_ = 0;
  std::vector<char> piece_;
};

}  // namespace paceline::sim
