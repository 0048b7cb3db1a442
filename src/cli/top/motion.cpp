#include "cli/top/motion.hpp"

#include <algorithm>

namespace paceline {

std::optional<Motion> motion_of(const Key& key) {
  if (key.kind == KeyKind::up || key.text == "k") return Motion::up;
  if (key.kind == KeyKind::down || key.text == "j") return Motion::down;
  if (key.kind == KeyKind::page_up) return Motion::page_up;
  if (key.kind == KeyKind::page_down) return Motion::page_down;
  if (key.kind == KeyKind::home || key.text == "g") return Motion::to_begin;
  if (key.kind == KeyKind::end || key.text == "G") return Motion::to_end;
  return {};
}

std::size_t moved(std::size_t row, Motion motion, std::size_t page, std::size_t last) {
  switch (motion) {
    case Motion::up:
      return row - std::min<std::size_t>(row, 1);
    case Motion::down:
      return std::min(row + 1, last);
    case Motion::page_up:
      return row - std::min(row, page);
    case Motion::page_down:
      return std::min(row + page, last);
    case Motion::to_begin:
      return 0;
    case Motion::to_end:
      break;
  }
  return last;
}

}  // namespace paceline
