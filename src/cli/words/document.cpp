#include "cli/words/document.hpp"

#include <cmath>

namespace paceline {

Result<Document> parse_document(std::string_view text) {
  auto document = Document::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return fail(ErrorCode::unavailable, "The answer did not come from a Paceline server.",
                "Check --server and PACELINE_DIR.");
  }
  return document;
}

const Document& member(const Document& object, std::string_view key) {
  static const Document nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nothing : *found;
}

std::string text_of(const Document& object, std::string_view key) {
  const auto& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<double> number_of(const Document& object, std::string_view key) {
  const auto& value = member(object, key);
  if (!value.is_number()) return {};
  return value.get<double>();
}

std::int64_t whole_of(const Document& object, std::string_view key) {
  constexpr double kExactMax = 0x1p53;
  const auto value = number_of(object, key).value_or(0);
  return std::abs(value) <= kExactMax ? static_cast<std::int64_t>(value) : 0;
}

bool flag_of(const Document& object, std::string_view key) {
  const auto& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

const Document::array_t& list_of(const Document& object, std::string_view key) {
  static const Document::array_t none;
  const auto& value = member(object, key);
  return value.is_array() ? value.get_ref<const Document::array_t&>() : none;
}

}  // namespace paceline
