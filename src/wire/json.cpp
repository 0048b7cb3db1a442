#include "wire/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest.hpp"
#include "base/utf8.hpp"

namespace paceline {
namespace {

constexpr double kYearSeconds = 366.0 * 86'400;
constexpr double kSpanSecondsMax = 100 * kYearSeconds;
constexpr double kTimeSecondsMax = 8'000 * kYearSeconds;

// A value as it is shown in an error: short, on one line.
std::string shown(const Json& value) {
  constexpr std::size_t kShownMax = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownMax) text = to_utf8(text.substr(0, kShownMax)) + "…";
  return text;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_text(const Json& value) {
  return value.is_string() && !has_nul(value.get_ref<const std::string&>());
}

bool is_whole(const Json& value, std::int64_t min, std::int64_t max) {
  if (!value.is_number_integer()) return false;
  const bool over_int64 = value.is_number_unsigned() &&
                          value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  return !over_int64 && value.get<std::int64_t>() >= min && value.get<std::int64_t>() <= max;
}

}  // namespace

ObjectReader::ObjectReader(const Json& value, std::string_view what) : what_(what) {
  if (value.is_object()) {
    object_ = &value;
  } else {
    refuse({ErrorCode::invalid,
            fmt::format("{} must be a JSON object, not {}.", what_, shown(value)),
            {},
            Retry::useless});
  }
}

ObjectReader& ObjectReader::require(std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (find(key) != nullptr || error_) continue;
    refuse({ErrorCode::invalid,
            fmt::format("{} lacks the key '{}'.", what_, key),
            {},
            Retry::useless});
  }
  return *this;
}

ObjectReader& ObjectReader::flag(std::string_view key, bool& out) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  if (!value->is_boolean()) return mismatch(key, "true or false", *value);
  out = value->get<bool>();
  return *this;
}

ObjectReader& ObjectReader::text(std::string_view key, std::string& out, std::size_t bytes_max) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  if (!value->is_string()) return mismatch(key, "a string", *value);
  const auto& read = value->get_ref<const std::string&>();
  if (read.size() > bytes_max || has_nul(read)) {
    return mismatch(key, fmt::format("at most {} bytes without NUL", bytes_max), *value);
  }
  out = read;
  return *this;
}

ObjectReader& ObjectReader::texts(std::string_view key, std::vector<std::string>& out,
                                  std::size_t count_max) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  if (!value->is_array() || value->size() > count_max || !std::ranges::all_of(*value, is_text)) {
    return mismatch(key, fmt::format("a list of at most {} strings without NUL", count_max),
                    *value);
  }
  out.clear();
  for (const auto& each : *value) out.push_back(each.get_ref<const std::string&>());
  return *this;
}

ObjectReader& ObjectReader::text_map(std::string_view key, std::map<std::string, std::string>& out,
                                     std::size_t count_max) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  if (!value->is_object() || value->size() > count_max || !std::ranges::all_of(*value, is_text)) {
    return mismatch(key, fmt::format("an object of at most {} strings without NUL", count_max),
                    *value);
  }
  out.clear();
  for (const auto& [name, each] : value->items()) out[name] = each.get_ref<const std::string&>();
  return *this;
}

ObjectReader& ObjectReader::real(std::string_view key, double& out, double min, double max) {
  std::optional<double> read;
  real(key, read, min, max);
  if (read) out = *read;
  return *this;
}

ObjectReader& ObjectReader::real(std::string_view key, std::optional<double>& out, double min,
                                 double max) {
  if (const auto read = number(key, min, max, fmt::format("a number from {:g} to {:g}", min, max)))
    out = *read;
  return *this;
}

ObjectReader& ObjectReader::seconds(std::string_view key, Duration& out) {
  std::optional<Duration> read;
  seconds(key, read);
  if (read) out = *read;
  return *this;
}

ObjectReader& ObjectReader::seconds(std::string_view key, std::optional<Duration>& out) {
  if (const auto read = number(key, 0, kSpanSecondsMax, "a number of seconds, at most 100 years")) {
    out = from_seconds(*read);
  }
  return *this;
}

ObjectReader& ObjectReader::time(std::string_view key, std::optional<WallTime>& out) {
  if (const auto read = number(key, 0, kTimeSecondsMax, "a time in seconds since 1970")) {
    out = WallTime{from_seconds(*read)};
  }
  return *this;
}

ObjectReader& ObjectReader::wholes(std::string_view key, std::vector<std::int64_t>& out,
                                   std::int64_t min, std::int64_t max, std::size_t count_max) {
  const auto* value = find(key);
  if (value == nullptr) return *this;
  const auto fits = [&](const Json& each) { return is_whole(each, min, max); };
  if (!value->is_array() || value->size() > count_max || !std::ranges::all_of(*value, fits)) {
    return mismatch(
        key, fmt::format("a list of at most {} whole numbers from {} to {}", count_max, min, max),
        *value);
  }
  out.clear();
  for (const auto& each : *value) out.push_back(each.get<std::int64_t>());
  return *this;
}

const Json* ObjectReader::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.push_back(key);
  if (error_ || object_ == nullptr) return nullptr;
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

ObjectReader& ObjectReader::refuse(Error error) {
  if (!error_) error_ = std::move(error);
  return *this;
}

ObjectReader& ObjectReader::mismatch(std::string_view key, std::string_view wanted,
                                     const Json& found) {
  return refuse({ErrorCode::invalid,
                 fmt::format("'{}' in {} must be {}, not {}.", key, what_, wanted, shown(found)),
                 {},
                 Retry::useless});
}

Result<void> ObjectReader::finish() {
  if (error_) return fail(*error_);
  for (const auto& [key, value] : object_->items()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const auto name = shown(Json(key));
    const auto known = nearest(key, known_);
    const auto guess = known ? fmt::format("; did you mean '{}'?", *known) : std::string(".");
    return fail(ErrorCode::invalid, fmt::format("{} has an unknown key {}{}", what_, name, guess),
                fmt::format("Known keys: {}.", fmt::join(known_, ", ")));
  }
  return {};
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, std::int64_t min,
                                                  std::int64_t max) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  if (is_whole(*value, min, max)) return value->get<std::int64_t>();
  mismatch(key, fmt::format("a whole number from {} to {}", min, max), *value);
  return {};
}

std::optional<double> ObjectReader::number(std::string_view key, double min, double max,
                                           std::string_view wanted) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  if (value->is_number()) {
    const auto read = value->get<double>();
    if (std::isfinite(read) && read >= min && read <= max) return read;
  }
  mismatch(key, wanted, *value);
  return {};
}

}  // namespace paceline
