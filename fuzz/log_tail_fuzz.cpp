// A log is read the same whether it was there as a whole or grew byte by byte, and by one agent or
// by several in a row: the same reports with the same numbers, which grow. The first byte of the
// input says how the log grows, the rest is the log.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/linux/log_tail.hpp"
#include "base/check.hpp"

namespace {

using namespace paceline;
using namespace paceline::agent;

using Told = std::vector<std::pair<std::uint64_t, Report>>;

class Log {
 public:
  Log() : fd_(::memfd_create("log", MFD_CLOEXEC)) {
    check(static_cast<bool>(fd_), "a log is made");
  }

  void append(std::string_view text) const {
    check(::write(fd_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "a log can be written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  UniqueFd fd_;
};

// Reads on from `offset` what is there now. Answers where the next reader goes on.
std::uint64_t read_on(const Log& log, std::uint64_t offset, bool over, Told& told) {
  const ClaimFile claim(UniqueFd{}, ProcessKey{});
  ReportLedger ledger(claim, offset);
  LogTail tail(log.path(), ledger, [&](std::uint64_t number, const Report& report) {
    check(told.empty() || told.back().first < number, "numbers grow");
    told.emplace_back(number, report);
  });
  while (tail.step() > 0) {
  }
  if (!over) return ledger.offset();
  tail.end();
  while (tail.step() > 0) {
  }
  return ledger.offset();
}

Told read_whole(std::string_view text) {
  const Log log;
  log.append(text);
  Told told;
  read_on(log, 0, true, told);
  return told;
}

Told read_growing(std::string_view text, std::size_t pieces) {
  const Log log;
  Told told;
  std::uint64_t offset = 0;
  const std::size_t size = text.size() / pieces + 1;
  for (std::size_t at = 0; at < text.size(); at += size) {
    log.append(text.substr(at, size));
    offset = read_on(log, offset, at + size >= text.size(), told);
  }
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Told whole = read_whole(text);
  for (const auto& [number, report] : whole)
    check(number % kLineNumbers == 0 && number / kLineNumbers <= text.size(),
          "a line's number is where it ends");
  check(read_growing(text, 1 + data[0] % 16) == whole, "the same reports, however the log grew");
  return 0;
}
