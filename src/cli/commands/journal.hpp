// What the commands of `paceline journal` share.
#pragma once

#include <optional>
#include <string>

#include "cli/commands/command.hpp"

namespace paceline {

// The directory whose journal is meant: the one that was named; else that of the server that answers;
// else, where none was named with --server, the one that 'paceline up' uses. Errors: invalid, forbidden;
// unavailable: the server that was named does not answer; conflict: commands go to a server on another
// machine.
Result<std::string> journal_directory(Context& context, const std::optional<std::string>& named);

// What JournalHooks::list tells. Errors: those of reading it.
Result<Document> journal_document(Context& context, const std::string& directory);

}  // namespace paceline
