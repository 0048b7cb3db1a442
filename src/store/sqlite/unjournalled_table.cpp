#include "store/sqlite/unjournalled_table.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "store/sqlite/schema.hpp"
#include "store/sqlite/sum.hpp"
#include "wire/entry_json.hpp"

namespace paceline {
namespace {

constexpr std::int64_t kSchemaWithUnjournalled = 10;

const Progressed* report_of(const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  return event != nullptr ? std::get_if<Progressed>(event) : nullptr;
}

}  // namespace

UnjournalledTable::UnjournalledTable(SQLite::Database& db)
    : put_(db, "REPLACE INTO unjournalled (job, body, sum) VALUES (?, ?, ?)"),
      remove_(db, "DELETE FROM unjournalled WHERE job = ?"),
      select_(db, "SELECT job, body, sum FROM unjournalled ORDER BY job"),
      schema_(schema_of(db)) {}

void UnjournalledTable::told(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    if (const auto* report = report_of(entry)) remove_.run(report->job.value);
  }
}

// A row holds the text of an entry, as the journal would.
void UnjournalledTable::put(std::span<const Progressed> reports) {
  for (const Progressed& report : reports) {
    const std::string text = entry_text({1, report.report.reported_at, Event(report)});
    put_.run(report.job.value, text, sum_of(text));
  }
}

std::vector<Progressed> UnjournalledTable::all() {
  std::vector<Progressed> reports;
  if (schema_ < kSchemaWithUnjournalled) return reports;
  select_.each([&](Row row) {
    const auto what = fmt::format("the last report of job {}", row.integer(0));
    if (sum_of(row.text(1)) != row.integer(2)) throw Damage{what + " does not match its sum"};
    const auto entry = read_entry(row.text(1));
    if (!entry) throw Damage{fmt::format("{}: {}", what, entry.error().message)};
    const auto* report = report_of(*entry);
    if (report == nullptr || report->job.value != row.as<std::uint32_t>(0))
      throw Damage{what + " is something else"};
    reports.push_back(*report);
    return true;
  });
  return reports;
}

}  // namespace paceline
