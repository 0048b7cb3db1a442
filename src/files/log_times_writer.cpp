#include "files/log_times_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "files/log_names.hpp"

namespace paceline {
namespace {

constexpr std::size_t kSize = sizeof(LogTime);

off_t place_of(std::size_t number) { return static_cast<off_t>(number * kSize); }

// A reader sees all of these times or those that were there.
bool replace(const std::string& path, const std::vector<LogTime>& times) {
  const std::string fresh = path + ".new";
  const UniqueFd fd(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto bytes = static_cast<ssize_t>(times.size() * kSize);
  if (fd && ::write(fd.get(), times.data(), times.size() * kSize) == bytes &&
      ::rename(fresh.c_str(), path.c_str()) == 0)
    return true;
  ::unlink(fresh.c_str());
  return false;
}

}  // namespace

std::string times_path(const std::string& log) { return beside_log(log, "times"); }

void LogTimesWriter::note(WallTime now, std::uint64_t length) {
  if (length <= length_ || (!fd_ && !open()) || length <= length_) return;
  if (count_ >= kLogTimesMax && !thin()) return;
  const LogTime time{to_us(now), length};
  if (::pwrite(fd_.get(), &time, kSize, place_of(count_)) != static_cast<ssize_t>(kSize)) return;
  ++count_;
  length_ = length;
}

// Goes on where an earlier one ended.
bool LogTimesWriter::open() {
  fd_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0) return false;
  count_ = static_cast<std::size_t>(info.st_size) / kSize;
  LogTime last;
  if (count_ > 0 && ::pread(fd_.get(), &last, kSize, place_of(count_ - 1)) > 0)
    length_ = last.length;
  return true;
}

// Of two that follow each other the later stays: by then all of both was written.
bool LogTimesWriter::thin() {
  std::vector<LogTime> all(count_);
  const ssize_t bytes = ::pread(fd_.get(), all.data(), count_ * kSize, 0);
  if (bytes != static_cast<ssize_t>(count_ * kSize)) return false;
  std::vector<LogTime> kept;
  for (std::size_t i = 1; i < all.size(); i += 2) kept.push_back(all[i]);
  return replace(path_, kept) && open();
}

}  // namespace paceline
