// The tables of paceline.db and how they came about, one numbered step after the other. PRAGMA
// user_version says how many steps a file has seen. For store/sqlite alone; throws
// SQLite::Exception.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>

namespace paceline {

// "Pace", in PRAGMA application_id: tells our files from other people's databases.
inline constexpr std::int64_t kApplicationId = 0x50616365;

// The number of steps this program knows.
std::int64_t newest_schema();

// The number of steps a file has seen.
std::int64_t schema_of(SQLite::Database& db);

// Takes an empty or older file to the newest schema, all steps or none. REQUIRES: the file is not
// newer.
void migrate(SQLite::Database& db);

}  // namespace paceline
