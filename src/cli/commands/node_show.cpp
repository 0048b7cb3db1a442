// One node: all that is known of it, and its end.
#include <fmt/format.h>

#include <set>

#include "cli/client/watch.hpp"
#include "cli/commands/agree.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/node_words.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "http/url.hpp"

namespace paceline {
namespace {

constexpr std::string_view kNodesPath = "/v1/nodes";

tl::unexpected<Error> no_such_node(const std::string& name) {
  return fail(ErrorCode::not_found, fmt::format("There is no node '{}'.", name),
              "'paceline nodes' shows them.");
}

// Of those in `list`; a null document: it is none of them.
Document find(const Document& answer, std::string_view list, const std::string& name) {
  for (const auto& node : list_of(answer, list)) {
    if (text_of(node, "name") == name) return node;
  }
  return {};
}

std::string line(std::string_view title, const std::string& text) {
  return fmt::format("  {:9} {}\n", title, printable(or_dash(text)));
}

std::string joined_line(const Document& node) {
  const auto at = number_of(node, "joined_at");
  if (!at) return "no: it is the server's own machine";
  return fmt::format("{}, identity {}{}", utc_time(*at), whole_of(node, "serial"),
                     flag_of(node, "removed") ? "; removed" : "");
}

std::string heard_line(const Document& node) {
  if (!flag_of(node, "joined")) return {};
  return line("Heard", number_of(node, "silent_seconds") ? heard_words(node)
                                                         : "not since the server started") +
         line("Version", text_of(node, "version"));
}

std::string refusal_line(const Document& node) {
  if (!refuses(node)) return {};
  const auto& refusal = member(node, "refusal");
  if (flag_of(refusal, "unhealthy")) return line("Unhealthy", text_of(refusal, "why"));
  return line("Refuses", fmt::format("until {}: {}",
                                     human_time(number_of(refusal, "until").value_or(0),
                                                to_seconds(Context::now())),
                                     text_of(refusal, "why")));
}

std::string off_line(const Document& node) {
  const auto by = text_of(node, "off_by");
  return by.empty() ? "" : line("Off", "by the word of " + by);
}

std::string drain_line(const Document& node) {
  const auto words = drain_words(node, to_seconds(Context::now()));
  return words.empty() ? "" : line("Drain", words);
}

std::string own_slots_table(const Document& node, const Look& look) {
  Table table({{"SLOT", Align::right},
               {"KIND"},
               {"MODEL", Align::left, 6},
               {"MEMORY", Align::right, 0, 1},
               {"USE", Align::left, 12}});
  for (const auto& slot : list_of(node, "slots")) {
    table.add({{std::to_string(whole_of(slot, "index"))},
               {text_of(slot, "kind")},
               {text_of(slot, "model")},
               {memory_of(slot)},
               {slot_use(slot)}});
  }
  return table.render(look);
}

std::string page(const Document& node, const Look& look) {
  return printable(text_of(node, "name")) + "\n" + line("State", node_state(node).text) +
         off_line(node) + refusal_line(node) + drain_line(node) +
         line("Address", text_of(node, "address")) + line("Rack", text_of(node, "rack")) +
         line("Switch", text_of(node, "switch")) + line("Labels", labels_of(node)) +
         line("CPUs", human_number(number_of(node, "cpus").value_or(0))) +
         line("Memory", memory_of(node)) + line("Joined", joined_line(node)) + heard_line(node) +
         "\n" + own_slots_table(node, look);
}

// What is known of one that joined, and that nothing was heard of.
std::string awaited_page(const Document& node) {
  return printable(text_of(node, "name")) + "\n" +
         line("State", "its agent has not connected yet") + line("Joined", joined_line(node));
}

Result<std::string> shown(Api& api, const std::string& name, const Output& output,
                          const Console& console) {
  const auto answer = api.get(std::string(kNodesPath));
  if (!answer) return fail(answer.error());
  const auto node = find(*answer, "nodes", name);
  const auto awaited = node.is_null() ? find(*answer, "awaited", name) : Document();
  if (node.is_null() && awaited.is_null()) return no_such_node(name);
  const auto& found = node.is_null() ? awaited : node;
  if (output.format == Format::json) return json_text(found, console);
  return node.is_null() ? awaited_page(awaited) : page(node, console.look(output.header));
}

// ---- removing ----

struct RemoveWords {
  std::vector<std::string> name;
  bool yes = false, is_off = false;
};

// The jobs with workers on it, in words.
std::vector<std::string> jobs_on(const Document& node) {
  std::set<std::int64_t> ids;
  for (const auto& slot : list_of(node, "slots")) {
    if (const auto job = whole_of(slot, "job"); job > 0) ids.insert(job);
  }
  std::vector<std::string> words;
  for (const auto id : ids) words.push_back(std::to_string(id));
  return words;
}

std::string loss_of(const RemoveWords& typed, const std::vector<std::string>& jobs) {
  const auto& name = typed.name.front();
  if (typed.is_off)
    return fmt::format(
        "{} {} {} workers on '{}': they count as ended, and may start elsewhere. If that machine "
        "still runs, they run twice.",
        jobs.size() == 1 ? "Job" : "Jobs", listed(jobs), jobs.size() == 1 ? "has" : "have", name);
  return fmt::format(
      "{} {} {} workers on '{}': the server hears of them no more and can't stop them.",
      jobs.size() == 1 ? "Job" : "Jobs", listed(jobs), jobs.size() == 1 ? "has" : "have", name);
}

Result<void> agreed(Context& context, Api& api, const RemoveWords& typed) {
  const auto& name = typed.name.front();
  if (typed.yes) return {};
  const auto answer = api.get(std::string(kNodesPath));
  if (!answer) return fail(answer.error());
  const auto jobs = jobs_on(find(*answer, "nodes", name));
  if (jobs.empty()) return {};
  return agree(context, loss_of(typed, jobs));
}

Result<int> remove(Context& context, const RemoveWords& typed) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  if (auto ok = agreed(context, **api, typed); !ok) return fail(std::move(ok.error()));
  const auto& name = typed.name.front();
  const auto gone = (*api)->remove(
      fmt::format("{}/{}{}", kNodesPath, url_encoded(name), typed.is_off ? "?is_off=1" : ""));
  if (!gone) return fail(gone.error());
  context.console.print(fmt::format(
      "Node '{}' is removed: its certificate is worthless, and its name is free.\n", name));
  return 0;
}

}  // namespace

Command node_show_command() {
  return {"node show",
          "",
          "Nodes",
          "Show one machine: its slots and jobs, where it stands, and when it joined",
          "paceline node show gpu-3",
          [](Options& options) -> Action {
            struct Words {
              std::vector<std::string> name;
              OutputOptions output;
            };
            const auto typed = std::make_shared<Words>();
            options.words("NODE", typed->name, Count::one, "the name of a machine");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              const auto api = context.api();
              if (!api) return fail(api.error());
              return show(context.console, *output, [&] {
                return shown(**api, typed->name.front(), *output, context.console);
              });
            };
          }};
}

Command node_remove_command() {
  return {"node remove",
          "",
          "Nodes",
          "Take no connection of a machine that joined any more",
          "paceline node remove gpu-3\npaceline node remove gpu-3 --is-off",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<RemoveWords>();
            options.words("NODE", typed->name, Count::one, "the name of a machine");
            options.flag("--is-off", typed->is_off,
                         "its machine is off, and will not come back as it was: what ran there has "
                         "ended");
            options.flag("--yes", typed->yes, "don't ask, whatever runs there");
            return [typed](Context& context) { return remove(context, *typed); };
          }};
}

}  // namespace paceline
