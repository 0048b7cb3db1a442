// Opening paceline.db so that a commit is durable, and turning what SQLite says into errors a
// person can act on. For store/sqlite alone.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "base/result.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

// Opens the file, made with mode 0600 if it is not there, and brings it to the newest schema. Reads
// every page of a small file, and a few of a large one, which a FileCheck reads later. Errors: data:
// no Paceline database, newer, corrupt; storage; forbidden; unavailable: locked by another program.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& file,
                                                        std::chrono::milliseconds lock_wait);

// The same for looking only: makes and changes nothing, and sees one moment of the file however
// long it is open, also while a server writes to it. Errors: also not_found, forbidden.
Result<std::unique_ptr<SQLite::Database>> open_to_read(const std::filesystem::path& file,
                                                       std::chrono::milliseconds lock_wait);

// Makes the file if it is missing, durably, and keeps it from other users: it holds environments.
// Errors: storage; forbidden.
Result<void> make_private_file(const std::filesystem::path& file);

// Do the pages hang together, and do indexes hold what the tables do whose rows are made or deleted by what an
// index says? Reads all pages; throws SQLite::Exception. Errors: data.
Result<void> quick_check(SQLite::Database& db, const std::filesystem::path& file);

Error to_error(const std::filesystem::path& file, const SQLite::Exception& exception);
Error to_error(const std::filesystem::path& file, const Damage& damage);

// What `work` returns, or the Error for what it throws.
template <class Work>
auto guarded(const std::filesystem::path& file, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const SQLite::Exception& exception) {
    return fail(to_error(file, exception));
  } catch (const Damage& damage) {
    return fail(to_error(file, damage));
  }
}

}  // namespace paceline
