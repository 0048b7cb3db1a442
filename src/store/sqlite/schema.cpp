#include "store/sqlite/schema.hpp"

#include <fmt/format.h>

#include <array>

#include "base/check.hpp"

namespace paceline {
namespace {

using Step = void (*)(SQLite::Database&);

// `sum` is a digest of `body` (base/digest.hpp), so that a damaged row is noticed before it is
// folded. The columns of journal behind it are there for people with a sqlite3 shell; they take no
// room.
void journal_v1(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE journal ("
      "  seq INTEGER PRIMARY KEY,"
      "  body TEXT NOT NULL,"
      "  sum INTEGER NOT NULL,"
      "  at_us INTEGER AS (CAST(round(json_extract(body, '$.at') * 1e6) AS INTEGER)) VIRTUAL,"
      "  kind TEXT AS (json_extract(body, '$.kind')) VIRTUAL,"
      "  job INTEGER AS (json_extract(body, '$.job')) VIRTUAL)");
}

// The checkpoint is one header, and a row for each node and job as of its seq.
void checkpoint_v1(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE checkpoint ("
      "  id INTEGER PRIMARY KEY CHECK (id = 1),"
      "  nodes INTEGER NOT NULL,"
      "  jobs INTEGER NOT NULL,"
      "  body TEXT NOT NULL,"
      "  sum INTEGER NOT NULL)");
  db.exec("CREATE TABLE nodes (id INTEGER PRIMARY KEY, body TEXT NOT NULL, sum INTEGER NOT NULL)");
  db.exec("CREATE TABLE jobs (id INTEGER PRIMARY KEY, body TEXT NOT NULL, sum INTEGER NOT NULL)");
}

// Private. Many jobs share one environment: it is stored once.
void launches_v1(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE environments (id INTEGER PRIMARY KEY, digest INTEGER NOT NULL, body BLOB NOT "
      "NULL)");
  db.exec("CREATE INDEX environments_by_digest ON environments (digest)");
  db.exec(
      "CREATE TABLE launches ("
      "  job INTEGER PRIMARY KEY,"
      "  command BLOB NOT NULL,"
      "  shell INTEGER NOT NULL,"
      "  setup BLOB NOT NULL,"
      "  directory BLOB NOT NULL,"
      "  umask INTEGER NOT NULL,"
      "  environment INTEGER NOT NULL)");
  db.exec("CREATE INDEX launches_by_environment ON launches (environment)");
}

// A point's number counts within its job; a worker's report is stored once.
void points_v1(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE points ("
      "  job INTEGER NOT NULL,"
      "  number INTEGER NOT NULL,"
      "  generation INTEGER NOT NULL,"
      "  rank INTEGER NOT NULL,"
      "  report INTEGER NOT NULL,"
      "  at_us INTEGER NOT NULL,"
      "  step INTEGER,"
      "  samples INTEGER,"
      "  body TEXT NOT NULL,"
      "  PRIMARY KEY (job, number)) WITHOUT ROWID");
  db.exec("CREATE UNIQUE INDEX points_by_report ON points (job, generation, rank, report)");
}

// Rows lie in the order of their time, so that the oldest are found without an index.
void submissions_v1(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE submissions ("
      "  id INTEGER PRIMARY KEY,"
      "  uid INTEGER NOT NULL,"
      "  key TEXT NOT NULL,"
      "  job INTEGER NOT NULL,"
      "  at_us INTEGER NOT NULL,"
      "  UNIQUE (uid, key))");
}

void to_version_1(SQLite::Database& db) {
  journal_v1(db);
  checkpoint_v1(db);
  launches_v1(db);
  points_v1(db);
  submissions_v1(db);
}

// The tables stay; entries may tell what left no entry of its own, which programs before can't read.
void to_version_2(SQLite::Database&) {}

// The same; plans may tell of promotions, and jobs from where their service counts.
void to_version_3(SQLite::Database&) {}

// The same; entries and checkpoints may tell of trials, and checkpoints of what plans cost.
void to_version_4(SQLite::Database&) {}

// The same; plans may lend the slots of jobs, checkpoints tell which jobs are frozen where, and
// events may tell of several workers.
void to_version_5(SQLite::Database&) {}

// What starts a job has a sum of its own, but for rows from before; the sum of a checkpoint's header
// holds what all its rows come to; there is a row that is written to show that something can be; and a
// journal has an identity, by which what lies beside it is known. Plans may ask jobs for their slots,
// checkpoints tell which jobs are asked, rules are set, nodes may tell that they start nothing for
// now, and workers that they were refused; and how the wall clock stands to the time line is told.
void to_version_6(SQLite::Database& db) {
  db.exec("ALTER TABLE launches ADD COLUMN sum INTEGER");
  db.exec("CREATE TABLE proofs (id INTEGER PRIMARY KEY CHECK (id = 1), written INTEGER NOT NULL)");
  db.exec("CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL)");
  db.exec("INSERT INTO identity VALUES (1, lower(hex(randomblob(16))))");
}

// The groups that a job's workers run as; none: those of its owner's account, as before. Whether they
// share the machine's /dev/shm.
void to_version_7(SQLite::Database& db) {
  db.exec("ALTER TABLE launches ADD COLUMN shared_shm INTEGER NOT NULL DEFAULT 0");
  db.exec("ALTER TABLE launches ADD COLUMN groups BLOB NOT NULL DEFAULT x''");
}

// Jobs that the state forgot, each as it was then; entries tell which.
void to_version_8(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE forgotten ("
      "  id INTEGER PRIMARY KEY,"
      "  body TEXT NOT NULL,"
      "  sum INTEGER NOT NULL)");
}

// When each of them ended, how much is kept of it (0: all, 1: fewer points) and how many points it
// had; and those of which nothing is kept.
void to_version_9(SQLite::Database& db) {
  db.exec(
      "ALTER TABLE forgotten ADD COLUMN "
      "ended_us INTEGER AS (CAST(round(json_extract(body, '$.ended_at') * 1e6) AS INTEGER)) "
      "VIRTUAL");
  db.exec("ALTER TABLE forgotten ADD COLUMN kept INTEGER NOT NULL DEFAULT 0");
  db.exec("ALTER TABLE forgotten ADD COLUMN points INTEGER");
  db.exec("CREATE INDEX forgotten_by_end ON forgotten (kept, ended_us)");
  db.exec(
      "CREATE TABLE dropped ("
      "  id INTEGER PRIMARY KEY,"
      "  state TEXT NOT NULL,"
      "  ended_us INTEGER NOT NULL,"
      "  points INTEGER NOT NULL,"
      "  dropped_us INTEGER NOT NULL)");
}

// Who is to be told of which jobs, private as what starts them; of those that the state has. What jobs
// reported last and the journal does not tell yet.
void to_version_10(SQLite::Database& db) {
  for (const auto* table : {"notify", "unjournalled"})
    db.exec(
        fmt::format("CREATE TABLE {} ("
                    "  job INTEGER PRIMARY KEY,"
                    "  body TEXT NOT NULL,"
                    "  sum INTEGER NOT NULL)",
                    table));
}

// Which directory travels with a job, as text for people: "9f86d0… 132 4100000"; empty: none does. And by what
// the one that doesn't is known.
void to_version_11(SQLite::Database& db) {
  db.exec("ALTER TABLE launches ADD COLUMN shipped TEXT NOT NULL DEFAULT ''");
  db.exec("ALTER TABLE launches ADD COLUMN witnesses BLOB NOT NULL DEFAULT x''");
}

// How many points of each worker were not kept, and which was the newest.
void to_version_12(SQLite::Database& db) {
  db.exec(
      "CREATE TABLE passed_over ("
      "  job INTEGER NOT NULL,"
      "  generation INTEGER NOT NULL,"
      "  rank INTEGER NOT NULL,"
      "  points INTEGER NOT NULL,"
      "  newest INTEGER NOT NULL,"
      "  PRIMARY KEY (job, generation, rank)) WITHOUT ROWID");
}

// Step n takes a file from schema n to n+1. Steps are never changed once released.
constexpr std::array<Step, 12> kSteps = {to_version_1, to_version_2,  to_version_3,  to_version_4,
                                         to_version_5, to_version_6,  to_version_7,  to_version_8,
                                         to_version_9, to_version_10, to_version_11, to_version_12};

}  // namespace

std::int64_t newest_schema() { return static_cast<std::int64_t>(kSteps.size()); }

std::int64_t schema_of(SQLite::Database& db) {
  return db.execAndGet("PRAGMA user_version").getInt64();
}

void migrate(SQLite::Database& db) {
  const auto version = schema_of(db);
  check(version <= newest_schema(), "a newer file is refused before");
  if (version == newest_schema()) return;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  for (auto step = static_cast<std::size_t>(version); step < kSteps.size(); ++step)
    kSteps[step](db);
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.exec(fmt::format("PRAGMA user_version = {}", newest_schema()));
  transaction.commit();
}

}  // namespace paceline
