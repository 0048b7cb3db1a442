// A server's journal as `paceline simulate` takes it: the directory of the server, what lies in it,
// or what `paceline journal export` wrote of it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace paceline {

// The journal that `path` names: the database of a directory, DIR/journal is the one of DIR unless
// that is a file of its own; or a file that is a database or an export. Nothing: it is a file of
// another kind, or none.
std::optional<std::filesystem::path> journal_at(const std::string& path);

// As one moment of it, to be read only; a server may go on writing. Errors: those of
// SqliteStore::open_to_read(); data: an export that doesn't begin with the first entry, or is damaged.
Result<std::unique_ptr<Store>> open_journal(const std::filesystem::path& file);

}  // namespace paceline
