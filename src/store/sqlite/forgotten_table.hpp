// The jobs that the state forgot, each in a row as it was then. For store/sqlite alone; throws
// SQLite::Exception and Damage.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class ForgottenTable {
 public:
  explicit ForgottenTable(SQLite::Database& db);

  void put(std::span<const Job> jobs);
  // As Store::forgotten().
  std::vector<Job> page(JobId from, std::size_t limit);

 private:
  Query insert_, select_;
  bool there_;  // a file of an older schema has none
};

}  // namespace paceline
