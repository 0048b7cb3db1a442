#include "app/move_in.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "store/sqlite/dir_lock.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournalFile = "paceline.db";

bool has_journal(const fs::path& directory) {
  std::error_code ec;
  return fs::exists(directory / kJournalFile, ec);
}

// Claims, sockets and marks of running workers name the directory that they were started from.
bool has_workers(const fs::path& directory) {
  std::error_code ec;
  const fs::directory_iterator claims(directory / "agent/workers", ec);
  return !ec && claims != fs::directory_iterator();
}

tl::unexpected<Error> cannot_move(const fs::path& old, const fs::path& directory,
                                  const std::error_code& why) {
  return fail(ErrorCode::storage,
              fmt::format("'{}' can't be moved: {}.", old.string(), why.message()),
              fmt::format("Copy it with 'cp -a {0} {1}', then start without --move-from.",
                          old.string(), directory.string()));
}

Result<void> move_whole(const fs::path& old, const fs::path& directory) {
  if (!has_journal(old))
    return fail(ErrorCode::not_found, fmt::format("There is no journal in '{}'.", old.string()),
                "--move-from names the directory of a server.");
  if (has_journal(directory))
    return fail(ErrorCode::conflict,
                fmt::format("'{}' has a journal of its own.", directory.string()),
                "Start without --move-from, or name another directory with --dir.");
  if (has_workers(old))
    return fail(ErrorCode::conflict, fmt::format("Trainings of '{}' still run.", old.string()),
                fmt::format("Let them end ('paceline up --dir {}'), then move.", old.string()));
  if (auto unused = DirLock::take(old); !unused) return fail(std::move(unused.error()));
  std::error_code ec;
  fs::create_directories(directory.parent_path(), ec);
  fs::remove(directory, ec);  // an empty one
  fs::rename(old, directory, ec);
  if (ec) return cannot_move(old, directory, ec);
  return {};
}

}  // namespace

Result<void> move_in(const UpOptions& options) {
  if (options.move_from) return move_whole(*options.move_from, options.directory);
  const bool left_behind = !options.former_directory.empty() &&
                           has_journal(options.former_directory) && !has_journal(options.directory);
  if (!left_behind) return {};
  return fail(ErrorCode::conflict,
              fmt::format("Root's server kept its journal in '{}' so far; now it is to be in '{}'.",
                          options.former_directory, options.directory),
              fmt::format("Move it with 'paceline up --move-from {0}', or stay there with "
                          "'paceline up --dir {0}'.",
                          options.former_directory));
}

}  // namespace paceline
