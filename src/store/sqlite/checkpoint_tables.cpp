#include "store/sqlite/checkpoint_tables.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/sum.hpp"
#include "wire/state_json.hpp"

namespace paceline {
namespace {

// The value in the columns `body` and after it, its sum. `what` names it where it is damaged.
template <class T>
T read_value(Row row, int body, std::string_view what, Result<T> (*read)(std::string_view)) {
  const auto text = row.text(body);
  if (sum_of(text) != row.integer(body + 1))
    throw Damage{fmt::format("{} does not match its sum", what)};
  auto value = read(text);
  if (!value) throw Damage{fmt::format("{}: {}", what, value.error().message)};
  return std::move(*value);
}

struct Rows {
  std::string_view noun;
  std::size_t first;  // id
  std::size_t count;
};

// Appends the values of rows (id, body, sum) whose ids count up from the first.
template <class T>
void read_rows(Query& select, const Rows& rows, Result<T> (*read)(std::string_view), auto& values) {
  select.each([&](Row row) {
    const auto id = rows.first + values.size();
    const auto what = fmt::format("{} {} of the checkpoint", rows.noun, id);
    if (row.as<std::size_t>(0) != id) throw Damage{what + " is missing"};
    values.push_back(read_value(row, 1, what, read));
    if (values.back().id.value != id) throw Damage{what + " is another one"};
    return true;
  });
  if (values.size() == rows.count) return;
  throw Damage{fmt::format("the checkpoint should hold {} {}s, not {}", rows.count, rows.noun,
                           values.size())};
}

}  // namespace

CheckpointTables::CheckpointTables(SQLite::Database& db)
    : select_header_(db, "SELECT nodes, jobs, body, sum FROM checkpoint"),
      select_nodes_(db, "SELECT id, body, sum FROM nodes ORDER BY id"),
      select_jobs_(db, "SELECT id, body, sum FROM jobs ORDER BY id"),
      upsert_header_(db,
                     "REPLACE INTO checkpoint (id, nodes, jobs, body, sum) VALUES (1, ?, ?, ?, ?)"),
      upsert_node_(db, "REPLACE INTO nodes (id, body, sum) VALUES (?, ?, ?)"),
      upsert_job_(db, "REPLACE INTO jobs (id, body, sum) VALUES (?, ?, ?)") {}

StateParts CheckpointTables::read() {
  StateParts parts;
  std::size_t nodes = 0, jobs = 0;
  select_header_.each([&](Row row) {
    nodes = row.as<std::size_t>(0);
    jobs = row.as<std::size_t>(1);
    parts = read_value(row, 2, "the checkpoint", read_state_header);
    return false;
  });
  read_rows(select_nodes_, {"node", 0, nodes}, read_stored_node, parts.nodes);
  read_rows(select_jobs_, {"job", 1, jobs}, read_stored_job, parts.jobs);
  return parts;
}

void CheckpointTables::write(const State& state, std::span<const JobId> changed) {
  const auto& parts = state.parts();
  write_nodes(parts.nodes);
  for (const auto job : changed) {
    const auto& text = text_of(state.job(job), write_stored_job);
    upsert_job_.run(job.value, text, sum_of(text));
  }
  const auto& text = text_of(parts, write_state_header);
  upsert_header_.run(parts.nodes.size(), parts.jobs.size(), text, sum_of(text));
}

void CheckpointTables::write_nodes(const std::vector<Node>& nodes) {
  written_node_sums_ = node_sums_;
  written_node_sums_.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& text = text_of(nodes[i], write_stored_node);
    const auto sum = sum_of(text);
    if (i < node_sums_.size() && sum == node_sums_[i]) continue;
    upsert_node_.run(i, text, sum);
    written_node_sums_[i] = sum;
  }
}

template <class T>
const std::string& CheckpointTables::text_of(const T& value,
                                             void (*writer)(JsonWriter&, const T&)) {
  JsonWriter json(std::move(text_));
  writer(json, value);
  return text_ = json.take();
}

}  // namespace paceline
