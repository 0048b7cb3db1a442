#include "http/query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/nearest.hpp"
#include "base/utf8.hpp"

namespace paceline {
namespace {

std::string shown(std::string_view text) { return to_utf8(text.substr(0, 60)); }

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min,
                                         std::uint64_t max) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < min || value > max) return {};
  return value;
}

QueryReader& QueryReader::flag(std::string_view key, bool& out) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  const bool yes = *value == "1" || *value == "true";
  if (!yes && *value != "0" && *value != "false") return refuse(key, "1 or 0");
  out = yes;
  return *this;
}

QueryReader& QueryReader::text(std::string_view key, std::string& out, std::size_t bytes_max) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  if (value->size() > bytes_max) return refuse(key, fmt::format("at most {} bytes", bytes_max));
  out = *value;
  return *this;
}

QueryReader& QueryReader::refuse(std::string_view key, std::string_view wanted) {
  if (error_) return *this;
  const auto given = query_.find(std::string(key));
  error_ = Error{ErrorCode::invalid,
                 fmt::format("'{}' in the query must be {}, not '{}'.", key, wanted,
                             given == query_.end() ? "" : shown(given->second)),
                 {},
                 Retry::useless};
  return *this;
}

Result<void> QueryReader::finish() {
  if (error_) return fail(*error_);
  for (const auto& [key, value] : query_) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const auto known = nearest(key, known_);
    const auto guess = known ? fmt::format("; did you mean '{}'?", *known) : std::string(".");
    const auto hint = known_.empty() ? std::string("Leave the query out.")
                                     : fmt::format("Known keys: {}.", fmt::join(known_, ", "));
    return fail(ErrorCode::invalid,
                fmt::format("The query has an unknown key '{}'{}", shown(key), guess), hint);
  }
  return {};
}

const std::string* QueryReader::find(std::string_view key) {
  known_.push_back(key);
  if (error_) return nullptr;
  const auto found = query_.find(std::string(key));
  return found == query_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> QueryReader::number(std::string_view key, std::uint64_t min,
                                                 std::uint64_t max) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  const auto read = parse_whole(*value, min, max);
  if (!read) refuse(key, fmt::format("a whole number from {} to {}", min, max));
  return read;
}

}  // namespace paceline
