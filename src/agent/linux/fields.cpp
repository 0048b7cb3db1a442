#include "agent/linux/fields.hpp"

#include <cstdlib>

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

void TextWriter::add(std::string_view name, std::string_view value) {
  text_.append(name).push_back('\0');
  text_.append(value.substr(0, value.find('\0'))).push_back('\0');
}

void TextWriter::add(std::string_view name, std::int64_t value) {
  add(name, std::string_view(std::to_string(value)));
}

std::optional<std::string_view> TextReader::accept(std::string_view name) {
  std::string_view rest = rest_;
  if (take(rest) != name) return std::nullopt;
  const auto value = take(rest);
  if (value) rest_ = rest;
  return value;
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
  return TextForm<std::int64_t>::read(value, number) ? number : 0;
}

bool TextForm<double>::read(std::string_view text, double& value) {
  const std::string copy(text);
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return !copy.empty() && *end == '\0';
}

}  // namespace paceline::agent
