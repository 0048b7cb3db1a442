#include "store/sqlite/segment_dir.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "files/fd.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = "unfinished";
constexpr std::string_view kSetAside = ".lost";

tl::unexpected<Error> cannot(const fs::path& file, std::string_view what, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("{} can't be {}: {}.", file.string(), what, std::strerror(reason)),
              std::string(remedy(reason)), Retry::may_help);
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool sync_directory(const fs::path& dir) {
  const UniqueFd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

Result<void> write_durably(const fs::path& file, std::string_view bytes) {
  (void)::unlink(file.c_str());
  const UniqueFd fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd && write_whole(fd.get(), bytes) && ::fsync(fd.get()) == 0) return {};
  const int reason = errno;
  (void)::unlink(file.c_str());
  return cannot(file, "written", reason);
}

}  // namespace

Result<void> SegmentDir::look() {
  all_.clear();
  read_.reset();
  std::error_code error;
  fs::directory_iterator entry(dir_, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!parse_segment_name(entry->path().filename().string())) continue;
    auto segment = look_at_segment(entry->path());
    if (!segment) return fail(segment.error());
    all_.push_back(*segment);
  }
  if (error) return cannot(dir_, "read", error.value());
  std::ranges::sort(all_, {}, [](const Segment& each) { return std::pair(each.first, each.last); });
  std::uint64_t last = 0;
  std::erase_if(all_, [&](const Segment& each) {
    if (each.first <= last) return true;
    last = each.last;
    return false;
  });
  return {};
}

std::uint64_t SegmentDir::bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& segment : all_) sum += segment.bytes;
  return sum;
}

fs::path SegmentDir::path_of(const Segment& segment) const { return dir_ / name_of(segment); }

const Segment* SegmentDir::find(std::uint64_t seq) const {
  const auto after = std::ranges::upper_bound(all_, seq, {}, &Segment::first);
  if (after == all_.begin() || std::prev(after)->last < seq) return nullptr;
  return &*std::prev(after);
}

Result<const SegmentLines*> SegmentDir::lines(const Segment& segment) {
  if (!read_ || read_->first != segment.first) {
    auto lines = read_segment(path_of(segment));
    if (!lines) return fail(lines.error());
    read_.emplace(Read{segment.first, std::move(*lines)});
  }
  return &read_->lines;
}

Result<void> SegmentDir::add(const SegmentWriter::File& file) {
  const Segment& segment = file.segment;
  check(all_.empty() || segment.first > all_.back().last, "segments follow each other");
  std::error_code error;
  const bool there = fs::is_directory(dir_, error);
  if (auto made = make_own_directory(dir_, 0700); !made) return made;
  if (!there && !sync_directory(dir_.parent_path())) return cannot(dir_, "made", errno);
  const auto unfinished = dir_ / kUnfinished;
  if (auto written = write_durably(unfinished, file.bytes); !written) return written;
  const auto path = path_of(segment);
  if (::rename(unfinished.c_str(), path.c_str()) != 0 || !sync_directory(dir_))
    return cannot(path, "written", errno);
  all_.push_back(segment);
  return {};
}

Result<void> SegmentDir::remove_first() {
  check(!all_.empty(), "there is a segment");
  const auto path = path_of(all_.front());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot(path, "removed", errno);
  if (!sync_directory(dir_)) return cannot(dir_, "written", errno);
  if (read_ && read_->first == all_.front().first) read_.reset();
  all_.erase(all_.begin());
  return {};
}

Result<void> SegmentDir::set_aside_after(std::uint64_t seq) {
  while (!all_.empty() && all_.back().last > seq) {
    const auto path = path_of(all_.back());
    if (::rename(path.c_str(), (path.string() + std::string(kSetAside)).c_str()) != 0)
      return cannot(path, "set aside", errno);
    all_.pop_back();
  }
  read_.reset();
  return {};
}

}  // namespace paceline
