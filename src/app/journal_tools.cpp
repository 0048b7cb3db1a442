#include "app/journal_tools.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "app/whole_file.hpp"
#include "store/sqlite/dir_lock.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "wire/entry_json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;
constexpr std::string_view kDatabaseName = "paceline.db";

Result<std::unique_ptr<SqliteStore>> open_in(const std::string& directory) {
  return SqliteStore::open_to_read(std::filesystem::path(directory) / kDatabaseName);
}

void write_segment(JsonWriter& json, const SegmentDir& segments, const Segment& segment) {
  const auto file = segments.path_of(segment);
  const auto lines = read_segment(file);
  json.begin_object().field("first", segment.first).field("last", segment.last);
  json.field("entries", segment.entries()).field("bytes", segment.bytes);
  json.field("from", segment.from).field("until", segment.until);
  json.field("state", lines ? "sound" : "damaged").field("file", file.filename().string());
  json.end_object();
}

// What is in no segment yet.
Result<void> write_database(JsonWriter& json, SqliteStore& store, const State& state) {
  const auto& segments = store.segments().all();
  const auto first = store.first_entry();
  if (!first) return fail(first.error());
  const auto begin = segments.empty() ? *first : segments.back().last + 1;
  if (begin > state.seq()) {
    json.null_field("database");
    return {};
  }
  const auto entries = store.entries(begin, 1);
  if (!entries) return fail(entries.error());
  json.key("database").begin_object().field("first", begin).field("last", state.seq());
  json.field("entries", state.seq() - begin + 1).null_field("bytes");
  json.field("from", entries->empty() ? state.at() : entries->front().at);
  json.field("until", state.at()).field("state", "sound").field("file", kDatabaseName);
  json.end_object();
  return {};
}

Result<std::string> list_segments(const std::string& directory) {
  const auto store = open_in(directory);
  if (!store) return fail(store.error());
  const auto state = (*store)->load();
  if (!state) return fail(state.error());
  JsonWriter json;
  json.shows_by(state->clock_marks());
  json.begin_object().field("directory", directory).key("segments").begin_array();
  for (const Segment& segment : (*store)->segments().all())
    write_segment(json, (*store)->segments(), segment);
  json.end_array();
  if (auto written = write_database(json, **store, *state); !written) return fail(written.error());
  json.end_object();
  return json.take();
}

// Hands out the lines of one journal; what is damaged is passed over and told.
class Lines {
 public:
  using Print = std::function<bool(std::string_view)>;

  Lines(SqliteStore& store, const ExportOptions& options)
      : store_(store),
        options_(options),
        end_(options.to.value_or(std::numeric_limits<std::int64_t>::max())) {}

  Result<std::uint64_t> write(const Print& print) {
    const auto first = store_.first_entry();
    if (!first) return fail(first.error());
    std::uint64_t next = std::max(options_.from, *first), missing = 0;
    while (next <= end_) {
      const auto page =
          store_.entries(next, std::min<std::uint64_t>(kEntriesAtOnce, end_ - next + 1));
      if (!page) {
        const auto* segment = store_.segments().find(next);
        if (page.error().code != ErrorCode::data || segment == nullptr) return fail(page.error());
        options_.complain(page.error());
        missing += std::min(segment->last, end_) - next + 1;
        next = segment->last + 1;
        continue;
      }
      if (page->empty()) break;
      next = page->back().seq + 1;
      if (!print(text_of(*page))) break;
    }
    return missing;
  }

 private:
  static std::string text_of(const std::vector<Entry>& entries) {
    std::string text;
    for (const Entry& entry : entries) text.append(entry_text(entry)) += '\n';
    return text;
  }

  SqliteStore& store_;
  const ExportOptions& options_;
  std::uint64_t end_;
};

Result<std::uint64_t> export_lines(const ExportOptions& options) {
  const auto store = open_in(options.directory);
  if (!store) return fail(store.error());
  Lines lines(**store, options);
  if (options.output.empty()) return lines.write(options.print);
  if (auto ok = check_writable(options.output); !ok) return fail(ok.error());
  Result<std::uint64_t> missing = 0;
  const auto written = write_whole(options.output, [&](std::ostream& out) {
    missing = lines.write([&](std::string_view text) { return bool(out << text); });
  });
  if (!missing) return missing;
  if (!written) return fail(written.error());
  return missing;
}

Result<std::string> prune_segments(const std::string& directory, std::uint64_t before) {
  const auto lock = DirLock::take(directory);
  if (!lock) return fail(lock.error());
  const auto store = SqliteStore::open(directory);
  if (!store) return fail(store.error());
  const auto pruned = (*store)->prune(before);
  if (!pruned) return fail(pruned.error());
  const auto first = (*store)->first_entry();
  if (!first) return fail(first.error());
  JsonWriter json;
  json.begin_object().field("segments", pruned->segments).field("entries", pruned->entries);
  json.field("bytes", pruned->bytes).field("first", *first).end_object();
  return json.take();
}

}  // namespace

JournalHooks journal_hooks() { return {list_segments, export_lines, prune_segments}; }

}  // namespace paceline
