#include "link/log_sources.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/digest.hpp"

namespace paceline {
namespace {

// As this machine holds it.
struct Record {
  Sha256 source{};
  std::uint64_t from = 0, to = 0, at = 0;
  std::uint32_t bytes = 0;  // with kContinues
  std::uint32_t check = 0;
};
static_assert(sizeof(Record) == 64);
constexpr std::uint32_t kContinues = 1U << 31;

std::uint32_t check_of(Record record) {
  record.check = 0;
  const std::string_view bytes(reinterpret_cast<const char*>(&record), sizeof record);
  const auto sum = Digest().add(bytes).value();
  return static_cast<std::uint32_t>(sum ^ (sum >> 32));
}

// Bytes become bytes; a sentence about bytes that are missing becomes it with its first letter.
LogSources::Append as_far_as(LogSources::Append append, std::uint64_t length) {
  const auto there = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(length, append.at, append.at + append.bytes) - append.at);
  const bool same_bytes = append.to - append.from == append.bytes;
  if (same_bytes) append.to = append.from + there;
  if (!same_bytes && there == 0) append.to = append.from;
  append.bytes = there;
  return append;
}

}  // namespace

Sha256 log_source(std::string_view node, std::string_view machine) {
  return sha256(fmt::format("{}\n{}", node, machine));
}

Result<LogSources> LogSources::open(UniqueFd file, std::uint64_t length) {
  LogSources sources(std::move(file));
  sources.read();
  for (auto& [source, known] : sources.known_) {
    const auto there = as_far_as(known.append, length);
    if (there == known.append) continue;
    known.append = there;
    if (auto written = sources.write(source, known); !written) return fail(written.error());
  }
  return sources;
}

// A record that isn't what was written does not count: its node sends the log anew.
void LogSources::read() {
  std::vector<Record> records(kLogSourcesMax);
  const auto bytes = ::pread(file_.get(), records.data(), records.size() * sizeof(Record), 0);
  places_ = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(Record) : 0;
  for (std::size_t place = 0; place < places_; ++place) {
    const Record& record = records[place];
    if (record.check != check_of(record) || record.to < record.from) continue;
    known_[record.source] = {place,
                             {record.from, record.to, record.at, record.bytes & ~kContinues},
                             (record.bytes & kContinues) != 0};
  }
}

std::uint64_t LogSources::taken(const Sha256& source) const {
  const auto found = known_.find(source);
  return found == known_.end() ? 0 : found->second.append.to;
}

bool LogSources::wrote_last(const Sha256& source, std::uint64_t length) const {
  const auto found = known_.find(source);
  if (found == known_.end()) return false;
  const auto& [place, last, continues] = found->second;
  return (last.bytes > 0 || continues) && last.at + last.bytes == length;
}

Result<void> LogSources::intend(const Sha256& source, const Append& append) {
  const auto found = known_.find(source);
  const bool is_new = found == known_.end();
  if (is_new && places_ >= kLogSourcesMax)
    return fail(ErrorCode::forbidden, "A log comes from too many nodes.");
  Known known{is_new ? places_ : found->second.place, append, wrote_last(source, append.at)};
  if (auto written = write(source, known); !written) return written;
  known_[source] = known;
  if (is_new) ++places_;
  return {};
}

Result<void> LogSources::shorten_to(const Sha256& source, std::uint64_t length) {
  const auto found = known_.find(source);
  if (found == known_.end()) return {};
  found->second.append = as_far_as(found->second.append, length);
  return write(source, found->second);
}

Result<void> LogSources::write(const Sha256& source, const Known& known) {
  const auto& [at_place, append, continues] = known;
  Record record{source, append.from, append.to, append.at, append.bytes, 0};
  if (continues) record.bytes |= kContinues;
  record.check = check_of(record);
  const auto place = static_cast<off_t>(at_place * sizeof record);
  const auto bytes = ::pwrite(file_.get(), &record, sizeof record, place);
  if (bytes == static_cast<ssize_t>(sizeof record)) return {};
  return fail(ErrorCode::storage,
              fmt::format("Where a log came from can't be noted: {}.",
                          bytes < 0 ? std::strerror(errno) : "the disk is full"),
              "Make room on the server's disk.", Retry::may_help);
}

}  // namespace paceline
