#include "http/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/utf8.hpp"

namespace paceline {
namespace {

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return {};
}

// The byte that "%XY" at the start of `text` stands for.
std::optional<char> escaped_byte(std::string_view text) {
  if (text.size() < 3) return {};
  const auto high = hex_value(text[1]);
  const auto low = hex_value(text[2]);
  if (!high || !low || (*high | *low) == 0) return {};
  return static_cast<char>(*high * 16 + *low);
}

// In a query '+' is a space.
Result<std::string> decode_query_word(std::string_view word) {
  std::string spaced(word);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decode(spaced);
}

Result<void> read_pair(std::string_view pair, std::map<std::string, std::string>& query) {
  const auto equals = std::min(pair.find('='), pair.size());
  auto key = decode_query_word(pair.substr(0, equals));
  auto value = decode_query_word(pair.substr(std::min(equals + 1, pair.size())));
  if (!key) return fail(std::move(key.error()));
  if (!value) return fail(std::move(value.error()));
  query[std::move(*key)] = std::move(*value);
  return {};
}

// A slash that was escaped would part the path where its author saw no border.
Result<std::string> decode_path(std::string_view path) {
  const auto slashes = static_cast<std::size_t>(std::ranges::count(path, '/'));
  auto decoded = percent_decode(path);
  if (!decoded || static_cast<std::size_t>(std::ranges::count(*decoded, '/')) == slashes)
    return decoded;
  return fail(ErrorCode::invalid, "The path has an escaped slash.", "Nothing here is named so.");
}

}  // namespace

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = escaped_byte(text.substr(i));
    if (!byte) {
      return fail(ErrorCode::invalid, fmt::format("'{}' has a broken %-escape.", to_utf8(text)),
                  "Write a byte as '%' and two hexadecimal digits.");
    }
    out += *byte;
    i += 2;
  }
  return out;
}

std::string url_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_';
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

Result<Url> parse_url(std::string_view target) {
  if (!target.starts_with('/')) {
    return fail(ErrorCode::invalid, "The request names no path.", "Ask for a path like /v1/jobs.");
  }
  const auto question = std::min(target.find('?'), target.size());
  auto path = decode_path(target.substr(0, question));
  if (!path) return fail(std::move(path.error()));
  Url url{std::move(*path), {}};
  auto rest = target.substr(std::min(question + 1, target.size()));
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    if (end > 0) {
      if (auto read = read_pair(rest.substr(0, end), url.query); !read) return fail(read.error());
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return url;
}

}  // namespace paceline
