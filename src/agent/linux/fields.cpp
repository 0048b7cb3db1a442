#include "agent/linux/fields.hpp"

#include <charconv>
#include <optional>

namespace paceline::agent {
namespace {

std::optional<std::string_view> take(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end + 1);
  return part;
}

}  // namespace

void FieldWriter::add(std::string_view name, std::string_view value) {
  text_.append(name).push_back('\0');
  text_.append(value.substr(0, value.find('\0'))).push_back('\0');
}

void FieldWriter::add(std::string_view name, std::int64_t value) {
  add(name, std::string_view(std::to_string(value)));
}

std::vector<NamedField> fields(std::string_view text) {
  std::vector<NamedField> all;
  while (!text.empty()) {
    const auto name = take(text);
    if (!name) break;
    const auto value = take(text);
    if (!value) break;
    all.emplace_back(*name, *value);
  }
  return all;
}

std::int64_t field_number(std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() ? number : 0;
}

}  // namespace paceline::agent
