#include <fmt/format.h>

#include "cli/words/expected_text.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {

std::vector<std::string> why_lines(const Document& why, double now) {
  std::vector<std::string> lines;
  for (const auto& line : list_of(why, "lines")) {
    if (!line.is_string()) continue;
    const bool first = lines.empty();
    lines.push_back(printable(line.get<std::string>()));
    if (!first) continue;
    for (const auto& when : expected_lines(why, now)) lines.push_back(printable(when));
    for (const auto& change : change_lines(why, now)) lines.push_back(printable(change));
    if (const auto position = whole_of(why, "position"); position > 0)
      lines.push_back(fmt::format("It is number {} in line.", position));
  }
  if (lines.empty()) lines.push_back(job_sentence(why));
  return lines;
}

}  // namespace paceline
