#include <fmt/format.h>

#include "cli/commands/journal.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

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
