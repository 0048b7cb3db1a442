#include "app/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "files/fd.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> unwritable(const std::string& path, int error) {
  return fail(ErrorCode::storage,
              fmt::format("'{}' can't be written: {}.", path, std::strerror(error)),
              "Name a file in a directory that you may write to.");
}

// Where a file is written before it has its name; empty: at its own place.
struct Places {
  fs::path file, aside;
};

Places places_of(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) return {path, {}};
  fs::path file = fs::exists(status) ? fs::canonical(path, ignored) : fs::path(path);
  if (file.empty()) file = path;
  return {file, fmt::format("{}.{}.part", file.string(), ::getpid())};
}

// Makes the empty file to write aside; 0, or why not.
int create(const Places& places) {
  if (places.file.empty()) return ENOENT;
  const bool there = ::access(places.file.c_str(), F_OK) == 0;
  if (there && ::access(places.file.c_str(), W_OK) != 0) return errno;
  ::unlink(places.aside.c_str());  // of an earlier process of this number
  const int file = ::open(places.aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  ::close(file);
  if (!there) return 0;
  std::error_code ignored;
  fs::permissions(places.aside, fs::status(places.file, ignored).permissions(), ignored);
  return 0;
}

// 0, or why not.
int write_to(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(path, std::ios::binary);
  if (out) write(out);
  out.close();
  if (out) return 0;
  return errno != 0 ? errno : EIO;
}

// 0, or why not.
int sync(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::fsync(file.get()) == 0 ? 0 : errno;
}

}  // namespace

Result<void> check_writable(const std::string& path) {
  const Places places = places_of(path);
  if (places.aside.empty()) {
    if (fs::is_directory(places.file)) return unwritable(path, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) return unwritable(path, errno);
    return {};
  }
  if (const int error = create(places); error != 0) return unwritable(path, error);
  ::unlink(places.aside.c_str());
  return {};
}

Result<void> write_whole(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const Places places = places_of(path);
  if (places.aside.empty()) {
    if (const int error = write_to(places.file, write); error != 0) return unwritable(path, error);
    return {};
  }
  int error = create(places);
  if (error != 0) return unwritable(path, error);
  error = write_to(places.aside, write);
  if (error == 0) error = sync(places.aside);
  if (error == 0 && ::rename(places.aside.c_str(), places.file.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(places.aside.c_str());
  return unwritable(path, error);
}

}  // namespace paceline
