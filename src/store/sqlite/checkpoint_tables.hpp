// The last checkpoint: a header, and a row for each node and job, of which only those that changed
// are rewritten. For store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
  void write(const State& state, std::span<const JobId> changed);
  // What write() wrote is durable; without this the next write() compares with the checkpoint
  // before.
  void committed() { node_sums_ = written_node_sums_; }

 private:
  template <class T>
  const std::string& text_of(const T& value, void (*writer)(JsonWriter&, const T&));
  void write_nodes(const std::vector<Node>& nodes);

  Query select_header_, select_nodes_, select_jobs_, upsert_header_, upsert_node_, upsert_job_;
  std::vector<std::int64_t> node_sums_;          // of the rows that write() stored, by id
  std::vector<std::int64_t> written_node_sums_;  // the same, once committed
  std::string text_;                             // reused
};

}  // namespace paceline
