#include "store/sqlite/notify_table.hpp"

#include <fmt/format.h>

#include "store/sqlite/sum.hpp"
#include "wire/notify_json.hpp"

namespace paceline {

NotifyTable::NotifyTable(SQLite::Database& db)
    : put_(db, "REPLACE INTO notify (job, body, sum) VALUES (?, ?, ?)"),
      drop_(db, "DELETE FROM notify WHERE job = ?"),
      from_(db, "SELECT job, body, sum FROM notify WHERE job >= ? ORDER BY job") {}

void NotifyTable::put(JobId job, const Notify& notify) {
  const auto body = notify_text(notify);
  put_.run(job.value, body, sum_of(body));
}

void NotifyTable::drop(JobId job) { drop_.run(job.value); }

std::vector<std::pair<JobId, Notify>> NotifyTable::from(JobId job) {
  std::vector<std::pair<JobId, Notify>> found;
  const auto take = [&](Row row) {
    const JobId id{row.as<std::uint32_t>(0)};
    auto notify = read_notify(row.text(1));
    if (row.integer(2) != sum_of(row.text(1)) || !notify)
      throw Damage{fmt::format("the addresses of job {} do not match its sum", id.value)};
    found.emplace_back(id, std::move(*notify));
    return true;
  };
  from_.each(take, job.value);
  return found;
}

}  // namespace paceline
