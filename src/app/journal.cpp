#include "app/journal.hpp"

#include <fstream>
#include <string_view>

#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabase = "paceline.db";
constexpr std::string_view kMagic = "SQLite format 3";

bool is_database(const fs::path& file) {
  std::string begin(kMagic.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kMagic;
}

}  // namespace

std::optional<fs::path> journal_at(const std::string& path) {
  std::error_code error;
  const fs::path named(path);
  if (fs::is_directory(named, error)) return named / kDatabase;
  const bool in_words = named.filename() == "journal" && !fs::exists(named, error);
  const fs::path parent = named.has_parent_path() ? named.parent_path() : ".";
  if (in_words && fs::is_directory(parent, error)) return parent / kDatabase;
  if (named.filename() == kDatabase || is_database(named)) return named;
  return std::nullopt;
}

Result<std::unique_ptr<Store>> open_journal(const fs::path& file) {
  auto store = SqliteStore::open_to_read(file);
  if (!store) return fail(store.error());
  return std::unique_ptr<Store>(std::move(*store));
}

}  // namespace paceline
