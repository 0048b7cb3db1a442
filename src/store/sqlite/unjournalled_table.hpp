// What jobs reported that the journal does not tell yet, a row for each job. For store/sqlite alone;
// throws SQLite::Exception and Damage.
#pragma once

#include <span>
#include <vector>

#include "model/event.hpp"
#include "plan/plan.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class UnjournalledTable {
 public:
  explicit UnjournalledTable(SQLite::Database& db);

  // Removes what the entries tell.
  void told(std::span<const Entry> entries);
  void put(std::span<const Progressed> reports);
  // By job.
  std::vector<Progressed> all();

 private:
  Query put_, remove_, select_;
  std::int64_t schema_;
};

}  // namespace paceline
