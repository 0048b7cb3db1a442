// The journal in its table. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/plan.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class JournalTable {
 public:
  explicit JournalTable(SQLite::Database& db);

  // Of the first entry in the table, and of the last; 0: none.
  [[nodiscard]] std::uint64_t first_seq();
  [[nodiscard]] std::uint64_t last_seq();
  // The sum of an entry; nothing: it is not there.
  [[nodiscard]] std::optional<std::int64_t> sum_at(std::uint64_t seq);
  // Returns the sum of the last one. REQUIRES: there is one.
  std::int64_t append(std::span<const Entry> entries);
  // Hands out the entries from `seq` on, at most `limit`, in order.
  void each(std::uint64_t seq, std::size_t limit, const std::function<void(Entry)>& visit);

  // An entry as it is stored; it matches its sum.
  struct Stored {
    std::uint64_t seq = 0;
    Time at;
    std::string_view body;
  };
  void each_text(std::uint64_t seq, std::size_t limit,
                 const std::function<void(const Stored&)>& visit);
  void delete_up_to(std::uint64_t seq);

 private:
  Query first_, last_, sum_at_, insert_, select_, select_text_, delete_;
  std::string text_;  // reused
};

}  // namespace paceline
