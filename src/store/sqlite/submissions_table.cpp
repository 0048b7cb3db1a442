#include "store/sqlite/submissions_table.hpp"

namespace paceline {

SubmissionsTable::SubmissionsTable(SQLite::Database& db)
    : put_(db, "REPLACE INTO submissions (uid, key, job, at_us) VALUES (?, ?, ?, ?)"),
      find_(db, "SELECT job FROM submissions WHERE uid = ? AND key = ? AND at_us > ?"),
      forget_(db,
              "DELETE FROM submissions WHERE id IN (SELECT id FROM submissions ORDER BY id LIMIT "
              "?) AND at_us <= ?") {}

void SubmissionsTable::put(std::span<const SubmissionKey> keys) {
  if (keys.empty()) return;
  for (const auto& key : keys) put_.run(key.uid, key.key, key.job.value, to_us(key.at));
  forget_.run(2 * keys.size(), to_us(keys.back().at - kSubmissionRemembered));
}

std::optional<JobId> SubmissionsTable::find(std::uint32_t uid, std::string_view key, Time now) {
  const auto job = find_.integer(uid, std::string(key), to_us(now - kSubmissionRemembered));
  if (!job) return {};
  return JobId{static_cast<std::uint32_t>(*job)};
}

}  // namespace paceline
