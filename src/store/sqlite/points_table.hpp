// The points of every job's curves, and how many are none. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/point_choice.hpp"
#include "store/sqlite/query.hpp"
#include "store/store.hpp"

namespace paceline {

class PointsTable {
 public:
  explicit PointsTable(SQLite::Database& db);

  // Stores the point unless it is there.
  void put(const MetricPoint& point);
  void pass_over(const PassedOver& more);
  // As Store::passed_over().
  [[nodiscard]] std::uint64_t passed_over(JobId job);
  // As Store::points().
  PointPage page(JobId job, std::string_view name, std::uint64_t from, std::size_t limit);

  // As Store::newest_report().
  [[nodiscard]] std::uint64_t newest_report(const ProcessKey& process);
  // The number of the job's newest point; 0: it has none.
  [[nodiscard]] std::uint64_t last(JobId job);
  // Looks at this many more of its points, from the newest on, and deletes those that don't stay.
  // True: it looked at all. After a transaction that failed, thin_anew() first.
  bool thin(JobId job, std::size_t points);
  void thin_anew() { thinning_.reset(); }
  // Deletes this many. True: there are no more, and nothing tells of those that were passed over.
  bool drop(JobId job, std::size_t points);

 private:
  struct Thinning {
    JobId job;
    std::uint64_t next;  // looked at all above it
    PointChoice choice;
  };

  Query insert_, select_, newest_report_, last_, newest_from_, delete_, delete_first_;
  Query pass_over_, passed_over_, forget_passed_over_;
  std::optional<Thinning> thinning_;
  std::string text_;  // reused
};

}  // namespace paceline
