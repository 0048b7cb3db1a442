#include "messages/outbox.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "files/fd.hpp"

namespace paceline {
namespace {

constexpr int kBusyMs = 10'000;
constexpr std::int64_t kServer = -1;  // in the place of a user's number
constexpr std::int64_t kSchema = 1;
constexpr Duration kMadeKept = std::chrono::hours{24};

constexpr const char* kTables = R"(
CREATE TABLE identity (text TEXT NOT NULL, begun_us INTEGER NOT NULL);
CREATE TABLE told (job INTEGER PRIMARY KEY, once INTEGER NOT NULL, attempt INTEGER NOT NULL,
  stalled_us INTEGER NOT NULL);
CREATE TABLE hooks (key TEXT PRIMARY KEY, since_us INTEGER NOT NULL);
CREATE TABLE messages (id TEXT NOT NULL, address TEXT NOT NULL, job INTEGER NOT NULL,
  kind TEXT NOT NULL, sender INTEGER NOT NULL, made_us INTEGER NOT NULL, payload BLOB NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, due_us INTEGER NOT NULL, problem TEXT NOT NULL DEFAULT '',
  given_up INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (id, address));
CREATE INDEX messages_by_sender ON messages (given_up, sender, due_us);
CREATE INDEX messages_by_job ON messages (job);
CREATE TABLE made (sender INTEGER NOT NULL, at_us INTEGER NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (sender, at_us));
)";

std::int64_t number_of(Sender sender) { return sender ? std::int64_t{*sender} : kServer; }

Sender sender_of(std::int64_t number) {
  return number == kServer ? Sender() : Sender(static_cast<std::uint32_t>(number));
}

std::int64_t bits_of(const Told& told) {
  return (told.started ? 1 : 0) | (told.delivered ? 2 : 0) | (told.final ? 4 : 0) |
         (told.ended ? 8 : 0) | (told.stalled_owner ? 16 : 0) | (told.stalled_operator ? 32 : 0);
}

// Private before anything is in it.
Result<void> make_private(const std::filesystem::path& file) {
  const UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (made && ::fchmod(made.get(), 0600) == 0) return {};
  return fail(ErrorCode::storage,
              fmt::format("'{}' can't be made: {}.", file.string(), std::strerror(errno)));
}

}  // namespace

struct MessageOutbox::Impl {
  explicit Impl(std::filesystem::path path)
      : file(std::move(path)), db(file.string(), SQLite::OPEN_READWRITE, kBusyMs) {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    if (db.execAndGet("PRAGMA user_version").getInt64() == 0) {
      db.exec(kTables);
      db.exec(fmt::format("PRAGMA user_version = {}", kSchema));
      db.exec("INSERT INTO identity VALUES (lower(hex(randomblob(8))), -1)");
    }
    transaction.commit();
    identity = db.execAndGet("SELECT text FROM identity").getString();
  }

  // What SQLite throws ends here.
  template <class Work>
  auto guarded(Work work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::exception& defect) {
      return fail(ErrorCode::storage,
                  fmt::format("'{}': {}.", file.string(), std::string_view(defect.what())),
                  "Messages wait until there is room again.", Retry::may_help);
    }
  }
  template <class Work>
  Result<void> commit(Work work) {
    return guarded([&]() -> Result<void> {
      SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
      return {};
    });
  }
  SQLite::Statement& statement(const char* sql) {
    auto& made = statements[sql];
    if (!made) made = std::make_unique<SQLite::Statement>(db, sql);
    made->reset();
    made->clearBindings();
    return *made;
  }
  template <class... Args>
  void run(const char* sql, const Args&... args) {
    auto& ready = statement(sql);
    int index = 0;
    (ready.bind(++index, args), ...);
    ready.exec();
    ready.reset();
  }
  template <class... Args>
  std::optional<std::int64_t> integer(const char* sql, const Args&... args) {
    auto& ready = statement(sql);
    int index = 0;
    (ready.bind(++index, args), ...);
    std::optional<std::int64_t> found;
    if (ready.executeStep() && !ready.getColumn(0).isNull()) found = ready.getColumn(0).getInt64();
    ready.reset();
    return found;
  }

  void put(const Outgoing& message) {
    auto& put = statement(
        "INSERT OR IGNORE INTO messages (id, address, job, kind, sender, made_us, payload, due_us) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    put.bind(1, message.id);
    put.bind(2, message.to);
    put.bind(3, std::int64_t{message.job.value});
    put.bind(4, std::string(to_string(message.kind)));
    put.bind(5, number_of(message.sender));
    put.bind(6, to_us(message.made_at));
    put.bind(7, message.payload.data(), static_cast<int>(message.payload.size()));
    put.bind(8, to_us(message.made_at));
    put.exec();
    put.reset();
    run("INSERT INTO made VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
        number_of(message.sender), to_us(message.made_at));
    run("DELETE FROM made WHERE sender = ? AND at_us < ?", number_of(message.sender),
        to_us(message.made_at - kMadeKept));
  }

  std::filesystem::path file;
  SQLite::Database db;
  std::string identity;
  std::map<const char*, std::unique_ptr<SQLite::Statement>> statements;
};

MessageOutbox::MessageOutbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MessageOutbox::~MessageOutbox() = default;

Result<std::unique_ptr<MessageOutbox>> MessageOutbox::open(const std::filesystem::path& file) {
  if (auto made = make_private(file); !made) return fail(made.error());
  try {
    auto impl = std::make_unique<Impl>(file);
    const auto schema = impl->db.execAndGet("PRAGMA user_version").getInt64();
    if (schema > kSchema) {
      return fail(ErrorCode::data, fmt::format("'{}' is of a newer version.", file.string()),
                  "Move it away: messages that wait in it are not sent then.");
    }
    return std::unique_ptr<MessageOutbox>(new MessageOutbox(std::move(impl)));
  } catch (const std::exception& defect) {
    return fail(
        ErrorCode::data,
        fmt::format("'{}' can't be read: {}.", file.string(), std::string_view(defect.what())),
        "Move it away: messages that wait in it are not sent then.");
  }
}

const std::string& MessageOutbox::identity() const { return impl_->identity; }

Result<Time> MessageOutbox::begun(Time now) {
  std::int64_t at = 0;
  auto done = impl_->commit([&] {
    impl_->run("UPDATE identity SET begun_us = ? WHERE begun_us < 0", to_us(now));
    at = impl_->integer("SELECT begun_us FROM identity").value_or(0);
  });
  if (!done) return fail(done.error());
  return time_from_us(at);
}

Result<std::vector<Time>> MessageOutbox::hooks_since(std::span<const std::string> keys, Time now) {
  std::vector<Time> since;
  auto done = impl_->commit([&] {
    std::map<std::string, std::int64_t> known;
    for (const auto& key : keys) {
      known[key] =
          impl_->integer("SELECT since_us FROM hooks WHERE key = ?", key).value_or(to_us(now));
      since.push_back(time_from_us(known[key]));
    }
    impl_->run("DELETE FROM hooks");
    for (const auto& [key, at] : known) impl_->run("INSERT INTO hooks VALUES (?, ?)", key, at);
  });
  if (!done) return fail(done.error());
  return since;
}

Result<std::map<JobId, Told>> MessageOutbox::told() {
  return impl_->guarded([&]() -> Result<std::map<JobId, Told>> {
    std::map<JobId, Told> all;
    auto& rows = impl_->statement("SELECT job, once, attempt, stalled_us FROM told");
    while (rows.executeStep()) {
      const auto bits = rows.getColumn(1).getInt64();
      // Where it isn't noted who was told of a stall, both were.
      const bool both = (bits & (16 | 32)) == 0;
      all.emplace(JobId{rows.getColumn(0).getUInt()},
                  Told{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                       rows.getColumn(2).getInt(), time_from_us(rows.getColumn(3).getInt64()),
                       both || (bits & 16) != 0, both || (bits & 32) != 0});
    }
    return all;
  });
}

Result<void> MessageOutbox::add(const OutboxBatch& batch) {
  return impl_->commit([&] {
    for (const auto& message : batch.messages) impl_->put(message);
    for (const auto& [job, told] : batch.told)
      impl_->run("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", std::int64_t{job.value},
                 bits_of(told), told.attempt, to_us(told.stalled_since));
    for (const JobId job : batch.forgotten) {
      impl_->run("DELETE FROM told WHERE job = ?", std::int64_t{job.value});
      impl_->run("DELETE FROM messages WHERE job = ? AND given_up = 1", std::int64_t{job.value});
    }
  });
}

std::uint64_t MessageOutbox::waiting(Sender sender) {
  const auto counted = impl_->guarded([&]() -> Result<std::int64_t> {
    return impl_
        ->integer("SELECT count(*) FROM messages WHERE given_up = 0 AND sender = ?",
                  number_of(sender))
        .value_or(0);
  });
  return counted ? static_cast<std::uint64_t>(*counted) : 0;
}

std::uint64_t MessageOutbox::made_since(Sender sender, Time since) {
  const auto counted = impl_->guarded([&]() -> Result<std::int64_t> {
    return impl_
        ->integer("SELECT sum(n) FROM made WHERE sender = ? AND at_us >= ?", number_of(sender),
                  to_us(since))
        .value_or(0);
  });
  return counted ? static_cast<std::uint64_t>(*counted) : 0;
}

OutboxSums MessageOutbox::sums(JobId job) {
  const auto found = impl_->guarded([&]() -> Result<OutboxSums> {
    OutboxSums sums;
    auto& rows =
        impl_->statement("SELECT given_up, problem FROM messages WHERE job = ? ORDER BY made_us");
    rows.bind(1, std::int64_t{job.value});
    while (rows.executeStep()) {
      ++(rows.getColumn(0).getInt() != 0 ? sums.given_up : sums.waiting);
      if (auto problem = rows.getColumn(1).getString(); !problem.empty())
        sums.problem = std::move(problem);
    }
    return sums;
  });
  return found.value_or(OutboxSums());
}

std::vector<Outgoing> MessageOutbox::due(Time now, std::size_t each, std::size_t per_address) {
  auto found = impl_->guarded([&]() -> Result<std::vector<Outgoing>> {
    std::vector<std::int64_t> senders;
    auto& names = impl_->statement("SELECT DISTINCT sender FROM messages WHERE given_up = 0");
    while (names.executeStep()) senders.push_back(names.getColumn(0).getInt64());
    std::vector<Outgoing> messages;
    for (const auto sender : senders) {
      auto& rows = impl_->statement(
          "SELECT id, address, job, kind, made_us, payload, tries FROM messages WHERE rowid IN "
          "(SELECT rowid FROM (SELECT rowid, row_number() OVER (PARTITION BY address "
          "ORDER BY due_us, made_us) AS n FROM messages "
          "WHERE given_up = 0 AND sender = ? AND due_us <= ?) WHERE n <= ?) "
          "ORDER BY due_us, made_us LIMIT ?");
      rows.bind(1, sender);
      rows.bind(2, to_us(now));
      rows.bind(3, static_cast<std::int64_t>(per_address));
      rows.bind(4, static_cast<std::int64_t>(each));
      while (rows.executeStep()) {
        const auto payload = rows.getColumn(5);
        messages.push_back(
            {rows.getColumn(0).getString(), rows.getColumn(1).getString(),
             JobId{rows.getColumn(2).getUInt()},
             parse_message_kind(rows.getColumn(3).getString()).value_or(MessageKind::ended),
             sender_of(sender), time_from_us(rows.getColumn(4).getInt64()),
             std::string(static_cast<const char*>(payload.getBlob()),
                         static_cast<std::size_t>(payload.getBytes())),
             rows.getColumn(6).getUInt()});
      }
    }
    return messages;
  });
  return found.value_or(std::vector<Outgoing>());
}

std::optional<Time> MessageOutbox::next_due() {
  const auto at = impl_->guarded([&]() -> Result<std::optional<std::int64_t>> {
    return impl_->integer("SELECT min(due_us) FROM messages WHERE given_up = 0");
  });
  if (!at || !*at) return std::nullopt;
  return time_from_us(**at);
}

Result<void> MessageOutbox::sent(const Outgoing& message) {
  return impl_->commit([&] {
    impl_->run("DELETE FROM messages WHERE id = ? AND address = ?", message.id, message.to);
  });
}

Result<void> MessageOutbox::put_off(const Outgoing& message, Time until,
                                    const std::string& problem) {
  return impl_->commit([&] {
    impl_->run(
        "UPDATE messages SET tries = tries + 1, due_us = ?, problem = ? "
        "WHERE id = ? AND address = ?",
        to_us(until), problem, message.id, message.to);
  });
}

Result<void> MessageOutbox::given_up(const Outgoing& message, const std::string& problem) {
  return impl_->commit([&] {
    impl_->run(
        "UPDATE messages SET given_up = 1, problem = ?, payload = x'' "
        "WHERE id = ? AND address = ?",
        problem, message.id, message.to);
    impl_->run("DELETE FROM messages WHERE id = ? AND job NOT IN (SELECT job FROM told)",
               message.id);
  });
}

}  // namespace paceline
