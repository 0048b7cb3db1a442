#include <fmt/format.h>

#include "cli/commands/command.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::string_view kTarget = "/v1/rules";

struct Typed {
  std::optional<std::string> reclaim_after;
  OutputOptions output;
};

std::string reclaim_after_of(const Document& rules) {
  return human_duration(number_of(rules, "reclaim_after_seconds").value_or(0));
}

std::string draw_rules(const Document& rules, const Output& output, const Console& console) {
  if (output.format == Format::name) return "reclaim-after\n";
  Table table({{"RULE"}, {"VALUE", Align::right}, {"MEANS", Align::left, 20}});
  table.add({{"reclaim-after"},
             {reclaim_after_of(rules)},
             {"how long a job that never saved is asked before it is stopped for others"}});
  return table.render(console.look(output.header));
}

std::string sentence_of(const Document& rules) {
  if (number_of(rules, "reclaim_after_seconds").value_or(0) <= 0)
    return "A job that never saved may be stopped for others at once.\n";
  return fmt::format("A job that never saved may be stopped for others {} after it was asked.\n",
                     reclaim_after_of(rules));
}

Result<Document> send(Api& api, const std::optional<Duration>& reclaim_after) {
  if (!reclaim_after) return api.get(std::string(kTarget));
  JsonWriter json;
  json.begin_object().field("reclaim_after_seconds", *reclaim_after).end_object();
  return api.put(std::string(kTarget), json.text());
}

Result<int> run(Context& context, const Typed& typed) {
  const auto output = read_output(typed.output);
  if (!output) return fail(output.error());
  std::optional<Duration> reclaim_after;
  if (typed.reclaim_after) {
    const auto read = parse_reclaim_after(*typed.reclaim_after);
    if (!read) {
      return fail(ErrorCode::invalid, "--reclaim-after: " + read.error().message,
                  read.error().hint);
    }
    reclaim_after = *read;
  }
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto rules = send(**api, reclaim_after);
  if (!rules) return fail(rules.error());
  Console& console = context.console;
  if (output->format == Format::json)
    console.print(json_text(*rules, console));
  else
    console.print(reclaim_after ? sentence_of(*rules) : draw_rules(*rules, *output, console));
  return 0;
}

}  // namespace

Command rules_command() {
  return {"rules",
          "",
          "Cluster",
          "Show or set how jobs are disturbed, whatever the policy",
          "paceline rules\npaceline rules --reclaim-after 5m",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Typed>();
            options.value("--reclaim-after", "SPAN", typed->reclaim_after,
                          "how long a job that never saved is asked before it is stopped for "
                          "others; 0s: not at all");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) { return run(context, *typed); };
          }};
}

}  // namespace paceline
