// The text in which an agent and the processes that it raises write to each other: names and values,
// each ended by a NUL byte, so that command lines and environments need no quoting and a supervisor
// reads an order of a megabyte without a parser's memory. A struct is described once for both
// directions, as for JSON (wire/fields.hpp):
//
//   template <class Fields>
//   void describe(Fields& fields, FieldsOf<Fields, RunLimit>& limit) {
//     auto& [left, signal, grace] = limit;
//     fields("run.left_us", left)("run.signal", signal)("run.grace_us", grace);
//   }
//   TextWriter out;
//   describe(out, limit);
//   TextReader in(out.text());
//   describe(in, read);                            // in.ok(): every field was there, and was one
//
// The convention: names stand in the order of the description. Text and numbers always stand, those
// of unless() only where they are not as usual, which is also how a struct gains a member that
// earlier versions don't know. A vector is its name again for each element; an optional without a
// value is left out. Durations are microseconds, bools 0 and 1, enumerators their words.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "wire/fields.hpp"
#include "wire/words.hpp"

namespace paceline::agent {

// How one type stands in such a text. `read` answers false for what is none of its values.
template <class T>
struct TextForm;

class TextWriter {
 public:
  static constexpr bool kWrites = true;

  // A value is cut at its first NUL byte.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::int64_t value);

  template <class T>
  TextWriter& operator()(std::string_view name, const T& value) {
    add(name, std::string_view(TextForm<T>::write(value)));
    return *this;
  }
  template <class T>
  TextWriter& operator()(std::string_view name, const std::vector<T>& values) {
    for (const T& value : values) (*this)(name, value);
    return *this;
  }
  template <class T>
  TextWriter& operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
    return *this;
  }
  template <class T>
  TextWriter& unless(const std::type_identity_t<T>& usual, std::string_view name, const T& value) {
    return value == usual ? *this : (*this)(name, value);
  }
  // A struct that may be missing. Its names, and no others here, begin with `prefix`.
  template <class T>
  TextWriter& part(std::string_view, const std::optional<T>& value) {
    if (value) describe(*this, *value);
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A view into `text`, which is to outlive it.
class TextReader {
 public:
  static constexpr bool kWrites = false;

  explicit TextReader(std::string_view text) : rest_(text) {}

  // The value of the next field, if that has this name and was not cut off.
  std::optional<std::string_view> accept(std::string_view name);

  template <class T>
  TextReader& operator()(std::string_view name, T& value) {
    return read(accept(name), value);
  }
  template <class T>
  TextReader& operator()(std::string_view name, std::vector<T>& values) {
    while (const auto text = accept(name)) read(text, values.emplace_back());
    return *this;
  }
  template <class T>
  TextReader& operator()(std::string_view name, std::optional<T>& value) {
    const auto text = accept(name);
    return text ? read(text, value.emplace()) : *this;
  }
  template <class T>
  TextReader& unless(const std::type_identity_t<T>& usual, std::string_view name, T& value) {
    value = usual;
    const auto text = accept(name);
    return text ? read(text, value) : *this;
  }
  template <class T>
  TextReader& part(std::string_view prefix, std::optional<T>& value) {
    if (rest_.starts_with(prefix)) describe(*this, value.emplace());
    return *this;
  }

  // False once a field was missing, or was none of its type's values.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  template <class T>
  TextReader& read(const std::optional<std::string_view>& text, T& value) {
    ok_ = text && TextForm<T>::read(*text, value) && ok_;
    return *this;
  }

  std::string_view rest_;
  bool ok_ = true;
};

using NamedField = std::pair<std::string_view, std::string_view>;

// All of a text, in the order written; views into it. A last field that was cut off is left out.
std::vector<NamedField> fields(std::string_view text);

// A decimal number; 0 for anything else.
std::int64_t field_number(std::string_view value);

// ---- the forms ----

template <>
struct TextForm<std::string> {
  static std::string_view write(const std::string& value) { return value; }
  static bool read(std::string_view text, std::string& value) {
    value = text;
    return true;
  }
};

template <std::integral T>
struct TextForm<T> {
  static std::string write(T value) { return std::to_string(value); }
  static bool read(std::string_view text, T& value) {
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stopped == end;
  }
};

template <>
struct TextForm<bool> {
  static std::string_view write(bool value) { return value ? "1" : "0"; }
  static bool read(std::string_view text, bool& value) {
    value = text == "1";
    return value || text == "0";
  }
};

template <>
struct TextForm<double> {
  static std::string write(double value) { return std::to_string(value); }
  static bool read(std::string_view text, double& value);
};

template <>
struct TextForm<Duration> {
  static std::string write(Duration value) { return std::to_string(value.count()); }
  static bool read(std::string_view text, Duration& value) {
    std::int64_t count = 0;
    const bool known = TextForm<std::int64_t>::read(text, count);
    value = Duration{count};
    return known;
  }
};

template <class E>
requires std::is_enum_v<E>
struct TextForm<E> {
  static std::string_view write(E value) { return word_of(value); }
  static bool read(std::string_view text, E& value) {
    const auto known = parse_word<E>(text);
    value = known.value_or(E{});
    return known.has_value();
  }
};

}  // namespace paceline::agent
