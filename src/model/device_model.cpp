#include "model/device_model.hpp"

#include <algorithm>

namespace paceline {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_of_word(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9'); }

// Cuts the next word off the text; empty: there is none.
std::string_view next_word(std::string_view& text) {
  const auto begin = std::ranges::find_if(text, is_of_word);
  const auto end = std::find_if_not(begin, text.end(), is_of_word);
  const std::string_view word(begin, end);
  text = std::string_view(end, text.end());
  return word;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

bool is_model(std::string_view wanted, std::string_view model) {
  auto word = next_word(wanted);
  if (word.empty()) return false;
  for (auto each = next_word(model); !each.empty() && !word.empty(); each = next_word(model)) {
    if (same_word(word, each)) word = next_word(wanted);
  }
  return word.empty();
}

bool takes_device(const JobSpec& spec, std::string_view model) {
  return spec.devices.empty() || std::ranges::any_of(spec.devices, [&](std::string_view wanted) {
           return is_model(wanted, model);
         });
}

}  // namespace paceline
