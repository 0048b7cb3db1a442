#include "sentences.hpp"

#include <algorithm>

namespace paceline::runtime {
namespace {

constexpr std::size_t kNamedMax = 8;  // ranks in a sentence

}  // namespace

std::string ranks_text(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamedMax); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > kNamedMax)
    text += " and " + std::to_string(ranks.size() - kNamedMax) + " more";
  return text;
}

std::string seconds_text(std::chrono::milliseconds time) {
  auto text = std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " s";
}

}  // namespace paceline::runtime
