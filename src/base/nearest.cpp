#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace paceline {
namespace {

constexpr std::size_t kWordLengthMax = 64;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
  word = word.substr(0, kWordLengthMax);
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const auto each : known) {
    const std::size_t distance = edit_distance(word, each.substr(0, kWordLengthMax));
    if (2 * distance > std::max(word.size(), each.size())) continue;
    if (best && distance >= best_distance) continue;
    best = each;
    best_distance = distance;
  }
  return best;
}

}  // namespace paceline
