// The fault simulator's worlds with the real store, in files that lie: at each start of the server they
// are as a kill left them, and something is done to them first. That is refused with a sentence, or it
// is the same state, never an older one; with the right files back the story goes on as it does in files
// that never lied. PACELINE_STORIES=200 tells so many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "app/faults.hpp"
#include "base/rng.hpp"
#include "faults/log_tap.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/numbers.hpp"

namespace paceline::faults {
namespace {

constexpr int kLoadsPerCopy = 3;
constexpr std::size_t kPage = 4096;

std::uint64_t stories() { return testing::number_from("PACELINE_STORIES", 6); }

// Files by name; one that is not there is missing.
using StoredFiles = std::map<std::string, std::string>;

constexpr const char* kDatabase = "paceline.db";
constexpr const char* kLog = "paceline.db-wal";

// ---- what the disk does ----

// Bytes from `at` on are as they were before, or zero where there was nothing yet.
void bring_back(std::string& bytes, const std::string& before, std::size_t at, std::size_t count) {
  for (std::size_t i = at; i < std::min(at + count, bytes.size()); ++i)
    bytes[i] = i < before.size() ? before[i] : '\0';
}

// To some page of a file, of which there is an older copy.
std::string_view lie_about_a_page(Rng& rng, std::string& bytes, const std::string& before) {
  const std::size_t page = rng.below(bytes.size() / kPage + 1) * kPage;
  switch (rng.below(3)) {
    case 0:
      bring_back(bytes, before, page, kPage);
      return "an old page";
    case 1:
      bring_back(bytes, "", page, kPage);
      return "a lost page";
    default:
      bring_back(bytes, before, page + kPage / 2, kPage / 2);
      return "a torn page";
  }
}

std::string_view cut(Rng& rng, std::string& bytes) {
  bytes.resize(rng.below(bytes.size() + 1));
  return "a log that is cut";
}

// Does one thing; returns what.
std::string_view tell_lie(Rng& rng, StoredFiles& files, StoredFiles older) {
  switch (rng.below(7)) {
    case 0:
      return files = older, "an older copy";
    case 1:
      return files = {{kDatabase, older[kDatabase]}}, "an older database";
    case 2:
      return files.erase(kLog), "a lost log";
    case 3:
      return cut(rng, files[kLog]);
    case 4:
      return lie_about_a_page(rng, files[kLog], older[kLog]);
    default:
      return lie_about_a_page(rng, files[kDatabase], older[kDatabase]);
  }
}

struct Lies {
  bool tells = true;
  Rng rng{0};
  std::map<std::string, int, std::less<>> told;
  int refused = 0, changed_nothing = 0;
  std::string believed;  // what should have been refused
};

class LyingDisk final : public Store {
 public:
  explicit LyingDisk(Lies& lies) : lies_(lies) { open(); }

  Result<State> load() override {
    const StoredFiles now = read();
    store_.reset();
    const bool lies = lies_.tells && !older_.empty();
    const auto lied = lies ? std::optional(lie(now)) : std::nullopt;
    if (loads_++ % kLoadsPerCopy == 0) older_ = now;
    write(now);
    open();
    auto state = store_->load();
    if (lied && state) judge(*lied, *state);
    return state;
  }
  Result<void> append(const Batch& batch) override { return store_->append(batch); }
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override {
    return store_->checkpoint(state, changed);
  }
  Result<void> prove() override { return store_->prove(); }
  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) override {
    return store_->entries(seq, limit);
  }
  Result<std::uint64_t> first_entry() override { return store_->first_entry(); }
  Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) override {
    return store_->forgotten(from, limit);
  }
  Result<std::vector<Progressed>> unjournalled() override { return store_->unjournalled(); }
  Result<LaunchSpec> launch(JobId job) override { return store_->launch(job); }
  Result<std::uint64_t> passed_over(JobId job) override { return store_->passed_over(job); }
  Result<std::uint64_t> newest_report(const ProcessKey& process) override {
    return store_->newest_report(process);
  }
  Result<std::vector<std::pair<JobId, Notify>>> notify(JobId from) override {
    return store_->notify(from);
  }
  Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                           std::size_t limit) override {
    return store_->points(job, name, from, limit);
  }
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override {
    return store_->find_submission(uid, key, now);
  }
  Result<std::optional<EndedJob>> first_ended(Kept kept) override {
    return store_->first_ended(kept);
  }
  Result<bool> thin(JobId job) override { return store_->thin(job); }
  Result<bool> drop(JobId job, Time now) override { return store_->drop(job, now); }
  Result<std::optional<Remains>> remains(JobId job) override { return store_->remains(job); }
  Result<bool> tidy(const JournalBounds& bounds) override { return store_->tidy(bounds); }
  Result<Pruned> prune(std::uint64_t before) override { return store_->prune(before); }

 private:
  // What came of it.
  struct Lied {
    std::string_view lie;
    Result<State> state;
  };

  void open() { store_ = SqliteStore::open(scratch_.dir()).value(); }

  // The mark tells what was acknowledged: it is let be.
  Lied lie(StoredFiles files) {
    const std::string_view what = tell_lie(lies_.rng, files, older_);
    ++lies_.told[std::string(what)];
    write(files);
    const auto store = SqliteStore::open(scratch_.dir());
    return {what, store ? (*store)->load() : Result<State>(fail(store.error()))};
  }
  void judge(const Lied& lied, const State& state) {
    if (lied.state) {
      ++lies_.changed_nothing;
      if (lied.state->parts() != state.parts())
        lies_.believed +=
            fmt::format("{}: entry {} of {}\n", lied.lie, lied.state->seq(), state.seq());
      return;
    }
    ++lies_.refused;
    const Error& error = lied.state.error();
    if (error.code != ErrorCode::data || error.message.empty() || error.hint.empty())
      lies_.believed += fmt::format("{}: '{}'\n", lied.lie, error.message);
  }
  [[nodiscard]] StoredFiles read() const {
    StoredFiles files;
    for (const auto* name : {kDatabase, kLog}) {
      std::ifstream in(scratch_.dir() / name, std::ios::binary);
      std::ostringstream bytes;
      if (in && bytes << in.rdbuf()) files[name] = bytes.str();
    }
    return files;
  }
  void write(const StoredFiles& files) const {
    for (const auto* name : {"paceline.db", "paceline.db-wal", "paceline.db-shm"})
      std::filesystem::remove(scratch_.dir() / name);
    for (const auto& [name, bytes] : files)
      std::ofstream(scratch_.dir() / name, std::ios::binary) << bytes;
  }

  Lies& lies_;
  const Scratch scratch_;
  std::unique_ptr<SqliteStore> store_;
  StoredFiles older_;
  int loads_ = 0;
};

FaultReport story(std::uint64_t seed, const FaultKit& kit) {
  FaultOptions options;
  options.seed = seed;
  options.faults_for = std::chrono::minutes{3};
  options.jobs = 12;
  return run_fault_seed(options, kit);
}

FaultKit stored(Lies& lies) {
  FaultKit kit = fault_kit();
  kit.make_disk = [&lies] { return std::make_unique<LyingDisk>(lies); };
  return kit;
}

TEST(StoredStories, AreTheSameInFilesThatLieAndAreMended) {
  const LogTap quiet;
  Lies lies, none;
  none.tells = false;
  for (std::uint64_t seed = 1; seed <= stories(); ++seed) {
    lies.rng = Rng(seed);
    const FaultReport told = story(seed, stored(lies));
    for (const auto& fault : told.faults) ADD_FAILURE() << "seed " << seed << " " << fault;
    EXPECT_EQ(told.digest, story(seed, stored(none)).digest) << "seed " << seed;
  }
  EXPECT_EQ(lies.believed, "");
  EXPECT_EQ(lies.told.size(), 7U);
  EXPECT_GE(lies.refused, 10);
  EXPECT_GE(lies.changed_nothing, 10);
}

// Not each: files are tidied in more pieces than memory, and in some a step for one hears of a report
// a little earlier.
TEST(StoredStories, AreTheSameInMemory) {
  const LogTap quiet;
  Lies none;
  none.tells = false;
  for (const std::uint64_t seed : {3U, 4U, 5U, 6U, 8U, 9U})
    EXPECT_EQ(story(seed, stored(none)).digest, story(seed, fault_kit()).digest) << "seed " << seed;
}

}  // namespace
}  // namespace paceline::faults
