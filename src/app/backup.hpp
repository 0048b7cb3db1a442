// What `paceline backup` does: a server's journal and state as one file (docs/operations.md, Backup).
#pragma once

#include "cli/commands/hooks.hpp"

namespace paceline {

// Of a server that runs or not: as of one moment. Puts the archive under its name once it is whole
// and was read again. Errors: invalid (its name says no format), not_found, forbidden, storage, data.
Result<BackupDone> make_backup(const BackupOptions& options);

}  // namespace paceline
