// The JSON of journal and checkpoints, described once for both directions. A struct is described by
// the names of its members:
//
//   template <class Fields>
//   void describe(Fields& fields, FieldsOf<Fields, Seat>& seat) {
//     auto& [node, slots] = seat;                 // does not compile if a member is forgotten
//     fields("node", node)("slots", slots);
//   }
//
// The convention: keys stand in the order of the description. What is false or empty (no value, "",
// [], {}) is left out; numbers and words never are, but unless() leaves out whatever is as usual:
// also how a struct gains a member that older journals don't know. Points in time and durations are
// seconds, exact to the microsecond. Doubles are exact to the bit; those that JSON has no number
// for are the strings "nan", "inf" and "-inf". An enumerator is its word, an id its number.
//
// The forms below are for the .cpp files of wire/ alone. Another form than JSON brings a writer and a
// reader of its own (agent/linux/fields.hpp).
#pragma once

#include <cmath>
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/id.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "wire/json_scanner.hpp"
#include "wire/json_writer.hpp"
#include "wire/words.hpp"

namespace paceline {

class FieldWriter;
class FieldReader;

// What a description gets: a writer (Fields::kWrites) sees a const T, a reader one to fill.
template <class Fields, class T>
using FieldsOf = std::conditional_t<Fields::kWrites, const T, T>;

template <class T>
concept Described = requires(FieldWriter& fields, const T& value) {
  describe(fields, value);
};

// How one type stands in JSON.
template <class T>
struct Form;

// ---- the two directions ----

// Writes the members of an object that is open.
class FieldWriter {
 public:
  static constexpr bool kWrites = true;

  explicit FieldWriter(JsonWriter& json) : json_(json) {}

  template <class T>
  FieldWriter& operator()(std::string_view key, const T& value) {
    if (Form<T>::left_out(value)) return *this;
    json_.key(key);
    Form<T>::write(json_, value);
    return *this;
  }
  // Left out if it is `usual`.
  template <class T>
  FieldWriter& unless(const std::type_identity_t<T>& usual, std::string_view key, const T& value) {
    if (value == usual) return *this;
    json_.key(key);
    Form<T>::write(json_, value);
    return *this;
  }
  // A key that older journals have by another name.
  template <class T>
  FieldWriter& formerly(std::string_view /*name*/, std::string_view key, const T& value) {
    return (*this)(key, value);
  }

 private:
  JsonWriter& json_;
};

// Reads them back, in the same order.
class FieldReader {
 public:
  static constexpr bool kWrites = false;

  explicit FieldReader(JsonScanner& in) : in_(in) {}

  template <class T>
  FieldReader& operator()(std::string_view key, T& value) {
    if (in_.accept_key(key, first_)) {
      first_ = First::no;
      Form<T>::read(in_, value);
    } else if (value = T{}; !Form<T>::left_out(value)) {
      in_.fail("the key '" + std::string(key) + "' is missing");
    }
    return *this;
  }
  // `usual` where it was left out.
  template <class T>
  FieldReader& unless(const std::type_identity_t<T>& usual, std::string_view key, T& value) {
    if (in_.accept_key(key, first_)) {
      first_ = First::no;
      Form<T>::read(in_, value);
    } else {
      value = usual;
    }
    return *this;
  }
  template <class T>
  FieldReader& formerly(std::string_view name, std::string_view key, T& value) {
    if (!in_.accept_key(name, first_)) return (*this)(key, value);
    first_ = First::no;
    Form<T>::read(in_, value);
    return *this;
  }

 private:
  JsonScanner& in_;
  First first_ = First::yes;
};

template <class T>
void write_form(JsonWriter& json, const T& value) {
  Form<T>::write(json, value);
}

// Errors: data, with what is wrong where.
template <class T>
Result<T> read_form(std::string_view text) {
  JsonScanner in(text);
  T value{};
  Form<T>::read(in, value);
  in.finish();
  if (!in.ok()) return fail(ErrorCode::data, in.problem());
  return value;
}

// ---- the forms ----

struct NeverLeftOut {
  template <class T>
  static constexpr bool left_out(const T&) {
    return false;
  }
};

template <Described T>
struct Form<T> : NeverLeftOut {
  static void write(JsonWriter& json, const T& value) {
    json.begin_object();
    FieldWriter fields(json);
    describe(fields, value);
    json.end_object();
  }
  static void read(JsonScanner& in, T& value) {
    in.expect('{');
    FieldReader fields(in);
    describe(fields, value);
    in.expect('}');
  }
};

template <>
struct Form<bool> {
  static bool left_out(bool value) { return !value; }
  static void write(JsonWriter& json, bool value) { json.value(value); }
  static void read(JsonScanner& in, bool& value) { value = in.boolean(); }
};

template <std::integral T>
requires(!std::same_as<T, bool>) struct Form<T> : NeverLeftOut {
  static void write(JsonWriter& json, T value) { json.value(value); }
  static void read(JsonScanner& in, T& value) { value = in.whole<T>(); }
};

template <>
struct Form<double> : NeverLeftOut {
  static void write(JsonWriter& json, double value) {
    if (std::isfinite(value)) {
      json.value(value);
    } else {
      json.value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
  }
  static void read(JsonScanner& in, double& value) { value = in.real(); }
};

template <>
struct Form<std::string> {
  static bool left_out(const std::string& value) { return value.empty(); }
  static void write(JsonWriter& json, const std::string& value) { json.value(value); }
  static void read(JsonScanner& in, std::string& value) { value = in.text(); }
};

template <>
struct Form<Time> : NeverLeftOut {
  static void write(JsonWriter& json, Time value) { json.value(value); }
  static void read(JsonScanner& in, Time& value) { value = time_from_us(in.microseconds()); }
};

template <>
struct Form<WallTime> : NeverLeftOut {
  static void write(JsonWriter& json, WallTime value) { json.value(value); }
  static void read(JsonScanner& in, WallTime& value) { value = wall_from_us(in.microseconds()); }
};

template <>
struct Form<Duration> : NeverLeftOut {
  static void write(JsonWriter& json, Duration value) { json.value(value); }
  static void read(JsonScanner& in, Duration& value) { value = Duration{in.microseconds()}; }
};

template <class Tag, class Rep>
struct Form<Id<Tag, Rep>> : NeverLeftOut {
  static void write(JsonWriter& json, Id<Tag, Rep> id) { json.value(id.value); }
  static void read(JsonScanner& in, Id<Tag, Rep>& id) { id.value = in.whole<Rep>(); }
};

template <class E>
requires std::is_enum_v<E>
struct Form<E> : NeverLeftOut {
  static void write(JsonWriter& json, E value) { json.value(word_of(value)); }
  static void read(JsonScanner& in, E& value) {
    const auto word = in.text();
    const auto known = parse_word<E>(word);
    if (!known) in.fail("the word '" + word + "' is unknown");
    value = known.value_or(E{});
  }
};

template <class T>
struct Form<std::optional<T>> {
  static bool left_out(const std::optional<T>& value) { return !value; }
  static void write(JsonWriter& json, const std::optional<T>& value) { write_form(json, *value); }
  static void read(JsonScanner& in, std::optional<T>& value) { Form<T>::read(in, value.emplace()); }
};

template <class T>
struct Form<std::shared_ptr<const T>> : NeverLeftOut {
  static void write(JsonWriter& json, const std::shared_ptr<const T>& value) {
    write_form(json, *value);
  }
  static void read(JsonScanner& in, std::shared_ptr<const T>& value) {
    auto read = std::make_shared<T>();
    Form<T>::read(in, *read);
    value = std::move(read);
  }
};

// Two of a kind of table: [4,3.5].
template <class A, class B>
struct Form<std::pair<A, B>> : NeverLeftOut {
  static void write(JsonWriter& json, const std::pair<A, B>& value) {
    json.begin_array();
    write_form(json, value.first);
    write_form(json, value.second);
    json.end_array();
  }
  static void read(JsonScanner& in, std::pair<A, B>& value) {
    in.expect('[');
    Form<A>::read(in, value.first);
    in.expect(',');
    Form<B>::read(in, value.second);
    in.expect(']');
  }
};

template <class T>
struct Form<std::vector<T>> {
  static bool left_out(const std::vector<T>& value) { return value.empty(); }
  static void write(JsonWriter& json, const std::vector<T>& value) {
    json.begin_array();
    for (const auto& each : value) write_form(json, each);
    json.end_array();
  }
  static void read(JsonScanner& in, std::vector<T>& value) {
    in.expect('[');
    if (in.accept(']')) return;
    do Form<T>::read(in, value.emplace_back());
    while (in.accept(','));
    in.expect(']');
  }
};

template <class T>
struct Form<std::map<std::string, T>> {
  using Map = std::map<std::string, T>;
  static bool left_out(const Map& value) { return value.empty(); }
  static void write(JsonWriter& json, const Map& value) {
    json.begin_object();
    for (const auto& [name, each] : value) {
      json.key(name);
      write_form(json, each);
    }
    json.end_object();
  }
  static void read(JsonScanner& in, Map& value) {
    in.expect('{');
    if (in.accept('}')) return;
    do {
      auto name = in.text();
      in.expect(':');
      T each{};
      Form<T>::read(in, each);
      if (!value.emplace(std::move(name), std::move(each)).second) in.fail("a key stands twice");
    } while (in.accept(','));
    in.expect('}');
  }
};

}  // namespace paceline
