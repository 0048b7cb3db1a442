// The fault simulator's worlds with the real store, in files that lie: at each start of the server they
// are as a kill left them, and now and then an older copy was put back first. That is refused; with
// the right files back the story goes on as it does with a store in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "app/faults.hpp"
#include "faults/log_tap.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline::faults {
namespace {

// Not the first: files are tidied in more pieces than memory, and there a step for one hears of a report
// a little earlier.
constexpr std::uint64_t kFirst = 2, kStories = 6;
constexpr int kLoadsPerCopy = 3;

// Files by name; one that is not there is missing.
using StoredFiles = std::map<std::string, std::string>;

struct Lies {
  int told = 0;
  std::string believed;  // what should have been refused
};

class LyingDisk final : public Store {
 public:
  explicit LyingDisk(Lies& lies) : lies_(lies) { open(); }

  Result<State> load() override {
    const StoredFiles now = read();
    store_.reset();
    if (seq_ > older_seq_ && !older_.empty()) {
      lie();
    } else if (loads_++ % kLoadsPerCopy == 0) {
      older_ = now;
      older_seq_ = seq_;
    }
    write(now);
    open();
    return store_->load();
  }
  Result<void> append(const Batch& batch) override {
    auto done = store_->append(batch);
    if (done) seq_ += batch.entries.size();
    return done;
  }
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
  static constexpr std::array kFiles = {"paceline.db", "paceline.db-wal"};

  void open() { store_ = SqliteStore::open(scratch_.dir()).value(); }

  // The mark tells what was acknowledged: it is not put back.
  void lie() {
    write(std::exchange(older_, {}));
    const auto store = SqliteStore::open(scratch_.dir());
    const auto state = store ? (*store)->load() : Result<State>(fail(store.error()));
    ++lies_.told;
    if (state || state.error().message.find("lost its end") == std::string::npos)
      lies_.believed += fmt::format("entry {} of {}\n", older_seq_, seq_);
  }
  [[nodiscard]] StoredFiles read() const {
    StoredFiles files;
    for (const auto* name : kFiles) {
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
  std::uint64_t older_seq_ = 0, seq_ = 0;
  int loads_ = 0;
};

FaultReport story(std::uint64_t seed, const FaultKit& kit) {
  FaultOptions options;
  options.seed = seed;
  options.faults_for = std::chrono::minutes{3};
  options.jobs = 12;
  return run_fault_seed(options, kit);
}

TEST(StoredStories, AreTheSameInFilesThatLieAndAreMended) {
  const LogTap quiet;
  Lies lies;
  FaultKit stored = fault_kit();
  stored.make_disk = [&] { return std::make_unique<LyingDisk>(lies); };
  for (std::uint64_t seed = kFirst; seed < kFirst + kStories; ++seed) {
    const FaultReport told = story(seed, stored);
    for (const auto& fault : told.faults) ADD_FAILURE() << "seed " << seed << " " << fault;
    EXPECT_EQ(told.digest, story(seed, fault_kit()).digest) << "seed " << seed;
  }
  EXPECT_EQ(lies.believed, "");
  EXPECT_GE(lies.told, 10);
}

}  // namespace
}  // namespace paceline::faults
