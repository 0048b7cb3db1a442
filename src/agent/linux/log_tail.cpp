#include "agent/linux/log_tail.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace paceline::agent {

LogTail::LogTail(const std::string& path, ReportLedger& ledger, Handler handler)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      ledger_(ledger),
      handler_(std::move(handler)),
      read_(ledger.offset()) {}

bool LogTail::step() {
  char chunk[65536];
  for (std::size_t total = 0; total < kStepMax;) {
    const ssize_t n = ::pread(fd_.get(), chunk, sizeof chunk, static_cast<off_t>(read_));
    if (n <= 0) return false;
    total += static_cast<std::size_t>(n);
    read_ += static_cast<std::uint64_t>(n);
    buffer_.append(chunk, static_cast<std::size_t>(n));
    take_lines();
  }
  return true;
}

void LogTail::drain() {
  while (step()) {
  }
  if (!buffer_.empty() && !skipping_) take_line(buffer_, read_);
  buffer_.clear();
}

void LogTail::take_lines() {
  std::size_t begin = 0;
  const std::uint64_t base = read_ - buffer_.size();
  for (std::size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (!skipping_) take_line(std::string_view(buffer_).substr(begin, end - begin), base + end + 1);
    skipping_ = false;
  }
  buffer_.erase(0, begin);
  if (buffer_.size() <= kReportBytesMax) return;
  skipping_ = true;
  buffer_.clear();
}

void LogTail::take_line(std::string_view line, std::uint64_t end) {
  const std::uint64_t number = ledger_.read_to(end);
  if (const auto report = parse_report_line(line)) handler_(number, *report);
}

}  // namespace paceline::agent
