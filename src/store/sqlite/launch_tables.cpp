#include "store/sqlite/launch_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>

#include "base/number.hpp"

#include "store/sqlite/schema.hpp"
#include "store/sqlite/sum.hpp"

namespace paceline {
namespace {

// Words and NAME=VALUE pairs each end with a NUL, which none of them can hold: as the kernel passes
// them, exact to the byte.
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(word) += '\0';
  return text;
}

std::string joined(const std::map<std::string, std::string>& environment) {
  std::string text;
  for (const auto& [name, value] : environment) (text.append(name) += '=').append(value) += '\0';
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (auto end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return words;
}

std::map<std::string, std::string> split_pairs(std::string_view text) {
  std::map<std::string, std::string> pairs;
  for (const auto& pair : split(text)) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      throw Damage{"an environment holds something that is no NAME=VALUE"};
    pairs.emplace_hint(pairs.end(), pair.substr(0, equals), pair.substr(equals + 1));
  }
  return pairs;
}

// As text, for people: "1000 27 44".
std::string joined(const std::vector<std::uint32_t>& groups) {
  return fmt::format("{}", fmt::join(groups, " "));
}

std::vector<std::uint32_t> split_numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) throw Damage{"a list of groups holds something that is no number"};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return numbers;
}

// As text, for people: "9f86d0… 132 4100000"; empty: nothing is.
std::string joined(const ShippedDirectory& shipped) {
  if (shipped.ship.empty()) return {};
  return fmt::format("{} {} {}", shipped.ship, shipped.files, shipped.bytes);
}

ShippedDirectory split_shipped(std::string_view text) {
  ShippedDirectory shipped;
  if (text.empty()) return shipped;
  const auto first = text.find(' '), last = text.rfind(' ');
  shipped.ship = text.substr(0, first);
  const auto files = parse_number<std::uint64_t>(text.substr(first + 1, last - first - 1));
  const auto bytes = parse_number<std::uint64_t>(text.substr(last + 1));
  if (first == last || !files || !bytes) throw Damage{"a shipped directory is told in other words"};
  shipped.files = *files;
  shipped.bytes = *bytes;
  return shipped;
}

constexpr std::int64_t kSchemaWithSums = 6;
constexpr std::int64_t kSchemaWithShares = 7;  // groups, shared memory
constexpr std::int64_t kSchemaWithShips = 11;

const char* select_for(std::int64_t schema) {
  if (schema >= kSchemaWithShips)
    return "SELECT command, shell, setup, directory, umask, body, sum, groups, shared_shm, "
           "shipped, "
           "witnesses "
           "FROM launches "
           "JOIN environments ON environments.id = launches.environment WHERE job = ?";
  if (schema >= kSchemaWithShares)
    return "SELECT command, shell, setup, directory, umask, body, sum, groups, shared_shm, '', x'' "
           "FROM launches "
           "JOIN environments ON environments.id = launches.environment WHERE job = ?";
  if (schema >= kSchemaWithSums)
    return "SELECT command, shell, setup, directory, umask, body, sum, x'', 0, '', x'' FROM "
           "launches "
           "JOIN environments ON environments.id = launches.environment WHERE job = ?";
  return "SELECT command, shell, setup, directory, umask, body, NULL, x'', 0, '', x'' FROM "
         "launches "
         "JOIN environments ON environments.id = launches.environment WHERE job = ?";
}

// Of a row as it is stored.
struct LaunchTexts {
  std::string_view command, setup, directory, environment;
  bool shell = false;
  std::uint32_t umask = 0;
  std::string_view groups;
  bool shared_shm = false;
  std::string_view shipped, witnesses;
};

std::int64_t sum_of_texts(const LaunchTexts& row) {
  Digest digest;
  digest.add(row.command).add(row.setup).add(row.directory).add(row.environment);
  digest.add(std::uint64_t{row.shell}).add(std::uint64_t{row.umask});
  // Rows from before know of none of them.
  if (!row.groups.empty()) digest.add(row.groups);
  if (row.shared_shm) digest.add(std::uint64_t{1});
  if (!row.shipped.empty()) digest.add(row.shipped);
  if (!row.witnesses.empty()) digest.add(row.witnesses);
  return std::bit_cast<std::int64_t>(digest.value());
}

}  // namespace

LaunchTables::LaunchTables(SQLite::Database& db)
    : find_environment_(db, "SELECT id FROM environments WHERE digest = ? AND body = ?"),
      insert_environment_(db, "INSERT INTO environments (digest, body) VALUES (?, ?)"),
      last_id_(db, "SELECT last_insert_rowid()"),
      drop_environment_(db,
                        "DELETE FROM environments WHERE id = ?1 AND NOT EXISTS "
                        "(SELECT 1 FROM launches WHERE environment = ?1)"),
      put_(db,
           "REPLACE INTO launches (job, command, shell, setup, directory, umask, environment, "
           "groups, shared_shm, shipped, witnesses, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
           "?)"),
      find_(db, select_for(schema_of(db))),
      environment_of_(db, "SELECT environment FROM launches WHERE job = ?"),
      blank_(db, "UPDATE launches SET setup = x'', environment = ?, sum = NULL WHERE job = ?"),
      delete_(db, "DELETE FROM launches WHERE job = ?") {}

void LaunchTables::put(JobId job, const LaunchSpec& launch) {
  const auto environment = joined(launch.environment);
  const auto command = joined(launch.command);
  const auto groups = joined(launch.groups);
  const auto shipped = joined(launch.shipped);
  const auto witnesses = joined(launch.witnesses);
  const auto sum = sum_of_texts({command, launch.setup, launch.directory, environment, launch.shell,
                                 launch.umask, groups, launch.shared_shm, shipped, witnesses});
  put_.run(job.value, Bytes{command}, launch.shell, Bytes{launch.setup}, Bytes{launch.directory},
           launch.umask, environment_id(environment), Bytes{groups}, launch.shared_shm, shipped,
           Bytes{witnesses}, sum);
}

std::int64_t LaunchTables::environment_id(const std::string& body) {
  const auto digest = sum_of(body);
  if (const auto known = find_environment_.integer(digest, Bytes{body})) return *known;
  insert_environment_.run(digest, Bytes{body});
  return *last_id_.integer();
}

void LaunchTables::forget_secrets(JobId job) {
  const auto environment = environment_of_.integer(job.value);
  if (!environment) return;
  const auto none = environment_id({});
  blank_.run(none, job.value);
  if (*environment != none) drop_environment_.run(*environment);
}

void LaunchTables::drop(JobId job) {
  const auto environment = environment_of_.integer(job.value);
  delete_.run(job.value);
  if (environment) drop_environment_.run(*environment);
}

std::optional<LaunchSpec> LaunchTables::find(JobId job) {
  std::optional<LaunchSpec> found;
  const auto take = [&](Row row) {
    const auto sum = row.maybe<std::int64_t>(6);
    if (sum && *sum != sum_of_texts({row.text(0), row.text(2), row.text(3), row.text(5),
                                     row.integer(1) != 0, row.as<std::uint32_t>(4), row.text(7),
                                     row.integer(8) != 0, row.text(9), row.text(10)}))
      throw Damage{fmt::format("what starts job {} does not match its sum", job.value)};
    found =
        LaunchSpec{split(row.text(0)),       row.integer(1) != 0,        std::string(row.text(2)),
                   split_pairs(row.text(5)), std::string(row.text(3)),   row.as<std::uint32_t>(4),
                   row.integer(8) != 0,      split_numbers(row.text(7)), split_shipped(row.text(9)),
                   split(row.text(10))};
    return false;
  };
  find_.each(take, job.value);
  return found;
}

}  // namespace paceline
