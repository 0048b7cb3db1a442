#include "store/sqlite/forgotten_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/schema.hpp"
#include "store/sqlite/sum.hpp"
#include "wire/state_json.hpp"

namespace paceline {
namespace {

constexpr std::int64_t kSchemaWithForgotten = 8;

}  // namespace

ForgottenTable::ForgottenTable(SQLite::Database& db)
    : insert_(db, "REPLACE INTO forgotten (id, body, sum) VALUES (?, ?, ?)"),
      select_(db, "SELECT id, body, sum FROM forgotten WHERE id >= ? ORDER BY id LIMIT ?"),
      there_(schema_of(db) >= kSchemaWithForgotten) {}

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
  if (!there_) return jobs;
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

}  // namespace paceline
