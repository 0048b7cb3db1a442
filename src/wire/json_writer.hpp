// Writes JSON text key by key, in the order of the calls: what Paceline says has a stable key order
// and is built without a tree in between. Light to include.
//
//   JsonWriter json;
//   json.begin_object().field("id", 7).field("name", "digits").key("nodes").begin_array();
//   json.value("box").end_array().end_object();
//   std::string text = json.take();   // {"id":7,"name":"digits","nodes":["box"]}
//
// Strings become valid UTF-8 on the way; numbers that JSON has no word for (NaN, infinities) become
// null. REQUIRES: begin and end calls match; inside an object every value has a key().
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/time.hpp"
#include "model/wall_clock.hpp"

namespace paceline {

// For fields where 0 and "" say that nothing is known or asked for: null then.
template <class T>
std::optional<T> unless_zero(T value) {
  return value == T{} ? std::nullopt : std::optional<T>(value);
}
inline std::optional<std::string_view> unless_empty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

class JsonWriter {
 public:
  JsonWriter() = default;
  // Takes over `buffer`, emptied: saves an allocation where texts are written again and again.
  explicit JsonWriter(std::string buffer) : out_(std::move(buffer)) { out_.clear(); }

  // For people: from here on points on the time line are written as the wall clock showed them.
  // REQUIRES: the marks outlive the writer.
  JsonWriter& shows_by(const ClockMarks& marks) {
    marks_ = &marks;
    return *this;
  }

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto flag) { return word(flag ? "true" : "false"); }
  JsonWriter& value(std::floating_point auto number) { return real(static_cast<double>(number)); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    if constexpr (std::is_signed_v<T>) return integer(static_cast<std::int64_t>(number));
    return natural(static_cast<std::uint64_t>(number));
  }
  // Seconds since 1970 with microseconds, exactly: 1763636112.123456.
  JsonWriter& value(WallTime at) { return seconds(to_us(at)); }
  // A point on the time line: as it stands there, or as the wall clock showed it (shows_by).
  JsonWriter& value(Time at) {
    return seconds(to_us(marks_ == nullptr ? at : at + ahead_at(*marks_, at)));
  }
  // Seconds with microseconds.
  JsonWriter& value(Duration span) { return seconds(span.count()); }
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  template <class T>
  JsonWriter& field(std::string_view name, const T& what) {
    return key(name).value(what);
  }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }
  // A value that is JSON text already. REQUIRES: `json` is one whole JSON value.
  JsonWriter& raw_field(std::string_view name, std::string_view json) {
    return key(name).raw(json);
  }
  JsonWriter& raw(std::string_view json) { return word(json); }

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& word(std::string_view text);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& natural(std::uint64_t number);
  JsonWriter& real(double number);
  JsonWriter& seconds(std::int64_t us);
  void separate();
  void quote(std::string_view text);

  std::string out_;
  const ClockMarks* marks_ = nullptr;
};

}  // namespace paceline
