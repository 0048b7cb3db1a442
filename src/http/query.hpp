// Reads the query of a request key by key: what ObjectReader is to a JSON object.
//
//   QueryReader query(request);
//   query.flag("all", all).whole("limit", limit, 1, 1000);
//   if (auto read = query.finish(); !read) return fail(read.error());
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.hpp"
#include "http/http.hpp"

namespace paceline {

// Digits alone, from `min` to `max`.
std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min,
                                         std::uint64_t max);

// A key that is absent leaves its value as it is; the first thing that is wrong is remembered.
// REQUIRES: the request and the names of keys outlive the reader.
class QueryReader {
 public:
  explicit QueryReader(const HttpRequest& request) : query_(request.query) {}

  QueryReader& flag(std::string_view key, bool& out);  // 1 or true, 0 or false
  QueryReader& text(std::string_view key, std::string& out, std::size_t bytes_max);
  template <std::unsigned_integral T>
  QueryReader& whole(std::string_view key, T& out, std::type_identity_t<T> min,
                     std::type_identity_t<T> max) {
    if (const auto read = number(key, min, max)) out = static_cast<T>(*read);
    return *this;
  }
  template <std::unsigned_integral T>
  QueryReader& whole(std::string_view key, std::optional<T>& out, std::type_identity_t<T> min,
                     std::type_identity_t<T> max) {
    if (const auto read = number(key, min, max)) out = static_cast<T>(*read);
    return *this;
  }
  // Remembers an error, unless there is one already.
  QueryReader& refuse(std::string_view key, std::string_view wanted);

  // The first error, or a key that nobody asked for.
  Result<void> finish();

 private:
  const std::string* find(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t min, std::uint64_t max);

  const std::map<std::string, std::string>& query_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace paceline
