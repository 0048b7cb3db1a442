// What comes over a connection for bytes is read the same wherever it is cut, and a line is read only
// if it is what would be written for what was read of it. The first byte of the input says into how
// large pieces it is cut, the rest is what comes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "link/bytes_lines.hpp"

using namespace paceline;

namespace {

struct Heard {
  std::vector<NodeLine> lines;
  std::string raw;
  bool refused = false;
  friend bool operator==(const Heard&, const Heard&) = default;
};

// Reads as a server does.
class Listener {
 public:
  void feed(std::string_view bytes) {
    reader_.feed(bytes);
    while (!heard_.refused && (awaited_ > 0 ? take_bytes() : take_line())) {
    }
  }
  [[nodiscard]] const Heard& heard() const { return heard_; }

 private:
  bool take_bytes() {
    std::string bytes;
    if (!reader_.next_bytes(awaited_, bytes)) return false;
    heard_.raw += bytes;
    awaited_ = 0;
    return true;
  }
  bool take_line() {
    std::string line;
    const auto found = reader_.next_line(line);
    if (!found || !*found) {
      heard_.refused = !found;
      return false;
    }
    if (line.empty()) return true;
    const auto read = decode_node_line(line);
    heard_.refused = !read;
    if (!read) return false;
    if (const auto* piece = std::get_if<PieceHead>(&*read)) awaited_ = piece->bytes;
    heard_.lines.push_back(*read);
    return true;
  }

  BytesReader reader_;
  std::size_t awaited_ = 0;
  Heard heard_;
};

Heard hear(std::string_view text, std::size_t size) {
  Listener listener;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size())))
    listener.feed(text.substr(0, size));
  return listener.heard();
}

template <class Line>
void same_again(const Line& line, Result<Line> (*decode)(std::string_view)) {
  const std::string text = encode(line);
  check(text.find('\n') == text.size() - 1, "a line is one line");
  const auto again = decode(std::string_view(text).substr(0, text.size() - 1));
  check(again && *again == line, "a line is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = hear(text, text.size() + 1);
  check(hear(text, 1U + data[0]) == whole, "the same, wherever it is cut");
  for (const auto& line : whole.lines) same_again<NodeLine>(line, decode_node_line);
  if (const auto line = decode_server_line(text)) same_again<ServerLine>(*line, decode_server_line);
  return 0;
}
