#include "base/utf8.hpp"

#include <algorithm>

namespace paceline {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// How long a code point that starts with `lead` is, 0 for a byte that starts none.
std::size_t announced_length(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// The second byte carries the bounds against overlong forms, surrogates and U+110000.
bool second_fits(unsigned lead, unsigned second) {
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

// True if the bytes after the lead that are there could belong to it.
bool tail_fits(std::string_view text, std::size_t length) {
  const auto there = std::min(text.size(), length);
  if (there > 1 && !second_fits(byte_at(text, 0), byte_at(text, 1))) return false;
  for (std::size_t i = 2; i < there; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto length = announced_length(byte_at(text, 0));
  return length != 0 && text.size() >= length && tail_fits(text, length) ? length : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = utf8_length(text);
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

bool is_invisible(char32_t point) {
  const auto within = [point](char32_t first, char32_t last) {
    return point >= first && point <= last;
  };
  return point < 0x20 || within(0x7F, 0x9F) || point == 0x061C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069) || point == 0xFEFF;
}

char32_t first_point(std::string_view text) {
  const auto length = utf8_length(text);
  const auto lead = byte_at(text, 0);
  if (length <= 1) return lead;
  char32_t point = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) point = (point << 6) | (byte_at(text, i) & 0x3FU);
  return point;
}

bool is_visible(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0 || is_invisible(first_point(text))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string clean = to_utf8(text);
  for (std::size_t at = 0; at < clean.size();) {
    const std::string_view rest = std::string_view(clean).substr(at);
    const std::size_t length = utf8_length(rest);
    const bool hidden = is_invisible(first_point(rest));
    if (hidden) clean.replace(at, length, " ");
    at += hidden ? 1 : length;
  }
  return clean;
}

std::size_t utf8_unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto tail = text.substr(text.size() - back);
    const auto lead = byte_at(tail, 0);
    if ((lead & 0xC0) == 0x80) continue;
    const auto length = announced_length(lead);
    return length > back && tail_fits(tail, length) ? back : 0;
  }
  return 0;
}

}  // namespace paceline
