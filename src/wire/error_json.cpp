#include "wire/error_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

struct Meaning {
  ErrorCode code;
  std::string_view name;
  int http;
  int exit;
};

constexpr std::array kMeanings = {
    Meaning{ErrorCode::invalid, "invalid", 400, 64},
    Meaning{ErrorCode::not_found, "not_found", 404, 66},
    Meaning{ErrorCode::forbidden, "forbidden", 403, 77},
    Meaning{ErrorCode::conflict, "conflict", 409, 76},
    Meaning{ErrorCode::too_large, "too_large", 413, 64},
    Meaning{ErrorCode::unavailable, "unavailable", 503, 69},
    Meaning{ErrorCode::storage, "storage", 507, 74},
    Meaning{ErrorCode::data, "data", 500, 78},
    Meaning{ErrorCode::internal, "internal", 500, 70},
};

const Meaning& meaning(ErrorCode code) {
  const auto found = std::ranges::find(kMeanings, code, &Meaning::code);
  check(found != kMeanings.end(), "every error code has its row");
  return *found;
}

Retry retry_of(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::storage ? Retry::may_help
                                                                      : Retry::useless;
}

}  // namespace

std::string_view to_string(ErrorCode code) { return meaning(code).name; }

std::optional<ErrorCode> parse_error_code(std::string_view text) {
  const auto found = std::ranges::find(kMeanings, text, &Meaning::name);
  if (found == kMeanings.end()) return {};
  return found->code;
}

int http_status(ErrorCode code) { return meaning(code).http; }
int exit_code(ErrorCode code) { return meaning(code).exit; }

std::string error_body(const Error& error) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.field("code", to_string(error.code))
      .field("message", error.message)
      .field("hint", error.hint);
  json.end_object().end_object();
  return json.take();
}

Error read_error(std::string_view body) {
  constexpr std::size_t kTextMax = 1 << 16;
  const Error alien{ErrorCode::unavailable, "The answer did not come from a Paceline server.",
                    "Check --server and PACELINE_DIR.", Retry::useless};
  const auto json = parse_json(body);
  if (!json || !json->is_object() || !json->contains("error")) return alien;
  Error error;
  std::string code;
  ObjectReader reader((*json)["error"], "error");
  reader.require({"code", "message"}).text("code", code, kTextMax);
  reader.text("message", error.message, kTextMax).text("hint", error.hint, kTextMax);
  const auto known = parse_error_code(code);
  if (!reader.ok() || !known) return alien;
  error.code = *known;
  error.retry = retry_of(*known);
  return error;
}

}  // namespace paceline
