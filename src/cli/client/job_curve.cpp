#include "cli/client/job_curve.hpp"

#include <fmt/format.h>

#include <optional>

namespace paceline {
namespace {

constexpr std::int64_t kPoints = 10'000;
constexpr int kPagesMax = 20;  // of points, to find the value that met a target

bool meets(const Document& target, double value) {
  const auto final = number_of(target, "final");
  if (!final) return false;
  return text_of(target, "direction") == "<=" ? value <= *final : value >= *final;
}

// The first value that met the target; nothing where it isn't among the first points.
Result<std::optional<double>> value_that_met(Api& api, const Document& target, std::uint32_t id) {
  const auto metric = text_of(target, "metric");
  std::int64_t from = 1;
  for (int pages = 0; pages < kPagesMax; ++pages) {
    const auto page =
        api.get(fmt::format("{}?limit={}&from={}", job_target(id, "metrics"), kPoints, from));
    if (!page) return fail(page.error());
    for (const auto& point : list_of(*page, "points")) {
      const auto value = number_of(member(point, "values"), metric);
      if (value && meets(target, *value)) return value;
    }
    const auto next = whole_of(*page, "next");
    if (next <= from) break;
    from = next;
  }
  return std::optional<double>();
}

}  // namespace

Result<Curve> read_curve(Api& api, const Document& job) {
  const auto id = static_cast<std::uint32_t>(whole_of(job, "id"));
  const auto& target = member(job, "target");
  Curve curve;
  if (is_over(job)) {
    auto page = api.get(job_target(id, "metrics") + "?limit=1");
    if (!page && page.error().code == ErrorCode::forbidden) return curve;
    if (!page) return fail(std::move(page.error()));
    curve.page = std::move(*page);
  }
  if (!flag_of(target, "reached")) return curve;
  const auto met = value_that_met(api, target, id);
  if (!met && met.error().code == ErrorCode::forbidden) return curve;
  if (!met) return fail(met.error());
  curve.met = *met;
  return curve;
}

}  // namespace paceline
