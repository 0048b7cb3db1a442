#include "store/sqlite/journal_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/sum.hpp"
#include "wire/entry_json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

// What matches its sum.
std::string_view body_of(Row row) {
  const auto body = row.text(1);
  if (sum_of(body) != row.integer(2))
    throw Damage{
        fmt::format("entry {} of the journal does not match its sum", row.as<std::uint64_t>(0))};
  return body;
}

Entry read(Row row) {
  const auto seq = row.as<std::uint64_t>(0);
  const auto body = body_of(row);
  auto entry = read_entry(body);
  if (!entry) throw Damage{fmt::format("entry {} of the journal: {}", seq, entry.error().message)};
  if (entry->seq != seq)
    throw Damage{fmt::format("entry {} of the journal stands at {}", entry->seq, seq)};
  return std::move(*entry);
}

}  // namespace

JournalTable::JournalTable(SQLite::Database& db)
    : first_(db, "SELECT min(seq) FROM journal"),
      last_(db, "SELECT max(seq) FROM journal"),
      sum_at_(db, "SELECT sum FROM journal WHERE seq = ?"),
      insert_(db, "INSERT INTO journal (seq, body, sum) VALUES (?, ?, ?)"),
      select_(db, "SELECT seq, body, sum FROM journal WHERE seq >= ? ORDER BY seq LIMIT ?"),
      select_text_(db,
                   "SELECT seq, body, sum, at_us FROM journal WHERE seq >= ? ORDER BY seq LIMIT ?"),
      delete_(db, "DELETE FROM journal WHERE seq <= ?") {}

std::uint64_t JournalTable::first_seq() {
  return static_cast<std::uint64_t>(first_.integer().value_or(0));
}

std::uint64_t JournalTable::last_seq() {
  return static_cast<std::uint64_t>(last_.integer().value_or(0));
}

std::optional<std::int64_t> JournalTable::sum_at(std::uint64_t seq) { return sum_at_.integer(seq); }

std::int64_t JournalTable::append(std::span<const Entry> entries) {
  std::int64_t sum = 0;
  for (const auto& entry : entries) {
    JsonWriter json(std::move(text_));
    write_entry(json, entry);
    text_ = json.take();
    sum = sum_of(text_);
    insert_.run(entry.seq, text_, sum);
  }
  return sum;
}

void JournalTable::each(std::uint64_t seq, std::size_t limit,
                        const std::function<void(Entry)>& visit) {
  const auto deliver = [&](Row row) { return visit(read(row)), true; };
  select_.each(deliver, seq, limit);
}

void JournalTable::each_text(std::uint64_t seq, std::size_t limit,
                             const std::function<void(const Stored&)>& visit) {
  const auto deliver = [&](Row row) {
    visit({row.as<std::uint64_t>(0), time_from_us(row.integer(3)), body_of(row)});
    return true;
  };
  select_text_.each(deliver, seq, limit);
}

void JournalTable::delete_up_to(std::uint64_t seq) { delete_.run(seq); }

}  // namespace paceline
