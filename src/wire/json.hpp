// Reading JSON from outside: bounded parsing, and checked readers that turn one object into values
// or into one clear sentence about what is wrong with it.
//
//   auto body = parse_json(text);
//   if (!body) return fail(body.error());
//   ObjectReader reader(*body, "body");
//   reader.require({"name"}).text("name", name, kNameLengthMax).whole("workers", workers, 1, 100);
//   if (auto read = reader.finish(); !read) return fail(read.error());
//
// Include <nlohmann/json.hpp> where a Json is touched; this header only names it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

using Json = nlohmann::json;

struct JsonBounds {
  std::size_t bytes_max = 4 << 20;
  std::size_t depth_max = 32;        // of arrays and objects in each other
  std::size_t values_max = 1 << 20;  // scalars, arrays and objects together
};

// Errors: too_large (over a bound); invalid (not JSON, not UTF-8, a key twice in one object).
Result<Json> parse_json(std::string_view text, const JsonBounds& bounds = {});

// Reads the keys of one object, in any order. A key that is absent or null leaves its value as it
// is. The first thing that is wrong is remembered and everything after it is skipped; finish()
// tells it, and refuses keys that nobody asked for, naming the nearest one that is known. Keeps a
// reference to `value` and the names of keys: both must outlive it.
class ObjectReader {
 public:
  // `what` names the object in errors: "spec", "body".
  ObjectReader(const Json& value, std::string_view what);

  // Keys that must be there and not null.
  ObjectReader& require(std::initializer_list<std::string_view> keys);

  ObjectReader& flag(std::string_view key, bool& out);
  // At most `bytes_max` bytes, without NUL.
  ObjectReader& text(std::string_view key, std::string& out, std::size_t bytes_max);
  ObjectReader& texts(std::string_view key, std::vector<std::string>& out, std::size_t count_max);
  ObjectReader& text_map(std::string_view key, std::map<std::string, std::string>& out,
                         std::size_t count_max);
  // A number from `min` to `max`.
  ObjectReader& real(std::string_view key, double& out, double min, double max);
  ObjectReader& real(std::string_view key, std::optional<double>& out, double min, double max);
  // Seconds as a number, fractions allowed, from 0 to 100 years.
  ObjectReader& seconds(std::string_view key, Duration& out);
  ObjectReader& seconds(std::string_view key, std::optional<Duration>& out);
  // Seconds since 1970.
  ObjectReader& time(std::string_view key, std::optional<WallTime>& out);

  // A whole number from `min` to `max`. REQUIRES: both fit a std::int64_t.
  template <std::integral T>
  ObjectReader& whole(std::string_view key, T& out, std::type_identity_t<T> min,
                      std::type_identity_t<T> max) {
    const auto number =
        integer(key, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
    if (number) out = static_cast<T>(*number);
    return *this;
  }
  template <std::integral T>
  ObjectReader& whole(std::string_view key, std::optional<T>& out, std::type_identity_t<T> min,
                      std::type_identity_t<T> max) {
    T value{};
    const auto number =
        integer(key, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
    if (number) out = value = static_cast<T>(*number);
    return *this;
  }
  // Whole numbers from `min` to `max`.
  ObjectReader& wholes(std::string_view key, std::vector<std::int64_t>& out, std::int64_t min,
                       std::int64_t max, std::size_t count_max);

  // The value of a key for readers of their own; nullptr if absent, null, or something was wrong.
  const Json* find(std::string_view key);
  // Remembers an error, unless there is one already.
  ObjectReader& refuse(Error error);
  // "'key' in <what> must be <wanted>, not <found>."
  ObjectReader& mismatch(std::string_view key, std::string_view wanted, const Json& found);

  [[nodiscard]] bool ok() const { return !error_; }
  Result<void> finish();

 private:
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view key, double min, double max,
                               std::string_view wanted);

  const Json* object_ = nullptr;
  std::string what_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace paceline
