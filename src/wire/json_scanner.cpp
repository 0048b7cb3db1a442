#include "wire/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/utf8.hpp"

namespace paceline {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Neither the end of a string, nor an escape, nor a control character.
bool stands_for_itself(char c) {
  return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { put(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | (code >> 6)), tail(0);
  if (code < 0x10000) return put(0xE0 | (code >> 12)), tail(6), tail(0);
  put(0xF0 | (code >> 18)), tail(12), tail(6), tail(0);
}

bool is_high_surrogate(std::uint32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_low_surrogate(std::uint32_t code) { return code >= 0xDC00 && code < 0xE000; }

}  // namespace

bool JsonScanner::accept(char mark) {
  skip_space();
  if (next_ == end_ || *next_ != mark) return false;
  ++next_;
  return true;
}

bool JsonScanner::accept_key(std::string_view key, First first) {
  const char* const before = next_;
  if ((first == First::yes || accept(',')) && accept('"') && accept_word(key) && next_ != end_ &&
      *next_ == '"') {
    ++next_;
    expect(':');
    return ok();
  }
  next_ = before;
  return false;
}

bool JsonScanner::accept_null() {
  skip_space();
  return accept_word("null");
}

JsonScanner& JsonScanner::expect(char mark) {
  if (!accept(mark)) fail(fmt::format("'{}' is missing", mark));
  return *this;
}

JsonScanner& JsonScanner::finish() {
  skip_space();
  if (next_ != end_) fail("the text should end");
  return *this;
}

bool JsonScanner::boolean() {
  skip_space();
  if (accept_word("true")) return true;
  if (!accept_word("false")) fail("true or false is missing");
  return false;
}

double JsonScanner::real() {
  skip_space();
  if (next_ != end_ && *next_ == '"') return named_real();
  const char* const digits = next_ != end_ && *next_ == '-' ? next_ + 1 : next_;
  double value = 0;
  const auto [end, error] = std::from_chars(next_, end_, value);
  if (error != std::errc{} || !is_digit(*digits)) return fail("a number is missing"), 0;
  next_ = end;
  return value;
}

double JsonScanner::named_real() {
  const auto word = text();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  fail("a number is missing");
  return 0;
}

std::string JsonScanner::text() {
  std::string out;
  expect('"');
  while (ok()) {
    const auto run = std::find_if_not(next_, end_, stands_for_itself);
    out.append(next_, run);
    next_ = run;
    if (next_ == end_ || (*next_ != '"' && *next_ != '\\')) fail("a string does not end");
    if (!ok() || *next_++ == '"') break;
    escape(out);
  }
  if (!is_utf8(out)) fail("a string is not UTF-8");
  return ok() ? out : std::string();
}

void JsonScanner::escape(std::string& out) {
  constexpr std::string_view kMarks = "\"\\/bfnrt";
  constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";
  const char mark = next_ == end_ ? '\0' : *next_++;
  if (const auto found = kMarks.find(mark); found != std::string_view::npos) {
    out += kEscaped[found];
    return;
  }
  if (mark != 'u') return fail("an escape is unknown");
  std::uint32_t code = hex4();
  if (is_high_surrogate(code) && accept_word("\\u")) {
    const auto low = hex4();
    code = is_low_surrogate(low) ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
  }
  if (is_high_surrogate(code) || is_low_surrogate(code)) return fail("half a surrogate pair");
  append_utf8(out, code);
}

std::uint32_t JsonScanner::hex4() {
  std::uint32_t code = 0;
  const auto* const stop = next_ + std::min<std::ptrdiff_t>(4, end_ - next_);
  const auto read = std::from_chars(next_, stop, code, 16);
  if (read.ec != std::errc{} || read.ptr != next_ + 4)
    return fail("four hexadecimal digits are missing"), 0;
  next_ += 4;
  return code;
}

std::int64_t JsonScanner::microseconds() {
  const bool negative = accept('-');
  const auto whole_seconds = whole<std::uint64_t>();
  std::uint64_t fraction = 0;
  if (next_ != end_ && *next_ == '.') {
    std::uint64_t unit = kSecond;
    for (++next_; next_ != end_ && is_digit(*next_) && unit > 1; ++next_) {
      unit /= 10;
      fraction += unit * static_cast<std::uint64_t>(*next_ - '0');
    }
  }
  if (next_ != end_ && (is_digit(*next_) || *next_ == 'e' || *next_ == 'E'))
    fail("seconds with at most six digits after the point are missing");
  const auto limit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  if (whole_seconds > limit / kSecond || fraction > limit - whole_seconds * kSecond)
    fail("a time is out of range");
  if (!ok()) return 0;
  const auto us = whole_seconds * kSecond + fraction;
  return static_cast<std::int64_t>(negative ? 0 - us : us);
}

void JsonScanner::fail(std::string_view problem) {
  if (ok()) problem_ = fmt::format("at byte {}, {}", next_ - begin_, problem);
  next_ = end_;
}

void JsonScanner::skip_space() {
  while (next_ != end_ && (*next_ == ' ' || *next_ == '\n' || *next_ == '\t' || *next_ == '\r'))
    ++next_;
}

bool JsonScanner::accept_word(std::string_view word) {
  const std::string_view rest(next_, static_cast<std::size_t>(end_ - next_));
  if (!rest.starts_with(word)) return false;
  next_ += word.size();
  return true;
}

}  // namespace paceline
