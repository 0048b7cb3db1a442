// Small files, relative to an open directory, in the words of errno: what claims, cgroups and /proc
// are made of. Everything is bounded; nothing throws.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

inline constexpr std::size_t kSmallFileMax = 4 << 20;

// "what: No space left on device; make room.", with code storage (or forbidden for a missing right)
// from `error_number`; trying again can help where the machine lacks something (agent/wants.hpp).
Error system_error(std::string_view what, int error_number);

// At most `max` bytes of a file; nothing if it can't be opened or read.
std::optional<std::string> read_file(int directory, const char* name,
                                     std::size_t max = kSmallFileMax);
std::optional<std::string> read_file(const std::string& path, std::size_t max = kSmallFileMax);

// Writes into an existing file (a cgroup's knob). False: errno says why.
bool write_existing(const std::string& path, std::string_view text);

// Replaces a file as a whole: a reader sees the old text or the new one. Mode 0600.
Result<void> replace_file(int directory, const char* name, std::string_view text);

// Makes every missing directory of an absolute path with `mode`. Errors: storage, forbidden.
Result<void> make_directories(const std::string& path, mode_t mode);
Result<UniqueFd> open_directory(const std::string& path);

// What a file system has left for everybody.
struct DiskSpace {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  [[nodiscard]] bool covers(const DiskSpace& least) const {
    return bytes >= least.bytes && inodes >= least.inodes;
  }
};
struct Disk {
  DiskSpace left;
  bool read_only = false;
};
// The file system of `directory`. Errors: storage, where it can't be looked at.
Result<Disk> look_at_disk(const std::string& directory);
// Errors: storage, where the file system of `directory` has less than that left.
Result<void> look_for_room(const std::string& directory, DiskSpace least);

// A file, whatever its name. Its file system is not asked: that could wait for ever.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> file_id(const std::string& path);
std::optional<FileId> file_id(int fd);

// Names in a directory, sorted, without "." and "..". Errors: storage, forbidden.
Result<std::vector<std::string>> read_directory(const std::string& path);
// The same; none where it can't be read.
std::vector<std::string> list_directory(const std::string& path);

}  // namespace paceline::agent
