// Who is to be told of which jobs. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <utility>
#include <vector>

#include "model/ids.hpp"
#include "notify/notify.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class NotifyTable {
 public:
  explicit NotifyTable(SQLite::Database& db);

  void put(JobId job, const Notify& notify);
  void drop(JobId job);
  // In id order, from that one on.
  std::vector<std::pair<JobId, Notify>> from(JobId job);

 private:
  Query put_, drop_, from_;
};

}  // namespace paceline
