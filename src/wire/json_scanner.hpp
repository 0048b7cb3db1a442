// Reads a JSON text that Paceline itself wrote, front to back and without a tree in between: the
// journal and the checkpoints, where keys come in one order. Text from outside goes through
// parse_json() (wire/json.hpp).
//
//   JsonScanner in(R"({"rank":0,"at":12.5})");
//   in.expect('{');
//   if (in.accept_key("rank", First::yes)) rank = in.whole<std::int32_t>();
//   if (in.accept_key("at", First::no)) at = time_from_us(in.microseconds());
//   in.expect('}').finish();
//   if (!in.ok()) …in.problem()…
//
// The first problem is remembered; from then on every read gives zero or empty and every accept is
// false, so loops end. Numbers are read exactly: doubles to the bit, seconds to the microsecond.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

// Is it the first key of its object? Every other one follows a comma.
enum class First { no, yes };

class JsonScanner {
 public:
  // Keeps a view of the text.
  explicit JsonScanner(std::string_view text)
      : next_(text.data()), end_(next_ + text.size()), begin_(next_) {}

  // Takes the mark if it comes next.
  bool accept(char mark);
  // Takes `"key":` if it comes next, with its comma. REQUIRES: a key of letters, digits and '_'.
  bool accept_key(std::string_view key, First first);
  // Takes `null` if it comes next.
  bool accept_null();

  JsonScanner& expect(char mark);
  // Nothing but white space may follow.
  JsonScanner& finish();

  bool boolean();
  double real();  // also of the words "nan", "inf" and "-inf"
  std::string text();
  // A decimal number of seconds with at most six digits after the point.
  std::int64_t microseconds();

  template <std::integral T>
  T whole() {
    T value{};
    skip_space();
    const auto [end, error] = std::from_chars(next_, end_, value);
    if (error != std::errc{}) return fail("a whole number that fits is missing"), T{};
    if (ok()) next_ = end;
    return ok() ? value : T{};
  }

  // Remembers what is wrong here, unless something was wrong before.
  void fail(std::string_view problem);
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  // "at byte 12, '}' is missing"
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void skip_space();
  bool accept_word(std::string_view word);
  void escape(std::string& out);
  std::uint32_t hex4();
  double named_real();

  const char* next_;
  const char* end_;
  const char* begin_;
  std::string problem_;
};

}  // namespace paceline
