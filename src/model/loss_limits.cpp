#include "model/loss_limits.hpp"

#include <fmt/format.h>

#include "base/number.hpp"
#include "base/span.hpp"

namespace paceline {

Result<double> parse_loss_limit(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto number = parse_number<double>(text);
  if (percent && number && *number >= 0 && *number <= 100) return *number / 100;
  return fail(ErrorCode::invalid,
              fmt::format("'{}{}' is no part of a job's time.", text, percent ? "%" : ""),
              "Write a part like 3%: 0% to be disturbed for nobody, 100% for no limit.");
}

Result<Duration> parse_min_run(std::string_view text) {
  if (const auto span = parse_whole_span(text)) return *span;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no time that a job runs at least.", text),
              "Write a time like 10s, 2m or 1h; 0s for none.");
}

}  // namespace paceline
