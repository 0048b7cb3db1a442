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

Result<bool> FileCheck::read_entries() {
  const auto store = SqliteStore::open_to_read(file_);
  if (!store) return fail(store.error());
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
