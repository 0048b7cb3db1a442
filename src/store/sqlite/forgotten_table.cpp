#include "store/sqlite/forgotten_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/check.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/sum.hpp"
#include "wire/state_json.hpp"

namespace paceline {
namespace {

constexpr std::int64_t kSchemaWithForgotten = 8;
constexpr std::int64_t kSchemaWithDropped = 9;

}  // namespace

ForgottenTable::ForgottenTable(SQLite::Database& db)
    : insert_(db, "REPLACE INTO forgotten (id, body, sum) VALUES (?, ?, ?)"),
      select_(db, "SELECT id, body, sum FROM forgotten WHERE id >= ? ORDER BY id LIMIT ?"),
      first_ended_(db,
                   "SELECT id, ended_us FROM forgotten WHERE kept = ? ORDER BY ended_us LIMIT 1"),
      kept_(db, "SELECT kept, points FROM forgotten WHERE id = ?"),
      dropped_(db, "SELECT state, ended_us, points, dropped_us FROM dropped WHERE id = ?"),
      thinned_(db, "UPDATE forgotten SET kept = 1, points = ? WHERE id = ?"),
      insert_dropped_(db,
                      "REPLACE INTO dropped (id, state, ended_us, points, dropped_us) "
                      "VALUES (?, ?, ?, ?, ?)"),
      delete_(db, "DELETE FROM forgotten WHERE id = ?"),
      schema_(schema_of(db)) {}

void ForgottenTable::put(std::span<const Job> jobs) {
  for (const Job& job : jobs) {
    JsonWriter json;
    write_stored_job(json, job);
    const auto text = json.take();
    insert_.run(job.id.value, text, sum_of(text));
  }
}

std::vector<Job> ForgottenTable::page(JobId from, std::size_t limit) {
  std::vector<Job> jobs;
  if (schema_ < kSchemaWithForgotten) return jobs;
  const auto take = [&](Row row) {
    const auto what = fmt::format("the forgotten job {}", row.integer(0));
    if (sum_of(row.text(1)) != row.integer(2)) throw Damage{what + " does not match its sum"};
    auto job = read_stored_job(row.text(1));
    if (!job) throw Damage{fmt::format("{}: {}", what, job.error().message)};
    if (job->id.value != row.as<std::uint32_t>(0)) throw Damage{what + " is another one"};
    jobs.push_back(std::move(*job));
    return true;
  };
  select_.each(take, from.value, limit);
  return jobs;
}

std::optional<EndedJob> ForgottenTable::first_ended(Kept kept) {
  std::optional<EndedJob> first;
  const auto take = [&](Row row) {
    first = {JobId{row.as<std::uint32_t>(0)}, time_from_us(row.integer(1))};
    return false;
  };
  first_ended_.each(take, static_cast<std::int64_t>(kept));
  return first;
}

std::optional<Remains> ForgottenTable::remains(JobId job) {
  std::optional<Remains> left;
  if (schema_ < kSchemaWithDropped) return left;
  const auto kept = [&](Row row) {
    left.emplace();
    left->kept = row.integer(0) == 0 ? Kept::whole : Kept::thinned;
    left->points = row.maybe<std::uint64_t>(1).value_or(0);
    return false;
  };
  const auto dropped = [&](Row row) {
    const auto state = parse_job_state(row.text(0));
    if (!state) throw Damage{fmt::format("how the dropped job {} ended", job.value)};
    left = {Kept::nothing, *state, time_from_us(row.integer(1)), row.as<std::uint64_t>(2),
            time_from_us(row.integer(3))};
    return false;
  };
  kept_.each(kept, job.value);
  if (!left) {
    dropped_.each(dropped, job.value);
    return left;
  }
  const auto rows = page(job, 1);
  if (rows.empty() || rows.front().id != job) return std::nullopt;
  left->state = rows.front().state;
  left->ended_at = rows.front().ended_at.value_or(Time());
  return left;
}

void ForgottenTable::thinned(JobId job, std::uint64_t points) { thinned_.run(points, job.value); }

void ForgottenTable::drop(JobId job, Time now) {
  const auto left = remains(job);
  check(left && left->kept == Kept::thinned, "a job is thinned before it is dropped");
  insert_dropped_.run(job.value, std::string(to_string(left->state)), to_us(left->ended_at),
                      left->points, to_us(now));
  delete_.run(job.value);
}

}  // namespace paceline
