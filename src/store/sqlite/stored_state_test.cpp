// Rows of a checkpoint and entries of a journal that were changed by somebody who also changed their
// sums: whatever they say, they are refused or they are a state.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "plan/apply.hpp"
#include "plan/assemble.hpp"
#include "plan/check.hpp"
#include "store/failed_check.hpp"
#include "support/world.hpp"
#include "wire/entry_json.hpp"
#include "wire/json_writer.hpp"
#include "wire/state_json.hpp"

namespace paceline {
namespace {

using testing::World;

template <class T>
std::string text_of(void (*write)(JsonWriter&, const T&), const T& value) {
  JsonWriter json;
  write(json, value);
  return json.take();
}

// Jobs in most states a job can be in, on two nodes.
World busy() {
  World world("1x4 cpu; 1x2 a100");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.checkpoint(a);
  world.run("1..1", 1);
  world.submit("2..2");
  world.ended(world.run("1..1", 1));
  world.change_size(a, 1);
  world.pause(JobId{2});
  world.start(JobId{3}, 2);
  return world;
}

constexpr std::array<std::string_view, 9> kNumbers = {"0",  "1",          "2",          "3",    "7",
                                                      "-1", "4294967295", "2147483647", "1e300"};

// One number, word or name in it becomes another; or a piece goes.
std::string mutated(std::string text, Rng& rng) {
  const auto at = static_cast<std::size_t>(rng.below(text.size()));
  const auto number = text.find_first_of("0123456789", at);
  if (rng.chance(0.6) && number != std::string::npos) {
    const auto end = text.find_first_not_of("0123456789.e-", number);
    return text.replace(number, end - number, kNumbers[rng.below(kNumbers.size())]);
  }
  if (rng.chance(0.3)) {
    const auto from = text.find("{\"", at), to = text.find('}', at);
    if (from != std::string::npos && to != std::string::npos && from < to)
      return text.replace(from, to - from + 1, "null");
  }
  const auto open = text.find('[', at), close = text.find(']', at);
  if (open != std::string::npos && close != std::string::npos && open < close)
    return text.replace(open, close - open + 1, "[]");
  return text;
}

struct Rows {
  std::string header;
  std::vector<std::string> nodes, jobs, entries;

  std::string& some(Rng& rng) {
    const auto kind = rng.below(8);
    if (kind == 0) return header;
    if (kind == 1) return nodes[rng.below(nodes.size())];
    if (kind < 5) return jobs[rng.below(jobs.size())];
    return entries[rng.below(entries.size())];
  }

  // The state they make, if they make one.
  [[nodiscard]] std::optional<State> load() const {
    auto parts = read_state_header(header);
    if (!parts) return std::nullopt;
    for (const auto& text : nodes) {
      auto node = read_stored_node(text);
      if (!node) return std::nullopt;
      parts->nodes.push_back(std::move(*node));
    }
    for (const auto& text : jobs) {
      auto job = read_stored_job(text);
      if (!job) return std::nullopt;
      if (job->id.value < 1) return std::nullopt;
      parts->jobs.put(std::move(*job));
    }
    auto state = assemble(std::move(*parts));
    if (!state) return std::nullopt;
    for (const auto& text : entries) {
      const auto entry = read_entry(text);
      if (!entry || failed_check([&] { apply(*state, *entry); })) return std::nullopt;
    }
    return std::move(*state);
  }
};

TEST(StoredState, IsRefusedOrInOrderWhateverItsRowsSay) {
  const World world = busy();
  const State before(world.state().parts());
  World after = busy();
  const auto told = after.journal().size();
  after.killed(JobId{1});
  after.started(JobId{3});
  after.resume(JobId{2});
  after.submit("1..1");
  after.report(JobId{3}, {});
  after.ended(JobId{3});
  Rows rows;
  rows.header = text_of(write_state_header, before.parts());
  for (const auto& node : before.nodes()) rows.nodes.push_back(text_of(write_stored_node, node));
  for (const auto& job : before.jobs()) rows.jobs.push_back(text_of(write_stored_job, job));
  for (auto i = told; i < after.journal().size(); ++i)
    rows.entries.push_back(text_of(write_entry, after.journal()[i]));
  ASSERT_EQ(rows.load()->parts(), after.state().parts());
  Rng rng(1);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    Rows changed = rows;
    for (auto count = rng.between(1, 3); count > 0; --count) {
      auto& text = changed.some(rng);
      text = mutated(std::move(text), rng);
    }
    const auto state = changed.load();
    ++(state ? loaded : refused);
    if (!state) continue;
    const auto wrong = check_state(*state);
    ASSERT_TRUE(wrong.empty()) << i << ": " << wrong.front();
  }
  EXPECT_GT(loaded, 1'000);
  EXPECT_GT(refused, 5'000);
}

// What fuzz/stored_state_fuzz.cpp begins with would serve for nothing if it were refused.
TEST(StoredState, OfTheFuzzersCorpusIsRead) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("fuzz/corpus/stored_state")) {
    Rows rows;
    rows.header = text_of(write_state_header, StateParts{});
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      auto row = line.substr(1);
      if (line[0] == 'h') rows.header = std::move(row);
      if (line[0] == 'n') rows.nodes.push_back(std::move(row));
      if (line[0] == 'j') rows.jobs.push_back(std::move(row));
      if (line[0] == 'e') rows.entries.push_back(std::move(row));
    }
    const auto state = rows.load();
    ASSERT_TRUE(state) << file.path();
    EXPECT_GE(state->jobs().size(), 4U) << file.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace paceline
