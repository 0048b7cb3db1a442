#include "cli/top/key.hpp"

#include <array>

#include "base/utf8.hpp"

namespace paceline {
namespace {

constexpr char kEscape = '\x1b';

struct NamedKey {
  std::string_view name;
  KeyKind kind;
};

// What stands behind ESC [ or ESC O, a modifier (";5") left out.
constexpr std::array kSequences = {
    NamedKey{"A", KeyKind::up},       NamedKey{"B", KeyKind::down},
    NamedKey{"C", KeyKind::right},    NamedKey{"D", KeyKind::left},
    NamedKey{"H", KeyKind::home},     NamedKey{"F", KeyKind::end},
    NamedKey{"Z", KeyKind::tab},      NamedKey{"M", KeyKind::enter},
    NamedKey{"1~", KeyKind::home},    NamedKey{"4~", KeyKind::end},
    NamedKey{"7~", KeyKind::home},    NamedKey{"8~", KeyKind::end},
    NamedKey{"5~", KeyKind::page_up}, NamedKey{"6~", KeyKind::page_down}};

constexpr std::array kControls = {
    NamedKey{"\r", KeyKind::enter},       NamedKey{"\n", KeyKind::enter},
    NamedKey{"\t", KeyKind::tab},         NamedKey{"\x7f", KeyKind::backspace},
    NamedKey{"\b", KeyKind::backspace},   NamedKey{"\x02", KeyKind::page_up},
    NamedKey{"\x03", KeyKind::interrupt}, NamedKey{"\x06", KeyKind::page_down},
    NamedKey{"\x0c", KeyKind::redraw},    NamedKey{"\x15", KeyKind::erase_line},
    NamedKey{"\x1a", KeyKind::suspend}};

template <std::size_t N>
KeyKind kind_of(std::string_view name, const std::array<NamedKey, N>& table) {
  for (const auto& known : table) {
    if (known.name == name) return known.kind;
  }
  return KeyKind::unknown;
}

// "1;5A" is "A", "5;2~" is "5~".
std::string without_modifier(std::string_view sequence) {
  const auto semicolon = sequence.find(';');
  const char last = sequence.back();
  if (semicolon == sequence.npos) return std::string(sequence);
  const auto before = sequence.substr(0, semicolon);
  return last == '~' ? std::string(before) + last : std::string(1, last);
}

bool ends_sequence(char c) { return c >= '@' && c <= '~'; }

}  // namespace

Key KeyReader::take(std::size_t bytes, Key key) {
  bytes_.erase(0, bytes);
  ended_ = false;
  return key;
}

void KeyReader::end() {
  if (!bytes_.empty() && bytes_.front() != kEscape) bytes_.clear();
  ended_ = !bytes_.empty();
}

// ESC, ESC [ … letter, ESC O letter.
std::optional<Key> KeyReader::next_escape() {
  if (bytes_.size() == 1) {
    if (!ended_) return {};
    return take(1, {KeyKind::escape});
  }
  const char kind = bytes_[1];
  if (kind != '[' && kind != 'O') return take(1, {KeyKind::escape});
  std::size_t end = 2;
  while (end < bytes_.size() && !ends_sequence(bytes_[end])) ++end;
  if (end == bytes_.size()) {
    if (!ended_) return {};
    return take(bytes_.size(), {KeyKind::unknown});
  }
  const auto sequence = without_modifier(std::string_view(bytes_).substr(2, end - 1));
  return take(end + 1, {kind_of(sequence, kSequences)});
}

std::optional<Key> KeyReader::next() {
  if (bytes_.empty()) return {};
  const char first = bytes_.front();
  if (first == kEscape) return next_escape();
  const bool control = static_cast<unsigned char>(first) < 0x20 || first == '\x7f';
  if (control) return take(1, {kind_of(std::string_view(bytes_).substr(0, 1), kControls)});
  if (const auto length = utf8_length(bytes_); length > 0)
    return take(length, {KeyKind::text, bytes_.substr(0, length)});
  if (utf8_unfinished(bytes_) == bytes_.size()) return {};
  return take(1, {KeyKind::unknown});
}

}  // namespace paceline
