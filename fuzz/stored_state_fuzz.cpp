// Rows of a database whose sums are right, whatever they say: they make a state that is in order, or
// are refused. A line is a letter and a row: h, the header of a checkpoint; n, a node; j, a job; e,
// an entry that follows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "plan/assemble.hpp"
#include "plan/check.hpp"
#include "store/failed_check.hpp"
#include "wire/entry_json.hpp"
#include "wire/state_json.hpp"

namespace {

using namespace paceline;

struct Rows {
  StateParts parts;
  std::vector<Entry> entries;

  // False: the row can't be read.
  bool take(std::string_view line) {
    const auto row = line.substr(1);
    if (line[0] == 'h') return take_header(row);
    if (line[0] == 'n') return push(parts.nodes, read_stored_node(row));
    if (line[0] == 'j') return take_job(row);
    return line[0] != 'e' || push(entries, read_entry(row));
  }
  bool take_header(std::string_view row) {
    auto header = read_state_header(row);
    if (!header) return false;
    header->nodes = std::move(parts.nodes);
    header->jobs = std::move(parts.jobs);
    parts = std::move(*header);
    return true;
  }
  bool take_job(std::string_view row) {
    auto job = read_stored_job(row);
    if (!job || job->id.value < 1) return false;
    parts.jobs.put(std::move(*job));
    return true;
  }
  template <class T>
  static bool push(auto& rows, Result<T> row) {
    if (row) rows.push_back(std::move(*row));
    return row.has_value();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Rows rows;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && !rows.take(line)) return 0;
  }
  auto state = assemble(std::move(rows.parts));
  if (!state) return 0;
  for (const Entry& entry : rows.entries) {
    if (failed_check([&] { apply(*state, entry); })) return 0;
    check(check_state(*state).empty(), "an entry that is folded leaves a state in order");
  }
  return 0;
}
