#include "cli/commands/journal.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/client/locate.hpp"
#include "cli/client/watch.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/error_json.hpp"

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

constexpr Bounds kEntries{1, std::int64_t{1} << 53};

struct JournalExport {
  std::optional<std::string> directory, from, to, output;
};

Result<ExportOptions> read_export(const JournalExport& typed) {
  ExportOptions options;
  if (typed.from) {
    const auto from = parse_whole(*typed.from, kEntries);
    if (!from) return fail(ErrorCode::invalid, "--from: " + from.error().message);
    options.from = static_cast<std::uint64_t>(*from);
  }
  if (typed.to) {
    const auto to = parse_whole(*typed.to, kEntries);
    if (!to) return fail(ErrorCode::invalid, "--to: " + to.error().message);
    options.to = static_cast<std::uint64_t>(*to);
  }
  if (options.to && *options.to < options.from)
    return fail(ErrorCode::invalid, "--to is before --from.", "Leave one of them out.");
  options.output = typed.output.value_or("");
  return options;
}

Result<int> export_journal(Context& context, const JournalExport& typed) {
  auto options = read_export(typed);
  if (!options) return fail(options.error());
  const auto directory = journal_directory(context, typed.directory);
  if (!directory) return fail(directory.error());
  options->directory = *directory;
  options->print = [&](std::string_view lines) {
    context.console.print(lines);
    return !context.console.broken();
  };
  options->complain = [&](const Error& error) { context.console.complain(error); };
  const auto missing = context.hooks.journal.export_lines(*options);
  if (!missing) return fail(missing.error());
  if (*missing == 0) return 0;
  context.console.note(
      fmt::format("{} are missing in what was exported.", plural(*missing, "entry")));
  return exit_code(ErrorCode::data);
}

}  // namespace

Result<std::string> journal_directory(Context& context, const std::optional<std::string>& named) {
  if (named) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(*named, error).lexically_normal();
    if (error || named->empty())
      return fail(ErrorCode::invalid, "--dir is no directory.", "Name that of a server.");
    context.server = absolute.string();
    return absolute.string();
  }
  const auto remote = context.remote();
  if (!remote) return fail(remote.error());
  if (*remote)
    return fail(ErrorCode::conflict,
                fmt::format("Commands go to the server at {}, and its journal is on its machine.",
                            (*remote)->address),
                "Type this there; or name a directory of this machine with --dir.");
  auto api = context.api();
  if (!api) {
    const bool is_down = api.error().code == ErrorCode::unavailable;
    if (is_down && !context.server) return default_directory(context.environment);
    if (is_down) api.error().hint = "Name the directory of a server that is down with --dir.";
    return fail(std::move(api.error()));
  }
  const auto server = (*api)->get("/v1/server");
  if (!server) return fail(server.error());
  return text_of(*server, "dir");
}

Result<Document> journal_document(Context& context, const std::string& directory) {
  const auto text = context.hooks.journal.list(directory);
  if (!text) return fail(text.error());
  return parse_document(*text);
}

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

Command journal_export_command() {
  return {"journal export",
          "",
          "Journal",
          "Write the journal as JSON lines, which 'paceline simulate' takes as a trace",
          "paceline journal export -o journal.jsonl\npaceline journal export --from 1000 --to 2000",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<JournalExport>();
            options.value("--dir", "DIR", typed->directory,
                          "directory of the server (of the one that runs)");
            options.value("--from", "SEQ", typed->from, "start with this entry (the first)");
            options.value("--to", "SEQ", typed->to, "end with this entry (the last)");
            options.value("-o,--output", "FILE", typed->output, "write to a file");
            return [typed](Context& context) { return export_journal(context, *typed); };
          }};
}

}  // namespace paceline
