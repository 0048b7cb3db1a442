// libarchive, loaded when it is first needed: it and what it stands on (an XML parser, the tables of all
// scripts, five packers) would cost every command a quarter of its time to start.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/result.hpp"

// The calls that are used, by their own names.
#define PACELINE_ARCHIVE_CALLS(CALL)            \
  CALL(archive_error_string)                    \
  CALL(archive_format)                          \
  CALL(archive_read_new)                        \
  CALL(archive_read_free)                       \
  CALL(archive_read_support_filter_gzip)        \
  CALL(archive_read_support_filter_xz)          \
  CALL(archive_read_support_filter_zstd)        \
  CALL(archive_read_support_filter_bzip2)       \
  CALL(archive_read_support_format_tar)         \
  CALL(archive_read_support_format_empty)       \
  CALL(archive_read_support_format_raw)         \
  CALL(archive_read_open_filename)              \
  CALL(archive_read_open_memory)                \
  CALL(archive_read_next_header)                \
  CALL(archive_read_data)                       \
  CALL(archive_write_new)                       \
  CALL(archive_write_free)                      \
  CALL(archive_write_set_format_pax_restricted) \
  CALL(archive_write_add_filter_gzip)           \
  CALL(archive_write_set_bytes_in_last_block)   \
  CALL(archive_write_open2)                     \
  CALL(archive_write_header)                    \
  CALL(archive_write_data)                      \
  CALL(archive_write_close)                     \
  CALL(archive_entry_new)                       \
  CALL(archive_entry_free)                      \
  CALL(archive_entry_filetype)                  \
  CALL(archive_entry_hardlink)                  \
  CALL(archive_entry_pathname)                  \
  CALL(archive_entry_set_pathname)              \
  CALL(archive_entry_set_filetype)              \
  CALL(archive_entry_set_perm)                  \
  CALL(archive_entry_set_size)                  \
  CALL(archive_entry_set_mtime)

namespace paceline {

struct ArchiveLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): they mean something else around a declared name
#define PACELINE_DECLARE(name) decltype(&::name) name = nullptr;
  PACELINE_ARCHIVE_CALLS(PACELINE_DECLARE)
#undef PACELINE_DECLARE
};

// Valid until the process ends. Errors: unavailable: this machine lacks it.
Result<const ArchiveLibrary*> archive_library();

}  // namespace paceline
