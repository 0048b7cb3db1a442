#include <fmt/format.h>

#include "cli/client/watch.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct Show {
  OutputOptions output;
  std::vector<std::string> ids;
};

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

// What the API tells of the points of a job; nothing where they are others'.
Result<Curve> curve_of(Api& api, const Document& job, std::uint32_t id) {
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

Result<std::string> drawn(Api& api, const Document& job, std::uint32_t id, const Output& output,
                          const Console& console) {
  switch (output.format) {
    case Format::json:
      return json_text(job, console);
    case Format::name:
      return fmt::format("{}\n", whole_of(job, "id"));
    case Format::table:
    case Format::wide:
      break;
  }
  const auto curve = curve_of(api, job, id);
  if (!curve) return fail(curve.error());
  return job_page(job, *curve, console, to_seconds(Context::now()));
}

Result<int> show_job(Context& context, Api& api, std::uint32_t id, const Output& output) {
  return show(context.console, output, [&]() -> Result<std::string> {
    const auto job = api.get(job_target(id));
    if (!job) return fail(job.error());
    return drawn(api, *job, id, output, context.console);
  });
}

}  // namespace

Command show_command() {
  return {"show",
          "",
          "Jobs",
          "Show everything about a job",
          "paceline show 7\npaceline show 7 -o json",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Show>();
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return for_each_job(context, typed->ids, [&](Api& api, std::uint32_t id) {
                return show_job(context, api, id, *output);
              });
            };
          }};
}

}  // namespace paceline
