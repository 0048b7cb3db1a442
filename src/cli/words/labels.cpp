#include "cli/words/labels.hpp"

#include <fmt/format.h>

namespace paceline {

Result<Labels> read_labels(const std::vector<std::string>& words) {
  Labels labels;
  for (const auto& word : words) {
    auto label = parse_label(word);
    if (!label) return fail(std::move(label.error()));
    if (!labels.insert(*label).second)
      return fail(ErrorCode::invalid, fmt::format("'{}' is given twice.", label->first),
                  "A node has one value of each label.");
  }
  if (auto ok = validate_labels(labels); !ok) return fail(std::move(ok.error()));
  return labels;
}

}  // namespace paceline
