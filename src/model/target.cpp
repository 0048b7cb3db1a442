#include "model/target.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/utf8.hpp"

namespace paceline {
namespace {

constexpr std::size_t kMetricLengthMax = 128;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

tl::unexpected<Error> bad_target(std::string_view expression) {
  return fail(ErrorCode::invalid, fmt::format("'{}' is not a target.", to_utf8(expression)),
              "Write METRIC>=VALUE or METRIC<=VALUE, for example 'accuracy>=0.95'.");
}

}  // namespace

std::string_view to_string(Direction direction) {
  return direction == Direction::at_least ? ">=" : "<=";
}

bool meets(const Target& target, double threshold, double value) {
  return target.direction == Direction::at_least ? value >= threshold : value <= threshold;
}

Result<Target> parse_target(std::string_view expression) {
  const auto at = expression.find_first_of("<>");
  if (at == std::string_view::npos || at + 1 >= expression.size() || expression[at + 1] != '=') {
    return bad_target(expression);
  }
  const auto metric = trim(expression.substr(0, at));
  const auto value = parse_number(trim(expression.substr(at + 2)));
  if (metric.empty() || metric.size() > kMetricLengthMax || !is_visible(metric) || !value)
    return bad_target(expression);
  const auto direction = expression[at] == '>' ? Direction::at_least : Direction::at_most;
  return Target{std::string(metric), direction, *value, *value};
}

Result<Target> parse_target(std::string_view deliver, std::string_view final) {
  auto first = parse_target(deliver);
  if (!first) return first;
  const auto second = parse_target(final);
  if (!second) return second;
  if (first->metric != second->metric || first->direction != second->direction) {
    return fail(
        ErrorCode::invalid,
        fmt::format("The target tiers '{}' and '{}' must name one metric and direction.", deliver,
                    final),
        "Give both tiers on the same metric, for example accuracy>=0.90 and accuracy>=0.95.");
  }
  if (!meets(*first, first->deliver, second->final)) {
    return fail(
        ErrorCode::invalid,
        fmt::format("The final tier '{}' is easier than the deliver tier '{}'.", final, deliver),
        "Make the final tier at least as strict.");
  }
  first->final = second->final;
  return first;
}

std::string to_string(const Target& target) {
  const auto name = fmt::format("{}{}", target.metric, to_string(target.direction));
  if (target.deliver == target.final) return fmt::format("{}{:g}", name, target.final);
  return fmt::format("{}{:g}/{:g}", name, target.deliver, target.final);
}

}  // namespace paceline
