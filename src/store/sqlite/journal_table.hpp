// The journal in its table. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "plan/plan.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class JournalTable {
 public:
  explicit JournalTable(SQLite::Database& db);

  // Of the last entry; 0: none.
  [[nodiscard]] std::uint64_t last_seq();
  void append(std::span<const Entry> entries);
  // Hands out the entries from `seq` on, at most `limit`, in order.
  void each(std::uint64_t seq, std::size_t limit, const std::function<void(Entry)>& visit);

 private:
  Query last_, insert_, select_;
  std::string text_;  // reused
};

}  // namespace paceline
