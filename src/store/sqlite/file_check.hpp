// Reads a whole database and the journal's segments, a piece at a time, on a thread of its own while a server writes to it: a
// start reads only what it needs, and what was damaged long ago would be met when it is needed most.
//
//   FileCheck check(dir / "paceline.db", [&](const Finding& found) { post(tell, found); });
//   while (check.work()) {}
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>

#include "base/result.hpp"
#include "store/sqlite/segment_dir.hpp"

struct sqlite3;

namespace paceline {

struct Finding {
  Error error;
  bool safe_to_write = true;  // an old entry is damaged; else the pages don't hang together
};

class FileCheck {
 public:
  // `tell` is called on the thread that calls work(), at most once.
  FileCheck(std::filesystem::path file, std::function<void(const Finding&)> tell);
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  // Does one piece. False: all is read, or something was found, or it was stopped.
  bool work();
  // From any thread: work() returns soon, and does nothing more.
  void stop();

 private:
  Result<void> read_pages();
  Result<bool> read_segment();
  Result<bool> read_entries();
  void find(const Error& error, bool safe_to_write);

  std::filesystem::path file_;
  std::function<void(const Finding&)> tell_;
  bool pages_read_ = false;
  std::optional<SegmentDir> segments_;
  std::size_t next_segment_ = 0;
  std::uint64_t next_ = 0;  // entry; 0: not known yet
  std::atomic<bool> over_ = false;
  std::mutex at_work_;
  sqlite3* reading_ = nullptr;  // the pages; for stop()
};

}  // namespace paceline
