// The points of every job's curves. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <string>
#include <string_view>

#include "store/sqlite/query.hpp"
#include "store/store.hpp"

namespace paceline {

class PointsTable {
 public:
  explicit PointsTable(SQLite::Database& db);

  // Stores the point unless it is there.
  void put(const MetricPoint& point);
  // As Store::points().
  PointPage page(JobId job, std::string_view name, std::uint64_t from, std::size_t limit);

 private:
  Query insert_, select_;
  std::string text_;  // reused
};

}  // namespace paceline
