#include "store/sqlite/points_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "wire/json_writer.hpp"
#include "wire/state_json.hpp"

namespace paceline {
namespace {

NumberedPoint read(JobId job, Row row) {
  const auto number = row.as<std::uint64_t>(0);
  auto values = read_values(row.text(7));
  if (!values)
    throw Damage{fmt::format("point {} of job {}: {}", number, job.value, values.error().message)};
  return {number,
          {job, Generation{row.as<std::uint32_t>(1)}, row.as<std::int32_t>(2),
           row.as<std::uint64_t>(3), time_from_us(row.integer(4)), row.maybe<std::uint64_t>(5),
           row.maybe<std::uint64_t>(6), std::move(*values)}};
}

// Keeps the value of `name` alone. Returns whether there is one.
bool keep_only(MetricPoint& point, const std::string& name) {
  std::erase_if(point.values, [&](const auto& value) { return value.first != name; });
  return !point.values.empty();
}

}  // namespace

PointsTable::PointsTable(SQLite::Database& db)
    : insert_(db,
              "INSERT OR IGNORE INTO points (job, number, generation, rank, report, at_us, step, "
              "samples, body) "
              "VALUES (?1, coalesce((SELECT max(number) FROM points WHERE job = ?1), 0) + 1, ?2, "
              "?3, ?4, ?5, ?6, ?7, ?8)"),
      select_(db,
              "SELECT number, generation, rank, report, at_us, step, samples, body FROM points "
              "WHERE job = ? AND number >= ? ORDER BY number LIMIT ?"),
      newest_report_(db,
                     "SELECT max(report) FROM (SELECT max(report) AS report FROM points "
                     "WHERE job = ?1 AND generation = ?2 AND rank = ?3 UNION ALL "
                     "SELECT newest FROM passed_over "
                     "WHERE job = ?1 AND generation = ?2 AND rank = ?3)"),
      last_(db, "SELECT max(number) FROM points WHERE job = ?"),
      newest_from_(db,
                   "SELECT number, body FROM points WHERE job = ? AND number <= ? "
                   "ORDER BY number DESC LIMIT ?"),
      delete_(db, "DELETE FROM points WHERE job = ? AND number = ?"),
      delete_first_(db,
                    "DELETE FROM points WHERE job = ?1 AND number IN "
                    "(SELECT number FROM points WHERE job = ?1 ORDER BY number LIMIT ?2)"),
      pass_over_(db,
                 "INSERT INTO passed_over (job, generation, rank, points, newest) "
                 "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                 "points = points + excluded.points, newest = max(newest, excluded.newest)"),
      passed_over_(db, "SELECT sum(points) FROM passed_over WHERE job = ?"),
      forget_passed_over_(db, "DELETE FROM passed_over WHERE job = ?") {}

void PointsTable::put(const MetricPoint& point) {
  JsonWriter json(std::move(text_));
  write_values(json, point.values);
  text_ = json.take();
  insert_.run(point.job.value, point.born.value, point.number, point.report, to_us(point.at),
              point.step, point.samples, text_);
}

void PointsTable::pass_over(const PassedOver& more) {
  const auto& [job, born, number] = more.process;
  pass_over_.run(job.value, born.value, number, more.points, more.newest);
}

std::uint64_t PointsTable::passed_over(JobId job) {
  return static_cast<std::uint64_t>(passed_over_.integer(job.value).value_or(0));
}

PointPage PointsTable::page(JobId job, std::string_view name, std::uint64_t from,
                            std::size_t limit) {
  PointPage page{{}, std::max<std::uint64_t>(from, 1)};
  const std::string only(name);
  const auto take = [&](Row row) {
    auto numbered = read(job, row);
    page.next = numbered.number + 1;
    if (only.empty() || keep_only(numbered.point, only)) page.points.push_back(std::move(numbered));
    return page.points.size() < limit;
  };
  if (limit > 0) select_.each(take, job.value, page.next, kPointsScanMax);
  return page;
}

std::uint64_t PointsTable::newest_report(const ProcessKey& process) {
  return static_cast<std::uint64_t>(
      newest_report_.integer(process.job.value, process.born.value, process.number).value_or(0));
}

std::uint64_t PointsTable::last(JobId job) {
  return static_cast<std::uint64_t>(last_.integer(job.value).value_or(0));
}

bool PointsTable::thin(JobId job, std::size_t points) {
  if (!thinning_ || thinning_->job != job) {
    const auto newest = last(job);
    thinning_.emplace(Thinning{job, newest, PointChoice(newest)});
  }
  std::vector<std::uint64_t> dropped;
  std::size_t looked_at = 0;
  const auto look = [&](Row row) {
    const auto number = row.as<std::uint64_t>(0);
    const auto values = read_values(row.text(1));
    ++looked_at;
    thinning_->next = number - 1;
    if (!values || !thinning_->choice.keeps(number, *values)) dropped.push_back(number);
    return true;
  };
  newest_from_.each(look, job.value, thinning_->next, points);
  for (const auto number : dropped) delete_.run(job.value, number);
  if (looked_at == points) return false;
  thinning_.reset();
  return true;
}

bool PointsTable::drop(JobId job, std::size_t points) {
  delete_first_.run(job.value, points);
  if (last(job) != 0) return false;
  forget_passed_over_.run(job.value);
  return true;
}

}  // namespace paceline
