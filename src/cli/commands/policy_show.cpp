#include <fmt/format.h>

#include "cli/client/watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/bill.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "http/url.hpp"

namespace paceline {
namespace {

// "  backfill = true" per parameter.
std::string parameters_of(const Document& policy) {
  std::string text;
  const auto& parameters = member(policy, "parameters");
  if (!parameters.is_object()) return text;
  for (const auto& [name, value] : parameters.items()) {
    text += fmt::format("  {} = {}\n", printable(name),
                        printable(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return text;
}

std::string share_of(const Document& object, std::string_view key) {
  const auto ratio = number_of(object, key);
  return ratio ? fmt::format("{:.0f}%", *ratio * 100) : "-";
}

// What became no progress, of all causes together.
std::string lost_of(const Document& lost) {
  return lost.is_object() ? fmt::format("{:.0f}", total_of(lost)) : "-";
}

std::string periods_of(const Document& answer, const Console& console, double now) {
  Table table({{"POLICY"},
               {"FROM"},
               {"FOR", Align::right},
               {"SLOTS IN USE", Align::right},
               {"SLOT-SECONDS LOST", Align::right}});
  for (const auto& period : list_of(answer, "periods")) {
    const auto from = number_of(period, "from").value_or(now);
    const auto to = number_of(period, "to").value_or(now);
    table.add({{text_of(period, "name")},
               {human_time(from, now)},
               {human_duration(to - from)},
               {share_of(period, "utilization")},
               {lost_of(member(period, "lost_slot_seconds"))}});
  }
  return table.empty() ? "" : "\n" + table.render(console.look());
}

// What the newest plans that stopped or resized jobs came to.
std::string plans_of(const Document& answer, const Console& console, double now) {
  Table table({{"ROUND", Align::right},
               {"POLICY"},
               {"AT"},
               {"LOST BY PREEMPTION", Align::right},
               {"BY RESIZE", Align::right}});
  for (const auto& plan : list_of(answer, "plans")) {
    const auto& lost = member(plan, "lost_slot_seconds");
    table.add({{std::to_string(whole_of(plan, "round"))},
               {text_of(plan, "policy")},
               {human_time(number_of(plan, "at").value_or(now), now)},
               {fmt::format("{:.0f}", number_of(lost, "preemption").value_or(0))},
               {fmt::format("{:.0f}", number_of(lost, "resize").value_or(0))}});
  }
  return table.empty() ? "" : "\n" + table.render(console.look());
}

std::string active_page(const Document& answer, const Console& console, double now) {
  const auto& active = member(answer, "active");
  const auto since = number_of(active, "since");
  return fmt::format("{} is active{}.\n", text_of(active, "name"),
                     since ? " since " + human_time(*since, now) : "") +
         parameters_of(active) + periods_of(answer, console, now) + plans_of(answer, console, now);
}

// Of a policy that somebody brought: why it was set aside last.
std::string failure_of(const Document& policy, double now) {
  const auto failure = text_of(policy, "failure");
  if (failure.empty()) return {};
  const auto at = number_of(policy, "failed_at");
  return fmt::format("\nSet aside{}: {}\n", at ? " " + human_time(*at, now) : "",
                     printable(failure));
}

std::string policy_page(const Document& policy, double now) {
  const auto text = text_of(policy, "text");
  return (text.empty() ? text_of(policy, "summary") + "\n" : text) +
         (text.empty() || text.ends_with('\n') ? "" : "\n") + parameters_of(policy) +
         failure_of(policy, now);
}

Result<std::string> draw(Context& context, const std::vector<std::string>& name,
                         const Output& output) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto target = name.empty() ? "/v1/policy" : "/v1/policy/" + url_encoded(name.front());
  const auto answer = (*api)->get(target);
  if (!answer) return fail(answer.error());
  if (output.format == Format::json) return json_text(*answer, context.console);
  const double now = to_seconds(Context::now());
  return name.empty() ? active_page(*answer, context.console, now) : policy_page(*answer, now);
}

}  // namespace

Command policy_show_command() {
  return {"policy show",
          "",
          "Cluster",
          "Show the active policy and its past, or explain one",
          "paceline policy show\npaceline policy show elastic-fifo",
          [](Options& options) -> Action {
            struct Show {
              std::vector<std::string> name;
              OutputOptions output;
            };
            const auto typed = std::make_shared<Show>();
            options.words("NAME", typed->name, Count::optional,
                          "a policy; the active one if left out");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return show(context.console, *output,
                          [&] { return draw(context, typed->name, *output); });
            };
          }};
}

}  // namespace paceline
