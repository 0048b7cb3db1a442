// A statement that is prepared when it is first used, bound, run and left ready for the next time: a
// file of an older schema can be read without what writes the newest. For store/sqlite alone;
// throws SQLite::Exception, which SqliteStore turns into an Error.
//
//   Query insert(db, "INSERT INTO journal VALUES (?, ?, ?)");
//   insert.run(seq, text, sum);
//   Query select(db, "SELECT seq, body FROM journal WHERE seq > ?");
//   select.each([&](Row row) { use(row.integer(0), row.text(1)); return true; }, seq);
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// A stored value that can't be right: the file is damaged.
struct Damage {
  std::string what;  // "entry 12 of the journal: at byte 5, …"
};

// Bytes to bind: like a text, but they may hold anything.
struct Bytes {
  const std::string& data;
};

// One row of a result; what it shows is valid until the next.
class Row {
 public:
  explicit Row(SQLite::Statement& statement) : statement_(statement) {}

  [[nodiscard]] bool is_null(int column) const { return statement_.isColumnNull(column); }
  [[nodiscard]] std::int64_t integer(int column) const {
    return statement_.getColumn(column).getInt64();
  }
  template <std::integral T>
  [[nodiscard]] T as(int column) const {
    return static_cast<T>(integer(column));
  }
  template <std::integral T>
  [[nodiscard]] std::optional<T> maybe(int column) const {
    return is_null(column) ? std::nullopt : std::optional(as<T>(column));
  }
  // Text or bytes.
  [[nodiscard]] std::string_view text(int column) const {
    const auto value = statement_.getColumn(column);
    const auto* data = static_cast<const char*>(value.getBlob());
    return {data, static_cast<std::size_t>(value.getBytes())};
  }

 private:
  SQLite::Statement& statement_;
};

class Query {
 public:
  // REQUIRES: `db` and `sql` outlive it.
  Query(SQLite::Database& db, const char* sql) : db_(db), sql_(sql) {}

  // Runs it to its end. Texts must outlive the call, which they do.
  template <class... Args>
  void run(const Args&... args) {
    each([](Row) { return true; }, args...);
  }

  // Hands every row to visit(Row), until that says false.
  template <class Visit, class... Args>
  void each(Visit visit, const Args&... args) {
    if (!statement_) statement_.emplace(db_, sql_);
    const Ready ready{*statement_};
    bind_all(args...);
    while (statement_->executeStep() && visit(Row(*statement_))) {
    }
  }

  // The first column of the first row.
  template <class... Args>
  std::optional<std::int64_t> integer(const Args&... args) {
    std::optional<std::int64_t> found;
    each([&](Row row) { return found = row.maybe<std::int64_t>(0), false; }, args...);
    return found;
  }

 private:
  struct Ready {
    SQLite::Statement& statement;
    ~Ready() { statement.tryReset(); }
  };

  template <class... Args>
  void bind_all(const Args&... args) {
    int index = 0;
    (bind(++index, args), ...);
  }
  template <std::integral T>
  void bind(int index, T value) {
    statement_->bind(index, static_cast<std::int64_t>(value));
  }
  template <std::integral T>
  void bind(int index, const std::optional<T>& value) {
    if (value) {
      bind(index, *value);
    } else {
      statement_->bind(index);
    }
  }
  void bind(int index, const std::string& text) { statement_->bindNoCopy(index, text); }
  void bind(int index, Bytes bytes) {
    statement_->bindNoCopy(index, static_cast<const void*>(bytes.data.data()),
                           static_cast<int>(bytes.data.size()));
  }

  SQLite::Database& db_;
  const char* sql_;
  std::optional<SQLite::Statement> statement_;
};

}  // namespace paceline
