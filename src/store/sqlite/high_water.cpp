#include "store/sqlite/high_water.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "files/own.hpp"
#include "store/sqlite/sum.hpp"

namespace paceline {
namespace {

constexpr std::size_t kRecord = 512;  // bytes: what disks write whole
constexpr std::size_t kRecords = 2;

struct Record {
  std::uint64_t number = 0;  // of the write
  Mark mark;
};

tl::unexpected<Error> cannot_write(const std::filesystem::path& file) {
  const int reason = errno;
  return fail(ErrorCode::storage,
              fmt::format("{} can't be written: {}.", file.string(), std::strerror(reason)),
              std::string(remedy(reason)), Retry::may_help);
}

std::string sealed(std::string text) {
  text += fmt::format(" digest {}\n", sum_of(text));
  text.resize(kRecord, '\0');
  return text;
}

// As versions before wrote it, without a generation.
std::string first_text_of(const Record& record) {
  const auto& [number, mark] = record;
  return fmt::format("write {} entry {} jobs {} sum {}", number, mark.seq, mark.jobs, mark.sum);
}

std::string text_of(const Record& record) {
  return first_text_of(record) + fmt::format(" generation {}", record.mark.generation.value);
}

std::optional<Record> parse(const std::string& text) {
  Record record;
  Mark& mark = record.mark;
  std::string word;
  std::istringstream words(text);
  words >> word >> record.number >> word >> mark.seq >> word >> mark.jobs >> word >> mark.sum;
  if (!words) return std::nullopt;
  if (text == sealed(first_text_of(record))) {
    mark.generation = generation_within(mark.seq);
    return record;
  }
  words >> word >> mark.generation.value;
  if (!words || text != sealed(text_of(record))) return std::nullopt;
  return record;
}

}  // namespace

Generation generation_within(std::uint64_t entries) {
  return Generation{static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, kGenerationMax))};
}

Result<HighWater> HighWater::open(const std::filesystem::path& dir) {
  HighWater mark;
  mark.file_ = dir / "paceline.mark";
  if (auto ours = check_own_file(mark.file_, S_IFREG); !ours) return fail(ours.error());
  mark.fd_ = ::open(mark.file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (mark.fd_ < 0) return cannot_write(mark.file_);
  std::array<char, kRecord * kRecords> bytes{};
  const auto size = ::pread(mark.fd_, bytes.data(), bytes.size(), 0);
  if (size < 0) return cannot_write(mark.file_);
  for (std::size_t i = 0; i < kRecords; ++i) {
    const auto record = parse({bytes.data() + i * kRecord, kRecord});
    if (!record || record->number < mark.writes_) continue;
    mark.writes_ = record->number;
    mark.known_ = record->mark;
  }
  mark.damaged_ = size > 0 && !mark.known_;
  // So that a disk that fills up later has room for it; where blocks can't be kept, the reserve serves.
  static_cast<void>(::fallocate(mark.fd_, FALLOC_FL_KEEP_SIZE, 0, kRecord * kRecords));
  return mark;
}

HighWater::HighWater(HighWater&& other) noexcept { *this = std::move(other); }

HighWater& HighWater::operator=(HighWater&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(fd_, other.fd_);
  std::swap(known_, other.known_);
  std::swap(damaged_, other.damaged_);
  std::swap(writes_, other.writes_);
  return *this;
}

HighWater::~HighWater() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> HighWater::raise(const Mark& mark) {
  const auto text = sealed(text_of({writes_ + 1, mark}));
  const auto at = static_cast<off_t>((writes_ + 1) % kRecords * kRecord);
  if (::pwrite(fd_, text.data(), text.size(), at) != static_cast<ssize_t>(text.size()))
    return cannot_write(file_);
  ++writes_;
  known_ = mark;
  damaged_ = false;
  return {};
}

Result<void> HighWater::sync() {
  if (::fdatasync(fd_) != 0) return cannot_write(file_);
  return {};
}

}  // namespace paceline
