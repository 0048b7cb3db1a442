// parse_json(): builds the tree from nlohmann's event stream, so that bounds and doubled keys are
// found while reading, before memory is spent on what is refused.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

class TreeBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit TreeBuilder(const JsonBounds& bounds) : bounds_(bounds) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(std::move(value)); }
  bool binary(binary_t&) { return refuse("it holds binary data"); }

  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    auto& object = *open_.back();
    if (object.contains(name)) {
      return refuse(
          fmt::format("the key '{}' stands twice in one object", to_utf8(name.substr(0, 60))));
    }
    next_ = &object[name];
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    const std::string_view text = error.what();
    const auto syntax = text.find("syntax error");
    if (syntax == std::string_view::npos) {
      return refuse(fmt::format("the number before byte {} is out of range", position));
    }
    return refuse(fmt::format("at byte {}, {}", position, to_utf8(text.substr(syntax, 160))));
  }

  Result<Json> take() && {
    if (error_) return fail(std::move(*error_));
    return std::move(root_);
  }

 private:
  template <class T>
  bool add(T&& value) {
    return place(Json(std::forward<T>(value))) != nullptr;
  }

  bool open(Json container) {
    if (open_.size() >= bounds_.depth_max) {
      return over(fmt::format("is nested deeper than {} levels", bounds_.depth_max));
    }
    Json* const placed = place(std::move(container));
    if (placed != nullptr) open_.push_back(placed);
    return placed != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // Puts a value where the text has it. Elements of an array never move while one is open, since an
  // open one is always the last.
  Json* place(Json value) {
    if (++values_ > bounds_.values_max) {
      over(fmt::format("holds more than {} values", bounds_.values_max));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    return &(*std::exchange(next_, nullptr) = std::move(value));
  }

  bool over(const std::string& bound) {
    error_ =
        Error{ErrorCode::too_large, fmt::format("The JSON text {}.", bound), {}, Retry::useless};
    return false;
  }

  bool refuse(const std::string& reason) {
    error_ = Error{ErrorCode::invalid,
                   fmt::format("This is not a JSON text: {}.", reason),
                   {},
                   Retry::useless};
    return false;
  }

  const JsonBounds& bounds_;
  Json root_;
  std::vector<Json*> open_;
  Json* next_ = nullptr;
  std::size_t values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes_max) {
    return fail(ErrorCode::too_large,
                fmt::format("The JSON text has {} bytes; at most {} are read.", text.size(),
                            bounds.bytes_max));
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    return fail(ErrorCode::invalid, "The JSON text begins with a byte order mark.",
                "Send it without one.");
  }
  TreeBuilder builder(bounds);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).take();
}

}  // namespace paceline
