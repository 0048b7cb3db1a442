#include "store/sqlite/file_check.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "store/sqlite/database.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;
constexpr std::chrono::milliseconds kLockWait{500};

}  // namespace

FileCheck::FileCheck(std::filesystem::path file, std::function<void(const Finding&)> tell)
    : file_(std::move(file)), tell_(std::move(tell)) {}

bool FileCheck::work() {
  if (over_) return false;
  if (!std::exchange(pages_read_, true)) {
    if (const auto read = read_pages(); !read) find(read.error(), false);
    return !over_;
  }
  if (!segments_) segments_.emplace(file_.parent_path() / "segments");
  if (auto more = read_segment(); !more || *more) {
    if (!more) find(more.error(), true);
    return !over_;
  }
  const auto more = read_entries();
  if (!more) find(more.error(), true);
  if (!more || !*more) over_ = true;
  return !over_;
}

void FileCheck::stop() {
  over_ = true;
  const std::lock_guard lock(at_work_);
  if (reading_ != nullptr) ::sqlite3_interrupt(reading_);
}

// What can't be read just now, for want of memory for instance, is no damage.
void FileCheck::find(const Error& error, bool safe_to_write) {
  if (over_.exchange(true) || error.code != ErrorCode::data) return;
  tell_({error, safe_to_write});
}

Result<void> FileCheck::read_pages() {
  auto db = open_to_read(file_, kLockWait);
  if (!db) return fail(db.error());
  const auto watch = [this](sqlite3* handle) {
    const std::lock_guard lock(at_work_);
    reading_ = handle;
  };
  watch((*db)->getHandle());
  auto read = guarded(file_, [&]() -> Result<void> { return quick_check(**db, file_); });
  watch(nullptr);
  return read;
}

// Those that are added later were read when they were.
Result<bool> FileCheck::read_segment() {
  if (next_segment_ == 0) {
    if (auto looked = segments_->look(); !looked) return fail(looked.error());
  }
  if (next_segment_ == segments_->all().size()) return false;
  const Segment& segment = segments_->all()[next_segment_++];
  std::error_code error;
  if (!std::filesystem::exists(segments_->path_of(segment), error)) return true;  // pruned since
  if (auto lines = segments_->lines(segment); !lines) return fail(lines.error());
  return true;
}

Result<bool> FileCheck::read_entries() {
  const auto store = SqliteStore::open_to_read(file_);
  if (!store) return fail(store.error());
  if (next_ == 0) {
    const auto& segments = (*store)->segments().all();
    next_ = segments.empty() ? (*store)->first_entry().value_or(1) : segments.back().last + 1;
  }
  const auto entries = (*store)->entries(next_, kEntriesAtOnce);
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    if (entry.seq != next_)
      return fail(
          to_error(file_, Damage{fmt::format("entry {} of the journal is missing", next_)}));
    ++next_;
  }
  return !entries->empty();
}

}  // namespace paceline
