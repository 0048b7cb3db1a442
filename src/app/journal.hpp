// A server's journal as `paceline simulate` takes it: the directory of the server, or what lies in
// it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace paceline {

// The database that `path` names: a directory holds it, DIR/journal is the one of DIR unless that
// is a file of its own, and a file can be it. Nothing: it is a file of another kind, or none.
std::optional<std::filesystem::path> journal_at(const std::string& path);

// As one moment of it, to be read only; a server may go on writing. Errors: those of
// SqliteStore::open_to_read().
Result<std::unique_ptr<Store>> open_journal(const std::filesystem::path& file);

}  // namespace paceline
