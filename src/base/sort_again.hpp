// Sorts what is in order already but for a few: linear then, and as std::sort where it isn't.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace paceline {

// REQUIRES: random access; `before` is a strict weak order. Equal ones end in no order.
template <class Iterator, class Before>
void sort_again(Iterator first, Iterator last, const Before& before) {
  constexpr std::ptrdiff_t kMovesEach = 8;  // on average; more: they are not in order
  std::ptrdiff_t moves = kMovesEach * (last - first);
  for (Iterator next = first; next != last; ++next) {
    auto value = std::move(*next);
    Iterator hole = next;
    for (; hole != first && before(value, *std::prev(hole)); --hole, --moves)
      *hole = std::move(*std::prev(hole));
    *hole = std::move(value);
    if (moves < 0) return std::sort(first, last, before);
  }
}

}  // namespace paceline
