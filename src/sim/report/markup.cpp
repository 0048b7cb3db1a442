#include "sim/report/markup.hpp"

#include "base/utf8.hpp"

namespace paceline::sim {
namespace {

// What stands for the byte; nothing: it stands for itself.
std::string_view entity_of(char byte) {
  switch (byte) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\x7F':
      return "\xEF\xBF\xBD";
    default:
      break;
  }
  const bool control = static_cast<unsigned char>(byte) < 0x20 && byte != '\n' && byte != '\t';
  return control ? "\xEF\xBF\xBD" : std::string_view{};
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char byte : to_utf8(text)) {
    const std::string_view entity = entity_of(byte);
    if (entity.empty())
      out += byte;
    else
      out += entity;
  }
  return out;
}

}  // namespace paceline::sim
