// The last checkpoint: a header, and a row for each node and job, of which only those that changed
// are rewritten. The header knows what all rows come to, so that a row from another time is noticed,
// though it matches its own sum. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/state.hpp"
#include "store/sqlite/query.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

class CheckpointTables {
 public:
  explicit CheckpointTables(SQLite::Database& db);

  // Empty parts where there is no checkpoint yet.
  StateParts read();
  // Of those changed that the state has no longer, the rows go.
  void write(const State& state, std::span<const JobId> changed);
  // What write() wrote is durable; without this the next write() compares with the checkpoint
  // before.
  void committed();

 private:
  // The sums of a table's rows, the first row's first, and what they come to.
  struct Sums {
    explicit Sums(std::size_t first_id) : first(first_id) {}

    std::size_t first;                                        // id of the first row there can be
    std::unordered_map<std::size_t, std::int64_t> rows = {};  // by id
    std::uint64_t total = 0;
    // Not committed; without a sum the row is gone.
    std::vector<std::pair<std::size_t, std::optional<std::int64_t>>> fresh = {};
    std::uint64_t fresh_total = 0;  // with them

    [[nodiscard]] std::uint64_t part(std::size_t id, std::int64_t sum) const;
    void put(std::size_t id, std::int64_t sum);
    void drop(std::size_t id);
    void keep();
  };

  template <class T>
  const std::string& text_of(const T& value, void (*writer)(JsonWriter&, const T&));
  template <class T>
  void read_rows(Query& select, Sums& sums, std::string_view noun, std::size_t count,
                 Result<T> (*parse)(std::string_view), const std::function<void(T)>& take);
  void write_nodes(const std::vector<Node>& nodes);
  void know_rows();
  static void know_rows(Query& select, Sums& sums);

  Query select_header_, select_nodes_, select_jobs_, upsert_header_, upsert_node_, upsert_job_;
  Query delete_job_;
  Query node_sums_of_, job_sums_of_;
  bool known_ = false;  // the sums below are those of the tables
  Sums nodes_{0}, jobs_{1};
  std::string text_;  // reused
};

}  // namespace paceline
