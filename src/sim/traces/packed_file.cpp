#include "sim/traces/packed_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace paceline::sim {
namespace {

constexpr std::size_t kPieceBytes = 64UL << 10;

// Why it can't be opened at all; no code: nothing speaks against it.
Result<void> check_path(const std::string& path) {
  std::error_code wrong;
  const auto status = std::filesystem::status(path, wrong);
  if (status.type() == std::filesystem::file_type::not_found)
    return fail(ErrorCode::not_found, fmt::format("There is no file '{}'.", path));
  if (wrong)
    return fail(ErrorCode::storage, fmt::format("'{}' can't be read: {}.", path, wrong.message()));
  if (status.type() == std::filesystem::file_type::directory)
    return fail(ErrorCode::invalid, fmt::format("'{}' is a directory, not a file.", path),
                "Name one file in it.");
  return {};
}

std::string said_by(const ArchiveLibrary& library, archive* reader) {
  const char* text = library.archive_error_string(reader);
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

void PackedFile::Close::operator()(archive* reader) const { library->archive_read_free(reader); }

// Only the filters that are built in: for others libarchive would start programs.
PackedFile::PackedFile(const ArchiveLibrary& library, std::string path)
    : library_(&library),
      path_(std::move(path)),
      reader_(library.archive_read_new(), Close{&library}),
      piece_(kPieceBytes) {
  library.archive_read_support_filter_gzip(reader_.get());
  library.archive_read_support_filter_xz(reader_.get());
  library.archive_read_support_filter_zstd(reader_.get());
  library.archive_read_support_filter_bzip2(reader_.get());
  library.archive_read_support_format_tar(reader_.get());
  library.archive_read_support_format_empty(reader_.get());
  library.archive_read_support_format_raw(reader_.get());
}

Result<PackedFile> PackedFile::open(const std::string& path) {
  if (const auto there = check_path(path); !there) return fail(there.error());
  const auto library = archive_library();
  if (!library) return fail(library.error());
  PackedFile file(**library, path);
  if ((*library)->archive_read_open_filename(file.reader_.get(), path.c_str(), kPieceBytes) !=
      ARCHIVE_OK)
    return fail(ErrorCode::storage, fmt::format("'{}' can't be read: {}.", path,
                                                said_by(**library, file.reader_.get())));
  return file;
}

Result<PackedFile> PackedFile::open_bytes(std::string_view bytes, std::string path) {
  const auto library = archive_library();
  if (!library) return fail(library.error());
  PackedFile file(**library, std::move(path));
  if ((*library)->archive_read_open_memory(file.reader_.get(), bytes.data(), bytes.size()) !=
      ARCHIVE_OK)
    return file.damaged();
  return file;
}

Result<bool> PackedFile::next() {
  unpacked_ = 0;
  inside_ = false;
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = library_->archive_read_next_header(reader_.get(), &entry);
    if (got == ARCHIVE_EOF) return false;
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged();
    const bool raw = library_->archive_format(reader_.get()) == ARCHIVE_FORMAT_RAW;
    inside_ = raw || (library_->archive_entry_filetype(entry) == AE_IFREG &&
                      library_->archive_entry_hardlink(entry) == nullptr);
    if (!inside_) continue;
    if (raw) return true;
    const char* name = library_->archive_entry_pathname(entry);
    member_ = name == nullptr ? "" : name;
    return true;
  }
}

Result<std::string_view> PackedFile::read() {
  if (!inside_) return std::string_view();
  const auto got = library_->archive_read_data(reader_.get(), piece_.data(), piece_.size());
  if (got < 0) return damaged();
  unpacked_ += got;
  if (unpacked_ > kUnpackedBytesMax)
    return fail(ErrorCode::too_large, fmt::format("'{}' is over {} GiB once it is unpacked.", path_,
                                                  kUnpackedBytesMax >> 30));
  return std::string_view(piece_.data(), static_cast<std::size_t>(got));
}

tl::unexpected<Error> PackedFile::damaged() const {
  return fail(
      ErrorCode::data,
      fmt::format("'{}' is cut off or damaged: {}.", path_, said_by(*library_, reader_.get())),
      "Fetch or copy it again.");
}

}  // namespace paceline::sim
