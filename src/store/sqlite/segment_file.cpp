#include "store/sqlite/segment_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/number.hpp"
#include "files/fd.hpp"
#include "files/own.hpp"

namespace paceline {
namespace {

constexpr int kLevel = 5;
constexpr int kGzip = 16;  // the wrapping, in zlib's words
constexpr std::uint64_t kFileMax = std::uint64_t{1} << 30;
constexpr std::size_t kTextMax = std::size_t{1} << 30;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kHeadMax = 128;
constexpr std::string_view kEnding = ".jsonl.gz";

// RFC 1952: a member without data whose comment tells the times; `zcat` passes over it.
std::string head_of(Time from, Time until) {
  constexpr unsigned char kComment = 16, kUnknownSystem = 255;
  const std::array<unsigned char, 10> fixed = {0x1f, 0x8b, 8, kComment, 0,
                                               0,    0,    0, 0,        kUnknownSystem};
  std::string head(fixed.begin(), fixed.end());
  head += fmt::format("{} {}", to_us(from), to_us(until));
  head += '\0';
  head += std::string("\x03\x00", 2);  // an empty block
  return head.append(8, '\0');         // its sum and its length
}

bool read_head(std::string_view bytes, Segment& segment) {
  constexpr std::size_t kFixed = 10;
  if (bytes.size() < kFixed) return false;
  auto text = bytes.substr(kFixed, kHeadMax);
  const auto end = text.find('\0');
  const auto space = text.find(' ');
  if (end == std::string_view::npos || space >= end) return false;
  const auto from = parse_number<std::int64_t>(text.substr(0, space));
  const auto until = parse_number<std::int64_t>(text.substr(space + 1, end - space - 1));
  if (!from || !until) return false;
  segment.from = time_from_us(*from);
  segment.until = time_from_us(*until);
  return true;
}

Error cannot_read(const std::filesystem::path& file, int reason) {
  return {ErrorCode::storage,
          fmt::format("{} can't be read: {}.", file.string(), std::strerror(reason)),
          std::string(remedy(reason)), Retry::may_help};
}

Error damaged(const std::filesystem::path& file) {
  const auto segment = parse_segment_name(file.filename().string());
  if (!segment) {
    return {ErrorCode::data, fmt::format("{} is no segment of a journal.", file.string()),
            "Move it away.", Retry::useless};
  }
  return {ErrorCode::data,
          fmt::format("{} is damaged: entries {} to {} of the journal can't be read.",
                      file.string(), segment->first, segment->last),
          fmt::format("Put back a copy of it, or read on from entry {}.", segment->last + 1),
          Retry::useless};
}

Result<std::string> read_bytes(const std::filesystem::path& file, std::uint64_t max) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail(cannot_read(file, errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size > kFileMax) return fail(damaged(file));
  std::string bytes(std::min(size, max), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto count =
        ::pread(fd.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (count < 0) return fail(cannot_read(file, errno));
    if (count == 0) break;
    at += static_cast<std::size_t>(count);
  }
  bytes.resize(at);
  return bytes;
}

// Of all members. Nothing: they are damaged.
std::optional<std::string> inflated(std::string& bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  int done = Z_OK;
  while (done == Z_OK && text.size() < kTextMax) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = kPiece;
    done = ::inflate(&stream, Z_NO_FLUSH);
    text.resize(before + kPiece - stream.avail_out);
    if (done == Z_STREAM_END && stream.avail_in > 0) done = ::inflateReset(&stream);
  }
  ::inflateEnd(&stream);
  if (done != Z_STREAM_END) return std::nullopt;
  return text;
}

}  // namespace

std::string name_of(const Segment& segment) {
  return fmt::format("{:012}-{:012}-{:016x}{}", segment.first, segment.last, segment.sum, kEnding);
}

std::optional<Segment> parse_segment_name(std::string_view name) {
  if (!name.ends_with(kEnding)) return std::nullopt;
  const std::string_view numbers = name.substr(0, name.size() - kEnding.size());
  const auto one = numbers.find('-'), two = numbers.rfind('-');
  if (one == std::string_view::npos || one == two) return std::nullopt;
  const auto first = parse_number<std::uint64_t>(numbers.substr(0, one));
  const auto last = parse_number<std::uint64_t>(numbers.substr(one + 1, two - one - 1));
  const auto digits = numbers.substr(two + 1);
  std::uint64_t sum = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!first || !last || !whole || *first == 0 || *last < *first) return std::nullopt;
  Segment segment{*first, *last, sum, 0, {}, {}};
  if (name_of(segment) != name) return std::nullopt;
  return segment;
}

struct SegmentWriter::Impl {
  Impl() {
    check(::deflateInit2(&stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) ==
              Z_OK,
          "zlib begins");
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { ::deflateEnd(&stream); }

  void put(std::string_view text, int flush) {
    // zlib's interface is older than const; it doesn't write there.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    do {
      const std::size_t before = bytes.size();
      bytes.resize(before + kPiece);
      stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
      stream.avail_out = kPiece;
      (void)::deflate(&stream, flush);
      bytes.resize(before + kPiece - stream.avail_out);
    } while (stream.avail_out == 0);
  }

  z_stream stream{};
  std::string bytes;
  Segment segment;
  std::uint64_t text_bytes = 0;
};

SegmentWriter::SegmentWriter() : impl_(std::make_unique<Impl>()) {}
SegmentWriter::~SegmentWriter() = default;
SegmentWriter::SegmentWriter(SegmentWriter&&) noexcept = default;
SegmentWriter& SegmentWriter::operator=(SegmentWriter&&) noexcept = default;

void SegmentWriter::add(std::uint64_t seq, Time at, std::string_view text) {
  Segment& segment = impl_->segment;
  check(segment.first == 0 || seq == segment.last + 1, "entries follow each other");
  if (segment.first == 0) {
    segment.first = seq;
    segment.from = at;
  }
  segment.last = seq;
  segment.until = at;
  impl_->put(text, Z_NO_FLUSH);
  impl_->put("\n", Z_NO_FLUSH);
  impl_->text_bytes += text.size() + 1;
}

std::uint64_t SegmentWriter::entries() const {
  return impl_->segment.first == 0 ? 0 : impl_->segment.entries();
}

std::uint64_t SegmentWriter::text_bytes() const { return impl_->text_bytes; }

SegmentWriter::File SegmentWriter::finish() && {
  check(entries() > 0, "a segment has an entry");
  impl_->put({}, Z_FINISH);
  File file{impl_->segment, head_of(impl_->segment.from, impl_->segment.until) + impl_->bytes};
  file.segment.bytes = file.bytes.size();
  file.segment.sum = Digest().add(file.bytes).value();
  return file;
}

SegmentLines::SegmentLines(std::uint64_t first, std::string text)
    : first_(first), text_(std::move(text)) {
  for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', end + 1))
    ends_.push_back(end);
}

std::string_view SegmentLines::at(std::uint64_t seq) const {
  const auto index = static_cast<std::size_t>(seq - first_);
  check(seq >= first_ && index < ends_.size(), "the segment has the entry");
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1] + 1;
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

Result<Segment> look_at_segment(const std::filesystem::path& file) {
  auto segment = parse_segment_name(file.filename().string());
  if (!segment) return fail(damaged(file));
  std::error_code error;
  segment->bytes = std::filesystem::file_size(file, error);
  const auto head = read_bytes(file, kHeadMax);
  if (!head) return fail(head.error());
  // A damaged head is damage of the whole, which is told where it is read.
  if (!read_head(*head, *segment)) segment->from = segment->until = Time();
  return *segment;
}

Result<SegmentLines> read_segment(const std::filesystem::path& file) {
  const auto segment = parse_segment_name(file.filename().string());
  auto bytes = read_bytes(file, kFileMax);
  if (!bytes) return fail(bytes.error());
  if (!segment || Digest().add(std::string_view(*bytes)).value() != segment->sum)
    return fail(damaged(file));
  auto text = inflated(*bytes);
  if (!text) return fail(damaged(file));
  SegmentLines lines(segment->first, std::move(*text));
  if (lines.entries() != segment->entries()) return fail(damaged(file));
  return lines;
}

}  // namespace paceline
