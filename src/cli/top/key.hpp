// Keys of a terminal from the bytes that it sends: letters as UTF-8, the others as the sequences of
// xterm, which screen, tmux, the Linux console and every terminal of a desktop send, too.
//
//   KeyReader reader;
//   reader.add(bytes);
//   while (const auto key = reader.next()) press(*key);
//   if (reader.undecided()) …   // wait for more; then reader.end(), and next() again
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

enum class KeyKind {
  text,  // a letter, a digit, a sign
  enter,
  tab,
  escape,
  backspace,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  erase_line,  // Ctrl-U
  redraw,      // Ctrl-L
  interrupt,   // Ctrl-C
  suspend,     // Ctrl-Z
  unknown,
};

struct Key {
  KeyKind kind = KeyKind::unknown;
  std::string text = {};  // of KeyKind::text: one code point

  friend bool operator==(const Key&, const Key&) = default;
};

class KeyReader {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // The next key that is there as a whole.
  std::optional<Key> next();
  // Whether what is left may be the beginning of a key: ESC alone is a key, too.
  [[nodiscard]] bool undecided() const { return !bytes_.empty(); }
  // Nothing follows: what is left is the Escape key, or nothing.
  void end();

 private:
  Key take(std::size_t bytes, Key key);
  std::optional<Key> next_escape();

  std::string bytes_;
  bool ended_ = false;
};

}  // namespace paceline
