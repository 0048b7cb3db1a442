#include "app/journal.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "plan/apply.hpp"
#include "store/failed_check.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "wire/entry_json.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabase = "paceline.db";
constexpr std::string_view kDatabaseMagic = "SQLite format 3";
constexpr std::string_view kExportMagic = R"({"seq":)";

bool begins_with(const fs::path& file, std::string_view magic) {
  std::string begin(magic.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == magic;
}

// Entries of an export, folded as they come: what the state forgets goes to the store.
class Export {
 public:
  explicit Export(const fs::path& file) : file_(file.string()), in_(file, std::ios::binary) {}

  Result<std::unique_ptr<Store>> read() {
    for (std::string line; std::getline(in_, line);) {
      auto entry = read_entry(line);
      if (!entry) return fail(damaged(entry.error().message));
      if (auto taken = take(std::move(*entry)); !taken) return fail(taken.error());
    }
    if (in_.bad()) return fail(damaged("it can't be read"));
    return std::unique_ptr<Store>(std::move(store_));
  }

 private:
  [[nodiscard]] Error damaged(const std::string& how) const {
    return {ErrorCode::data, fmt::format("{}, at entry {}: {}.", file_, state_.seq() + 1, how),
            "Export the journal again: 'paceline journal export'.", Retry::useless};
  }

  Result<void> take(Entry entry) {
    if (entry.seq != state_.seq() + 1) {
      return fail(ErrorCode::data,
                  fmt::format("{} holds entry {} where entry {} should be.", file_, entry.seq,
                              state_.seq() + 1),
                  "What is simulated needs all entries from the first on. Where older ones were "
                  "pruned, name the directory of the server instead.");
    }
    Batch batch;
    if (const auto* left = forgotten_by(entry)) {
      for (const JobId id : left->jobs)
        if (const Job* job = state_.find_job(id)) batch.forgotten.push_back(*job);
    }
    if (const auto failed = failed_check([&] { apply(state_, entry); }))
      return fail(damaged(*failed));
    batch.entries.push_back(std::move(entry));
    return store_->append(batch);
  }

  std::string file_;
  std::ifstream in_;
  State state_;
  std::unique_ptr<MemoryStore> store_ = std::make_unique<MemoryStore>();
};

}  // namespace

std::optional<fs::path> journal_at(const std::string& path) {
  std::error_code error;
  const fs::path named(path);
  if (fs::is_directory(named, error)) return named / kDatabase;
  const bool in_words = named.filename() == "journal" && !fs::exists(named, error);
  const fs::path parent = named.has_parent_path() ? named.parent_path() : ".";
  if (in_words && fs::is_directory(parent, error)) return parent / kDatabase;
  if (named.filename() == kDatabase || begins_with(named, kDatabaseMagic)) return named;
  if (begins_with(named, kExportMagic)) return named;
  return std::nullopt;
}

Result<std::unique_ptr<Store>> open_journal(const fs::path& file) {
  if (begins_with(file, kExportMagic)) return Export(file).read();
  auto store = SqliteStore::open_to_read(file);
  if (!store) return fail(store.error());
  return std::unique_ptr<Store>(std::move(*store));
}

}  // namespace paceline
