#include "policy/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/check.hpp"
#include "base/number.hpp"

namespace paceline {
namespace {}  // namespace

const std::string& ParameterReader::text(std::string_view name) const {
  const auto found = parameters_.find(std::string(name));
  check(found != parameters_.end(), "the registry fills in every parameter");
  return found->second;
}

void ParameterReader::refuse(std::string_view name, std::string_view may_be) {
  if (!verdict_) return;
  verdict_ =
      fail(ErrorCode::invalid, fmt::format("The parameter {} can't be '{}'.", name, text(name)),
           fmt::format("It is {}.", may_be));
}

ParameterReader& ParameterReader::whole(std::string_view name, std::int64_t& into, std::int64_t low,
                                        std::int64_t high) {
  const auto value = parse_number<std::int64_t>(text(name));
  if (value && *value >= low && *value <= high)
    into = *value;
  else
    refuse(name, fmt::format("a whole number from {} to {}", low, high));
  return *this;
}

ParameterReader& ParameterReader::real(std::string_view name, double& into, double low,
                                       double high) {
  const auto value = parse_number<double>(text(name));
  if (value && *value >= low && *value <= high)
    into = *value;
  else
    refuse(name, fmt::format("a number from {} to {}", low, high));
  return *this;
}

ParameterReader& ParameterReader::word(std::string_view name, std::size_t& into,
                                       std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != text(name)) continue;
    into = i;
    return *this;
  }
  refuse(name, fmt::format("one of {}", fmt::join(words, ", ")));
  return *this;
}

ParameterReader& ParameterReader::weights(std::string_view name,
                                          std::map<std::string, double>& into) {
  std::string_view rest = text(name);
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto part = rest.substr(0, end);
    const auto colon = part.rfind(':');
    const auto value = colon == std::string_view::npos
                           ? std::nullopt
                           : parse_number<double>(part.substr(colon + 1));
    if (!value || !(*value > 0 && *value <= 1e9) || colon == 0) {
      refuse(name, "a list like ann:2,bob:0.5, with weights above 0");
      return *this;
    }
    into[std::string(part.substr(0, colon))] = *value;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return *this;
}

Result<void> ParameterReader::finish() const { return verdict_; }

}  // namespace paceline
