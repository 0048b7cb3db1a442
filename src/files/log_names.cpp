#include "files/log_names.hpp"

#include "base/number.hpp"

namespace paceline {
namespace {

constexpr std::string_view kRank = "rank", kLog = ".log", kTimeline = ".timeline";

std::string_view without(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

}  // namespace

std::string log_name(std::int32_t number) {
  return std::string(kRank) + std::to_string(process_of(number)) +
         std::string(is_timeline(number) ? kTimeline : kLog);
}

std::optional<std::int32_t> log_number_in(std::string_view name) {
  const auto ending = name.ends_with(kLog) ? kLog : kTimeline;
  if (!name.starts_with(kRank) || !name.ends_with(ending)) return std::nullopt;
  const auto process = parse_number<std::int32_t>(without(name, ending).substr(kRank.size()));
  if (!process || *process < 0 || is_timeline(*process)) return std::nullopt;
  return log_number(*process, ending == kLog ? LogKind::log : LogKind::timeline);
}

std::string beside_log(std::string_view log, std::string_view kind) {
  return std::string(without(log, kLog)) + "." + std::string(kind);
}

std::string timeline_beside(std::string_view log) {
  return std::string(without(log, kLog)) + std::string(kTimeline);
}

}  // namespace paceline
