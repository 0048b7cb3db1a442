#include "store/sqlite/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "files/own.hpp"
#include "store/sqlite/schema.hpp"

namespace paceline {
namespace {

using Path = std::filesystem::path;

// An index of theirs says whether an environment is still in use, which one is the same, and whether a
// submission came before. That of points, by far the longest, would tell of one that comes twice.
constexpr std::array kDecidedByIndex = {"launches", "environments", "submissions"};
constexpr std::int64_t kCheckedAtOpening = 64 << 20;  // bytes: a fraction of a second

Error cannot_open(const Path& file, int reason) {
  return {ErrorCode::storage,
          fmt::format("{} can't be opened: {}.", file.string(), std::strerror(reason)),
          std::string(remedy(reason)), Retry::useless};
}

Error corrupt(const Path& file, std::string_view how) {
  return {ErrorCode::data, fmt::format("{} is corrupt: {}.", file.string(), how),
          fmt::format("Put back a copy of it, or move it away to begin anew; 'sqlite3 {} .recover' "
                      "shows what can be saved.",
                      file.string()),
          Retry::useless};
}

Error not_ours(const Path& file) {
  return {ErrorCode::data, fmt::format("{} is not a Paceline database.", file.string()),
          "Move it away, or choose another directory with --dir.", Retry::useless};
}

Error newer(const Path& file, std::int64_t version) {
  return {ErrorCode::data,
          fmt::format("{} was written by a newer Paceline (schema {}; this one knows {}).",
                      file.string(), version, newest_schema()),
          "Use that version, or choose another directory with --dir.", Retry::useless};
}

// The file and what SQLite keeps beside it.
Result<void> check_own_files(const Path& file) {
  for (const auto* beside : {"", "-wal", "-shm", "-journal"}) {
    if (auto ours = check_own_file(file.string() + beside, S_IFREG); !ours) return ours;
  }
  return {};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::int64_t pragma(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

std::int64_t size_of(SQLite::Database& db) {
  return pragma(db, "page_count") * pragma(db, "page_size");
}

// An empty file is ours to fill; any other must carry our mark and a schema that we know.
Result<void> recognize(SQLite::Database& db, const Path& file) {
  const bool empty = pragma(db, "schema_version") == 0 && pragma(db, "page_count") <= 1;
  if (!empty && pragma(db, "application_id") != kApplicationId) return fail(not_ours(file));
  const auto version = schema_of(db);
  if (version > newest_schema()) return fail(newer(file, version));
  return {};
}

// A commit is on the disk when it returns; what was private is overwritten when it is deleted.
Result<void> make_durable(SQLite::Database& db, const Path& file) {
  if (db.execAndGet("PRAGMA journal_mode = WAL").getString() != "wal") {
    return fail(ErrorCode::storage,
                fmt::format("The file system of {} can't hold a write-ahead log.", file.string()),
                "Choose a directory on another file system with --dir.");
  }
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA secure_delete = ON");
  db.exec("PRAGMA temp_store = MEMORY");
  db.exec("PRAGMA journal_size_limit = 67108864");
  return {};
}

Result<std::unique_ptr<SQLite::Database>> open_ready(const Path& file,
                                                     std::chrono::milliseconds lock_wait) {
  auto db = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READWRITE,
                                               static_cast<int>(lock_wait.count()));
  if (auto ours = recognize(*db, file); !ours) return fail(ours.error());
  if (pragma(*db, "page_count") == 0) db->exec("PRAGMA auto_vacuum = INCREMENTAL");
  if (auto durable = make_durable(*db, file); !durable) return fail(durable.error());
  if (size_of(*db) <= kCheckedAtOpening) {
    if (auto sound = quick_check(*db, file); !sound) return fail(sound.error());
  }
  migrate(*db);
  return db;
}

// An empty file holds no journal yet: nobody is there to fill it.
Result<std::unique_ptr<SQLite::Database>> open_moment(const Path& file,
                                                      std::chrono::milliseconds lock_wait) {
  auto db = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READONLY,
                                               static_cast<int>(lock_wait.count()));
  db->exec("BEGIN");
  auto ours = recognize(*db, file);
  if (ours && schema_of(*db) == 0) ours = fail(not_ours(file));
  if (ours) return db;
  ours.error().hint = "Name the directory of a server that this version of Paceline knows.";
  return fail(ours.error());
}

std::string because(const SQLite::Exception& exception) { return exception.what(); }

}  // namespace

Result<void> make_private_file(const Path& file) {
  if (auto ours = check_own_files(file); !ours) return ours;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(cannot_open(file, errno));
  struct stat info {};
  const bool closed_off =
      ::fstat(fd, &info) == 0 && ((info.st_mode & 077) == 0 || ::fchmod(fd, 0600) == 0);
  const int reason = errno;
  ::close(fd);
  if (!closed_off) return fail(cannot_open(file, reason));
  if (info.st_size > 0) return {};
  const int dir = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return fail(cannot_open(file, errno));
  ::fsync(dir);
  ::close(dir);
  return {};
}

Result<void> quick_check(SQLite::Database& db, const Path& file) {
  const auto found = [&](const std::string& check) {
    return db.execAndGet("PRAGMA " + check).getString();
  };
  std::string all = found("quick_check(1)");
  if (schema_of(db) > 0) {
    for (const char* table : kDecidedByIndex)
      if (all == "ok") all = found(fmt::format("integrity_check({})", table));
  }
  if (all != "ok") return fail(corrupt(file, first_line(all)));
  return {};
}

Result<std::unique_ptr<SQLite::Database>> open_database(const Path& file,
                                                        std::chrono::milliseconds lock_wait) {
  if (auto made = make_private_file(file); !made) return fail(made.error());
  return guarded(file, [&] { return open_ready(file, lock_wait); });
}

Result<std::unique_ptr<SQLite::Database>> open_to_read(const Path& file,
                                                       std::chrono::milliseconds lock_wait) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return fail(ErrorCode::not_found, fmt::format("There is no database {}.", file.string()),
                "Name the directory of a server: what its --dir or $PACELINE_DIR is.");
  }
  if (::access(file.c_str(), R_OK) != 0) {
    return fail(ErrorCode::forbidden,
                fmt::format("{} can't be read: {}.", file.string(), std::strerror(errno)),
                "Do this as the user that runs the server.");
  }
  return guarded(file, [&] { return open_moment(file, lock_wait); });
}

Error to_error(const Path& file, const Damage& damage) { return corrupt(file, damage.what); }

Error to_error(const Path& file, const SQLite::Exception& exception) {
  const auto name = file.string();
  switch (exception.getErrorCode() & 0xFF) {
    case SQLITE_FULL:
      return {ErrorCode::storage, fmt::format("The disk is full: {} can't grow.", name),
              "Make room on its file system; until then nothing is accepted and nothing is lost.",
              Retry::may_help};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return {ErrorCode::storage, fmt::format("{} can't be written: {}.", name, because(exception)),
              "See to it that its directory is writable for the user that runs Paceline.",
              Retry::may_help};
    case SQLITE_IOERR:
      return {ErrorCode::storage,
              fmt::format("{} can't be read or written: {}.", name, because(exception)),
              "Look at the disk (dmesg) and the room on it; until then nothing is accepted and "
              "nothing is lost.",
              Retry::may_help};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorCode::unavailable, fmt::format("Another program holds {} locked.", name),
              "Close it, for instance an open sqlite3 shell, and try again.", Retry::may_help};
    case SQLITE_NOTADB:
      return not_ours(file);
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // a table or column is missing
    case SQLITE_SCHEMA:
    case SQLITE_FORMAT:
      return corrupt(file, because(exception));
    default:
      return {ErrorCode::internal, fmt::format("{} failed: {}.", name, because(exception)),
              "Please report it as a defect.", Retry::useless};
  }
}

}  // namespace paceline
