#include <fmt/format.h>

#include "cli/commands/journal.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

struct Backup {
  std::vector<std::string> files;
  std::optional<std::string> directory;
};

Result<int> back_up(Context& context, const Backup& typed) {
  const auto directory = journal_directory(context, typed.directory);
  if (!directory) return fail(directory.error());
  const auto& file = typed.files.front();
  const auto done = context.hooks.backup({*directory, file});
  if (!done) return fail(done.error());
  context.console.print(fmt::format("{} of the journal and {} are in {} ({}).\n",
                                    plural(done->entries, "entry"), plural(done->jobs, "job"), file,
                                    human_bytes(done->bytes)));
  return 0;
}

}  // namespace

Command backup_command() {
  return {"backup",
          "",
          "Server",
          "Write all that the server knows as one file, while it runs",
          "paceline backup paceline.tar.gz",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Backup>();
            options.words("FILE", typed->files, Count::one, "*.tar.gz, or *.tar");
            options.value("--dir", "DIR", typed->directory,
                          "directory of the server (of the one that runs)");
            return [typed](Context& context) { return back_up(context, *typed); };
          }};
}

}  // namespace paceline
