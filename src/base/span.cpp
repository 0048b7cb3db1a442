#include "base/span.hpp"

#include <charconv>
#include <cstdint>

namespace paceline {
namespace {

constexpr std::int64_t kSecondsMax = 365L * 24 * 3600;

std::int64_t seconds_of(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return unit == "d" ? 24 * 3600 : 0;
}

}  // namespace

std::optional<Duration> parse_whole_span(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (wrong != std::errc{} || count < 0 || count > kSecondsMax) return std::nullopt;
  const auto unit = seconds_of({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  if (unit == 0 || count > kSecondsMax / unit) return std::nullopt;
  return std::chrono::seconds{count * unit};
}

}  // namespace paceline
