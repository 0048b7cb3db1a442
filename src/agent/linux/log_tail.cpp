#include "agent/linux/log_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/linux/log_file.hpp"

namespace paceline::agent {

LogTail::LogTail(const std::string& path, ReportLedger& ledger, Handler handler,
                 std::uint64_t end_bytes)
    : fd_(open_log(path, O_RDONLY)),
      ledger_(ledger),
      handler_(std::move(handler)),
      end_bytes_(end_bytes),
      read_(ledger.offset()) {}

std::uint64_t LogTail::size() const {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

void LogTail::end() {
  if (end_) return;
  end_ = std::max(read_, size());
  left_ = std::min(*end_ - read_, end_bytes_ / 2);
}

std::size_t LogTail::next_bytes() const {
  const std::uint64_t end =
      std::min(end_.value_or(ReportLedger::kOffsetMax), ReportLedger::kOffsetMax);
  const std::uint64_t most = std::min<std::uint64_t>(kPieceBytes, end - std::min(read_, end));
  return end_ ? std::min(most, left_) : most;
}

std::size_t LogTail::step() {
  if (end_ && left_ == 0) pass_over();
  std::array<char, kPieceBytes> piece;
  const ssize_t n = ::pread(fd_.get(), piece.data(), next_bytes(), static_cast<off_t>(read_));
  if (n <= 0) {
    if (end_) take_last_line();
    return 0;
  }
  const auto size = static_cast<std::size_t>(n);
  bytes_read_ += size;
  left_ -= std::min<std::uint64_t>(left_, size);
  if (jump_hole({piece.data(), size})) return size;
  read_ += size;
  buffer_.append(piece.data(), size);
  take_lines();
  return size;
}

// From the middle of what is left to its last part; there reading goes on with a whole line.
void LogTail::pass_over() {
  const std::uint64_t last = *end_ - std::min(*end_, end_bytes_ / 2);
  if (last > read_) {
    passed_over_ = {read_ - buffer_.size(), last + 1};
    read_ = last;
    buffer_.clear();
    skipping_ = true;
  }
  left_ = *end_ - read_;
}

// Only a piece without a letter is worth the question where the next one is.
bool LogTail::jump_hole(std::string_view piece) {
  if (piece.find_first_not_of('\0') != std::string_view::npos) return false;
  const off_t data = ::lseek(fd_.get(), static_cast<off_t>(read_), SEEK_DATA);
  if (data < 0 && errno != ENXIO) return false;
  std::uint64_t next = data < 0 ? size() : static_cast<std::uint64_t>(data);
  if (end_) next = std::min(next, *end_);
  if (next <= read_) return false;
  read_ = next;
  buffer_.clear();
  skipping_ = false;
  return true;
}

void LogTail::take_lines() {
  std::size_t begin = 0;
  const std::uint64_t base = read_ - buffer_.size();
  for (std::size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (!skipping_ && end - begin <= kReportBytesMax)
      take_line(std::string_view(buffer_).substr(begin, end - begin), base + end + 1);
    skipping_ = false;
  }
  buffer_.erase(0, begin);
  if (buffer_.size() <= kReportBytesMax) return;
  skipping_ = true;
  buffer_.clear();
}

void LogTail::take_last_line() {
  if (!buffer_.empty() && !skipping_) take_line(buffer_, read_);
  buffer_.clear();
}

void LogTail::take_line(std::string_view line, std::uint64_t end) {
  if (const auto report = parse_report_line(line))
    handler_(ledger_.report_line(end), *report);
  else
    ledger_.read_to(end);
}

}  // namespace paceline::agent
