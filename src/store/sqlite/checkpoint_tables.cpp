#include "store/sqlite/checkpoint_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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

std::int64_t header_sum(std::int64_t body, std::uint64_t rows) {
  return std::bit_cast<std::int64_t>(
      Digest().add(std::bit_cast<std::uint64_t>(body)).add(rows).value());
}

}  // namespace

CheckpointTables::CheckpointTables(SQLite::Database& db)
    : select_header_(db, "SELECT nodes, jobs, body, sum FROM checkpoint"),
      select_nodes_(db, "SELECT id, body, sum FROM nodes ORDER BY id"),
      select_jobs_(db, "SELECT id, body, sum FROM jobs ORDER BY id"),
      upsert_header_(db,
                     "REPLACE INTO checkpoint (id, nodes, jobs, body, sum) VALUES (1, ?, ?, ?, ?)"),
      upsert_node_(db, "REPLACE INTO nodes (id, body, sum) VALUES (?, ?, ?)"),
      upsert_job_(db, "REPLACE INTO jobs (id, body, sum) VALUES (?, ?, ?)"),
      delete_job_(db, "DELETE FROM jobs WHERE id = ?"),
      node_sums_of_(db, "SELECT id, sum FROM nodes ORDER BY id"),
      job_sums_of_(db, "SELECT id, sum FROM jobs ORDER BY id") {}

// Of a sum over all rows: a row that is missing, another's or of another time changes it.
std::uint64_t CheckpointTables::Sums::part(std::size_t id, std::int64_t sum) const {
  return Digest().add(first).add(id).add(static_cast<std::uint64_t>(sum)).value();
}

void CheckpointTables::Sums::put(std::size_t id, std::int64_t sum) {
  if (const auto row = rows.find(id); row != rows.end()) fresh_total -= part(id, row->second);
  fresh_total += part(id, sum);
  fresh.emplace_back(id, sum);
}

void CheckpointTables::Sums::drop(std::size_t id) {
  if (const auto row = rows.find(id); row != rows.end()) fresh_total -= part(id, row->second);
  fresh.emplace_back(id, std::nullopt);
}

void CheckpointTables::Sums::keep() {
  for (const auto& [id, sum] : fresh) {
    if (sum)
      rows[id] = *sum;
    else
      rows.erase(id);
  }
  fresh.clear();
  total = fresh_total;
}

StateParts CheckpointTables::read() {
  StateParts parts;
  std::size_t nodes = 0, jobs = 0;
  std::int64_t sum = 0, body_sum = 0;
  select_header_.each([&](Row row) {
    nodes = row.as<std::size_t>(0);
    jobs = row.as<std::size_t>(1);
    sum = row.integer(3);
    body_sum = sum_of(row.text(2));
    auto header = read_state_header(row.text(2));
    if (!header) throw Damage{fmt::format("the checkpoint: {}", header.error().message)};
    parts = std::move(*header);
    return false;
  });
  read_rows<Node>(select_nodes_, nodes_, "node", nodes, read_stored_node, [&](Node node) {
    if (node.id.value != parts.nodes.size())
      throw Damage{fmt::format("node {} of the checkpoint is missing", parts.nodes.size())};
    parts.nodes.push_back(std::move(node));
  });
  read_rows<Job>(select_jobs_, jobs_, "job", jobs, read_stored_job,
                 [&](Job job) { parts.jobs.put(std::move(job)); });
  known_ = true;
  const bool of_before = sum == body_sum;  // schema 5: of the header alone
  if (!of_before && sum != header_sum(body_sum, nodes_.total + jobs_.total))
    throw Damage{"the checkpoint does not match its sum, or rows of it are of another time"};
  return parts;
}

// Hands out the values of rows (id, body, sum), by id.
template <class T>
void CheckpointTables::read_rows(Query& select, Sums& sums, std::string_view noun,
                                 std::size_t count, Result<T> (*parse)(std::string_view),
                                 const std::function<void(T)>& take) {
  sums = Sums(sums.first);
  select.each([&](Row row) {
    const auto id = row.as<std::size_t>(0);
    const auto what = fmt::format("{} {} of the checkpoint", noun, row.integer(0));
    auto value = read_value(row, 1, what, parse);
    if (id < sums.first || value.id.value != id) throw Damage{what + " is another one"};
    sums.put(id, row.integer(2));
    take(std::move(value));
    return true;
  });
  sums.keep();
  if (sums.rows.size() == count) return;
  throw Damage{
      fmt::format("the checkpoint should hold {} {}s, not {}", count, noun, sums.rows.size())};
}

// Of a database that was not read.
void CheckpointTables::know_rows() {
  if (std::exchange(known_, true)) return;
  know_rows(node_sums_of_, nodes_);
  know_rows(job_sums_of_, jobs_);
}

void CheckpointTables::know_rows(Query& select, Sums& sums) {
  select.each([&](Row row) { return sums.put(row.as<std::size_t>(0), row.integer(1)), true; });
  sums.keep();
}

void CheckpointTables::write(const State& state, std::span<const JobId> changed) {
  know_rows();
  for (Sums* sums : {&nodes_, &jobs_}) {  // of a checkpoint that failed
    sums->fresh.clear();
    sums->fresh_total = sums->total;
  }
  const auto& parts = state.parts();
  write_nodes(parts.nodes);
  for (const auto id : changed) {
    const Job* job = state.find_job(id);
    if (!job) {
      delete_job_.run(id.value);
      jobs_.drop(id.value);
      continue;
    }
    const auto& text = text_of(*job, write_stored_job);
    const auto sum = sum_of(text);
    upsert_job_.run(id.value, text, sum);
    jobs_.put(id.value, sum);
  }
  const auto& text = text_of(parts, write_state_header);
  upsert_header_.run(parts.nodes.size(), parts.jobs.size(), text,
                     header_sum(sum_of(text), nodes_.fresh_total + jobs_.fresh_total));
}

void CheckpointTables::write_nodes(const std::vector<Node>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& text = text_of(nodes[i], write_stored_node);
    const auto sum = sum_of(text);
    if (const auto row = nodes_.rows.find(i); row != nodes_.rows.end() && row->second == sum)
      continue;
    upsert_node_.run(i, text, sum);
    nodes_.put(i, sum);
  }
}

void CheckpointTables::committed() {
  nodes_.keep();
  jobs_.keep();
}

template <class T>
const std::string& CheckpointTables::text_of(const T& value,
                                             void (*writer)(JsonWriter&, const T&)) {
  JsonWriter json(std::move(text_));
  writer(json, value);
  return text_ = json.take();
}

}  // namespace paceline
