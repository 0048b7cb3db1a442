#include <fmt/format.h>

#include "cli/client/watch.hpp"
#include "cli/commands/journal.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

struct JournalList {
  OutputOptions output;
  std::optional<std::string> directory;
};

std::string segments_table(const Document& journal, const Look& look) {
  Table table({{"FIRST", Align::right},
               {"LAST", Align::right},
               {"ENTRIES", Align::right},
               {"FROM"},
               {"UNTIL"},
               {"SIZE", Align::right},
               {"STATE"},
               {"FILE"}});
  const double now = to_seconds(Context::now());
  const auto add = [&](const Document& part) {
    const auto time = [&](std::string_view key) {
      const auto at = number_of(part, key);
      return at ? human_time(*at, now) : "-";
    };
    const auto state = text_of(part, "state");
    const auto bytes = number_of(part, "bytes");
    table.add({{std::to_string(whole_of(part, "first"))},
               {std::to_string(whole_of(part, "last"))},
               {std::to_string(whole_of(part, "entries"))},
               {time("from")},
               {time("until")},
               {bytes ? human_bytes(static_cast<std::uint64_t>(*bytes)) : "-"},
               {state, state == "damaged" ? Style::red : Style::plain},
               {text_of(part, "file")}});
  };
  for (const auto& segment : list_of(journal, "segments")) add(segment);
  if (const auto& database = member(journal, "database"); database.is_object()) add(database);
  return table.render(look);
}

std::string segment_names(const Document& journal) {
  std::string text;
  for (const auto& segment : list_of(journal, "segments")) text += text_of(segment, "file") + "\n";
  return text;
}

Result<int> list_journal(Context& context, const JournalList& typed) {
  const auto output = read_output(typed.output);
  if (!output) return fail(output.error());
  const auto directory = journal_directory(context, typed.directory);
  if (!directory) return fail(directory.error());
  return show(context.console, *output, [&]() -> Result<std::string> {
    const auto journal = journal_document(context, *directory);
    if (!journal) return fail(journal.error());
    if (output->format == Format::json) return json_text(*journal, context.console);
    if (output->format == Format::name) return segment_names(*journal);
    return segments_table(*journal, context.console.look(output->header));
  });
}

}  // namespace

Command journal_list_command() {
  return {"journal list",
          "",
          "Journal",
          "List the journal's segments, each of which is checked, and what the database holds",
          "paceline journal list\npaceline journal list --dir /var/lib/paceline -o json",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<JournalList>();
            options.value("--dir", "DIR", typed->directory,
                          "directory of the server (of the one that runs)");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) { return list_journal(context, *typed); };
          }};
}

}  // namespace paceline
