// Which submission became which job, for a day. For store/sqlite alone; throws SQLite::Exception.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "store/sqlite/query.hpp"
#include "store/store.hpp"

namespace paceline {

class SubmissionsTable {
 public:
  explicit SubmissionsTable(SQLite::Database& db);

  // Also forgets some that are older than a day: more than come in, and never many at once.
  void put(std::span<const SubmissionKey> keys);
  std::optional<JobId> find(std::uint32_t uid, std::string_view key, Time now);

 private:
  Query put_, find_, forget_;
};

}  // namespace paceline
