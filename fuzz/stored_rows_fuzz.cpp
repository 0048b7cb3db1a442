// Rows of a database whose sums are right or not looked at, whatever they say: what starts a job, the
// key of a submission, a point. Each is read as damage, or as something that comes back equal when it
// is stored. A line is a letter and a row: l, a launch; k, a key; p, a point; tabs stand between
// columns.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/number.hpp"
#include "store/sqlite/launch_tables.hpp"
#include "store/sqlite/points_table.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/submissions_table.hpp"

namespace {

using namespace paceline;

constexpr JobId kRead{1}, kWritten{2};
constexpr std::int64_t kInstants = 1'000'000'000'000'000;  // microseconds that a clock may show

// The columns of a row, one after the other; those that aren't there are empty, or 0.
class Columns {
 public:
  explicit Columns(std::string_view row) : rest_(row) {}

  std::string text() {
    const std::string_view column = rest_.substr(0, rest_.find('\t'));
    rest_.remove_prefix(std::min(column.size() + 1, rest_.size()));
    return std::string(column);
  }
  std::int64_t number() { return parse_number<std::int64_t>(text()).value_or(0); }

 private:
  std::string_view rest_;
};

class Tables {
 public:
  Tables() : db_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) { migrate(db_); }

  void try_line(std::string_view line) {
    SQLite::Transaction transaction(db_);  // rolled back
    Columns columns(line.substr(1));
    if (line[0] == 'l') try_launch(columns);
    if (line[0] == 'k') try_key(columns);
    if (line[0] == 'p') try_point(columns);
  }

 private:
  void try_launch(Columns& row) {
    const std::string command = row.text(), setup = row.text(), directory = row.text();
    const std::string environment = row.text(), groups = row.text(), shipped = row.text();
    const std::string witnesses = row.text();
    const std::int64_t shell = row.number(), umask = row.number(), shared_shm = row.number();
    insert_environment_.run(Bytes{environment});
    insert_launch_.run(kRead.value, Bytes{command}, shell, Bytes{setup}, Bytes{directory}, umask,
                       Bytes{groups}, shared_shm, shipped, Bytes{witnesses});
    auto read = read_or_damaged([&] { return launches_.find(kRead); });
    if (!read) return;
    check(read->setup == setup && read->directory == directory, "a launch is what stands there");
    if (read->shipped.ship.empty()) read->shipped = {};  // sizes of nothing
    launches_.put(kWritten, *read);
    check(launches_.find(kWritten) == read, "a launch comes back equal");
  }

  void try_key(Columns& row) {
    SubmissionKey key;
    key.uid = static_cast<std::uint32_t>(row.number());
    key.key = row.text();
    const std::int64_t job = row.number();
    key.at = time_from_us(row.number() % kInstants);
    insert_key_.run(key.uid, key.key, job, to_us(key.at));
    const auto found = submissions_.find(key.uid, key.key, key.at);
    check(found == JobId{static_cast<std::uint32_t>(job)}, "a key is found as long as it is young");
    check(!submissions_.find(key.uid, key.key, key.at + kSubmissionRemembered), "and no longer");
    check(!submissions_.find(key.uid, key.key + "x", key.at), "another one is not known");
    key.job = kWritten;
    submissions_.put({&key, 1});
    check(submissions_.find(key.uid, key.key, key.at) == kWritten, "the newest row counts");
  }

  void try_point(Columns& row) {
    const std::int64_t generation = row.number(), rank = row.number(), report = row.number();
    const std::int64_t at = row.number(), step = row.number(), samples = row.number();
    insert_point_.run(kRead.value, generation, rank, report, at, step, samples, row.text());
    const auto read = read_or_damaged([&] { return std::optional(only_point(kRead)); });
    if (!read) return;
    check(read->report == static_cast<std::uint64_t>(report) && to_us(read->at) == at &&
              read->step == static_cast<std::uint64_t>(step) &&
              read->samples == static_cast<std::uint64_t>(samples),
          "a point is what stands there");
    MetricPoint written = *read;
    written.job = kWritten;
    points_.put(written);
    check(only_point(kWritten) == written, "a point comes back equal");
    check(points_.thin(kRead, 2) && points_.last(kRead) == 1, "the newest point stays");
  }

  MetricPoint only_point(JobId job) {
    const PointPage page = points_.page(job, "", 1, 2);
    check(page.points.size() == 1 && page.points[0].number == 1, "the job has one point");
    return page.points[0].point;
  }

  template <class Read>
  static auto read_or_damaged(Read read) -> decltype(read()) {
    try {
      return read();
    } catch (const Damage& damage) {
      check(!damage.what.empty(), "damage is told in words");
      return std::nullopt;
    }
  }

  SQLite::Database db_;
  LaunchTables launches_{db_};
  SubmissionsTable submissions_{db_};
  PointsTable points_{db_};
  Query insert_environment_{db_, "INSERT INTO environments (id, digest, body) VALUES (1, 0, ?)"};
  Query insert_launch_{
      db_,
      "INSERT INTO launches (job, command, shell, setup, directory, umask, environment, groups, "
      "shared_shm, shipped, witnesses, sum) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, NULL)"};
  Query insert_key_{db_, "INSERT INTO submissions (uid, key, job, at_us) VALUES (?, ?, ?, ?)"};
  Query insert_point_{
      db_,
      "INSERT INTO points (job, number, generation, rank, report, at_us, step, samples, body) "
      "VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)"};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Tables tables;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) tables.try_line(line);
  }
  return 0;
}
