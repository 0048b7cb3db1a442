// The jobs that the state forgot, each in a row as it was then until it is dropped, and those that
// were. For store/sqlite alone; throws
// SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "store/sqlite/query.hpp"
#include "store/store.hpp"

namespace paceline {

class ForgottenTable {
 public:
  explicit ForgottenTable(SQLite::Database& db);

  void put(std::span<const Job> jobs);
  // As Store::forgotten().
  std::vector<Job> page(JobId from, std::size_t limit);

  std::optional<EndedJob> first_ended(Kept kept);
  std::optional<Remains> remains(JobId job);
  // It had so many points.
  void thinned(JobId job, std::uint64_t points);
  // REQUIRES: it was thinned.
  void drop(JobId job, Time now);

 private:
  Query insert_, select_, first_ended_, kept_, dropped_, thinned_, insert_dropped_, delete_;
  std::int64_t schema_;  // files of older ones have no such tables
};

}  // namespace paceline
