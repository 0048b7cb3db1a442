// A disk that lies: what was written comes back damaged, torn, as it was before, or not at all. After
// every commit of a short history the files are changed in such a way and opened again. The answer is
// a refusal, or everything that was acknowledged: never an older state, and never an id given twice.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/history_testing.hpp"
#include "store/sqlite/high_water.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::array kNames = {"paceline.db", "paceline.db-wal", "paceline.mark"};

// A server's files by name; one that is not there is missing.
using Files = std::map<std::string, std::string>;

Files files_of(const fs::path& dir) {
  Files files;
  for (const auto* name : kNames) {
    std::ifstream in(dir / name, std::ios::binary);
    std::ostringstream bytes;
    if (in && bytes << in.rdbuf()) files[name] = bytes.str();
  }
  return files;
}

void put_files(const fs::path& dir, const Files& files) {
  fs::remove_all(dir);
  fs::create_directory(dir);
  for (const auto& [name, bytes] : files) std::ofstream(dir / name, std::ios::binary) << bytes;
}

// The files as a kill would leave them, right after something was acknowledged.
struct Moment {
  Files files;
  StateParts state;
};

struct Recording {
  std::vector<Moment> moments;
  std::map<JobId, LaunchSpec> launches;
};

Batch next_batch(History& history, int entries, std::map<JobId, LaunchSpec>& launches) {
  Batch batch;
  for (int i = 0; i < entries; ++i) {
    batch.entries.push_back(history.next());
    const auto* event = std::get_if<Event>(&batch.entries.back().body);
    const auto* submitted = event ? std::get_if<JobSubmitted>(event) : nullptr;
    if (!submitted) continue;
    launches[submitted->job] = some_launch(submitted->job.value % 3, submitted->job.value);
    batch.launches.emplace_back(submitted->job, launches[submitted->job]);
  }
  return batch;
}

std::vector<JobId> stored_jobs(const State& state) {
  std::vector<JobId> jobs;
  for (const auto& job : state.jobs()) jobs.push_back(job.id);
  return jobs;
}

// Appends and checkpoints by chance; sometimes the write-ahead log is moved into the database, whole
// or in part, as SQLite does once it is long.
Recording record(std::uint64_t seed) {
  const Scratch scratch;
  Recording recording;
  History history(seed);
  Rng rng(seed);
  const auto store = SqliteStore::open(scratch.dir()).value();
  for (int commit = 0; commit < 24; ++commit) {
    if (rng.chance(0.25)) {
      EXPECT_TRUE(store->checkpoint(history.state(), stored_jobs(history.state())));
    } else {
      const auto entries = static_cast<int>(rng.between(1, 12));
      EXPECT_TRUE(store->append(next_batch(history, entries, recording.launches)));
    }
    if (rng.chance(0.3)) {
      SQLite::Database(scratch.database(), SQLite::OPEN_READWRITE)
          .exec(rng.chance(0.5) ? "PRAGMA wal_checkpoint(PASSIVE)"
                                : "PRAGMA wal_checkpoint(TRUNCATE)");
    }
    recording.moments.push_back({files_of(scratch.dir()), history.state().parts()});
  }
  return recording;
}

// ---- what the disk does ----

// Bytes from `at` on are as they were at another moment, or zero where there was nothing yet.
void bring_back(std::string& bytes, const std::string& before, std::size_t at, std::size_t count) {
  for (std::size_t i = at; i < std::min(at + count, bytes.size()); ++i)
    bytes[i] = i < before.size() ? before[i] : '\0';
}

struct Disk {
  Rng& rng;
  const Recording& recording;
  std::size_t now;  // which moment
  Files files = recording.moments[now].files;

  std::size_t somewhere(std::size_t size) { return static_cast<std::size_t>(rng.below(size)); }
  [[nodiscard]] const Files& before() {
    return recording.moments[somewhere(std::max<std::size_t>(now, 1))].files;
  }
  std::string text_before(const std::string& name) {
    const auto& old = before();
    const auto found = old.find(name);
    return found == old.end() ? std::string() : found->second;
  }

  // Does one thing; returns what.
  std::string lie() {
    const std::string name = kNames[somewhere(rng.chance(0.1) ? 3 : 2)];
    auto& bytes = files[name];
    const auto lies = rng.below(8);
    if (lies == 0) return files.erase(name), name + " is lost";
    if (lies == 1) return cut(name, bytes);
    if (lies == 2) return bytes = text_before(name), name + " is an older one";
    if (lies == 3) return older_database();
    if (bytes.empty()) return "nothing";
    const auto page = somewhere(bytes.size() / kPage + 1) * kPage;
    const auto where = fmt::format(" at {} of {}", page, name);
    if (lies == 4) return bring_back(bytes, text_before(name), page, kPage), "an old page" + where;
    if (lies == 5) return bring_back(bytes, "", page, kPage), "a lost page" + where;
    if (lies == 6) {
      bring_back(bytes, text_before(name), page + kPage / 2, kPage / 2);
      return "a torn page" + where;
    }
    const auto at = somewhere(bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
    return fmt::format("a flipped bit at {} of {}", at, name);
  }

  std::string cut(const std::string& name, std::string& bytes) {
    bytes.resize(somewhere(bytes.size() + 1));
    return fmt::format("{} is cut to {}", name, bytes.size());
  }
  // A copy that was put back, with its write-ahead log or without.
  std::string older_database() {
    const Files old = before();
    files["paceline.db"] = old.at("paceline.db");
    files.erase("paceline.db-wal");
    if (rng.chance(0.5) && old.contains("paceline.db-wal"))
      files["paceline.db-wal"] = old.at("paceline.db-wal");
    return "an older copy was put back";
  }
};

// ---- what must hold ----

void expect_sound(SqliteStore& store, const State& state, const Recording& recording,
                  const Moment& moment, const std::string& lie) {
  ASSERT_EQ(state.parts(), moment.state) << lie;
  for (const Job& job : state.jobs()) {
    const auto launch = store.launch(job.id);
    if (!launch) continue;
    const auto& given = recording.launches.at(job.id);
    EXPECT_EQ(launch->command, given.command) << lie;
    EXPECT_TRUE(is_over(job.state) || *launch == given) << lie;
  }
}

// Opens the files; true if they were taken, and then they are what they were.
bool open_lied(const fs::path& dir, const Files& files, const Recording& recording,
               const Moment& moment, const std::string& lie) {
  put_files(dir, files);
  const auto store = SqliteStore::open(dir);
  const auto state = store ? (*store)->load() : Result<State>(fail(store.error()));
  if (state) {
    expect_sound(**store, *state, recording, moment, lie);
    return true;
  }
  EXPECT_EQ(state.error().code, ErrorCode::data) << lie << ": " << state.error().message;
  EXPECT_NE(state.error().hint, "") << lie << ": " << state.error().message;
  return false;
}

class LyingStorageOf : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LyingStorageOf, IsRefusedOrChangesNothing) {
  const Recording recording = record(GetParam());
  const Scratch scratch;
  Rng rng(GetParam());
  int refused = 0, opened = 0;
  for (std::size_t now = 0; now < recording.moments.size(); ++now) {
    for (int i = 0; i < 25; ++i) {
      Disk disk{rng, recording, now};
      const auto lie = fmt::format("moment {}: {}", now, disk.lie());
      ++(open_lied(scratch.dir() / "lied", disk.files, recording, recording.moments[now], lie)
             ? opened
             : refused);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(opened, 50);
}

// Every page as it was at any moment before, one after the other. Returns how many were refused.
int bring_back_pages(const fs::path& dir, const Recording& recording, std::size_t now) {
  const Moment& moment = recording.moments[now];
  const auto& bytes = moment.files.at("paceline.db");
  std::set<std::pair<std::size_t, std::string>> tried;
  int refused = 0;
  for (std::size_t then = 0; then < now; ++then) {
    const auto& old = recording.moments[then].files.at("paceline.db");
    for (std::size_t at = 0; at < std::min(old.size(), bytes.size()); at += kPage) {
      if (!tried.emplace(at, old.substr(at, kPage)).second) continue;
      Files lied = moment.files;
      lied["paceline.db"].replace(at, kPage, old, at, kPage);
      const auto lie = fmt::format("moment {}: page {} of moment {}", now, at / kPage, then);
      refused += open_lied(dir, lied, recording, moment, lie) ? 0 : 1;
      if (::testing::Test::HasFailure()) return refused;
    }
  }
  return refused;
}

// With the write-ahead log moved into the database, nothing lies over a page that the disk brings
// back: rows of another time match their own sums.
TEST(LyingStorage, TakesNoPageOfAnotherTime) {
  const Scratch scratch;
  int refused = 0;
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const Recording recording = record(seed);
    for (std::size_t now = 0; now < recording.moments.size() && !HasFailure(); ++now) {
      const auto log = recording.moments[now].files.find("paceline.db-wal");
      if (log == recording.moments[now].files.end() || log->second.empty())
        refused += bring_back_pages(scratch.dir() / "lied", recording, now);
    }
  }
  EXPECT_GT(refused, 50);
}

// Whoever goes on nevertheless is told of every id and every generation that was given: none is given
// again.
TEST_P(LyingStorageOf, GivesNothingTwiceToWhoGoesOnWithAnOlderJournal) {
  const Recording recording = record(GetParam());
  const Scratch scratch;
  const auto& newest = recording.moments.back();
  Generation highest;
  for (const Moment& moment : recording.moments)
    for (const Job& job : moment.state.jobs) highest = std::max(highest, job.last_generation);
  for (const Moment& moment : recording.moments) {
    Files files = moment.files;
    files["paceline.mark"] = newest.files.at("paceline.mark");
    put_files(scratch.dir() / "old", files);
    const bool behind = moment.state.seq < newest.state.seq;
    const auto plain = SqliteStore::open(scratch.dir() / "old");
    EXPECT_EQ(plain.has_value(), !behind);
    const std::string hint = plain ? "--accept-older-journal" : plain.error().hint;
    EXPECT_NE(hint.find("--accept-older-journal"), std::string::npos) << hint;
    SqliteStore::Options options;
    options.accept_older_journal = true;
    const auto store = SqliteStore::open(scratch.dir() / "old", options).value();
    const State state = store->load().value();
    EXPECT_EQ(state.jobs().size(), newest.state.jobs.size());
    for (auto id = moment.state.jobs.size() + 1; id <= state.jobs().size(); ++id) {
      const Job& job = state.job(JobId{static_cast<std::uint32_t>(id)});
      EXPECT_EQ(job.state, JobState::cancelled);
      EXPECT_EQ(job.spec->uid, ::geteuid());
    }
    for (const auto& key : state.queue())
      EXPECT_GE(behind ? state.job(key.job).last_generation : Generation{UINT32_MAX}, highest);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LyingStorageOf, ::testing::Range<std::uint64_t>(1, 5));

TEST(LostJournal, IsKnownByWhatJobsLeftWhereTheMarkIsLostToo) {
  const Scratch scratch;
  fs::create_directories(scratch.dir() / "logs" / "7");
  fs::create_directories(scratch.dir() / "agent" / "workers" / "9.1.0");
  const auto refused = SqliteStore::open(scratch.dir()).value()->load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "The journal in " + scratch.database().string() +
                                         " lost its end: 9 jobs were there, and it knows 0.");
  SqliteStore::Options options;
  options.accept_older_journal = true;
  EXPECT_EQ(SqliteStore::open(scratch.dir(), options).value()->load()->next_job_id(), JobId{10});
  EXPECT_EQ(SqliteStore::open(scratch.dir()).value()->load()->next_job_id(), JobId{10});
}

Entry some_submission() {
  JobSpec spec;
  spec.name = "training";
  spec.user = "ann";
  return {1, Time{Duration{1}}, JobSubmitted{JobId{1}, spec}};
}

// A worker of the generation in the claim may live, and more of them may have been there.
TEST(LostJournal, GivesNoGenerationThatAClaimTellsOfWhereTheMarkIsLostToo) {
  for (const auto* claims : {"workers", "damaged"}) {
    const Scratch scratch;
    ASSERT_TRUE(
        SqliteStore::open(scratch.dir()).value()->append({{some_submission()}, {}, {}, {}}));
    fs::remove(scratch.dir() / "paceline.mark");
    fs::create_directories(scratch.dir() / "agent" / claims / "9.70.0");
    SqliteStore::Options options;
    options.accept_older_journal = true;
    const State state = SqliteStore::open(scratch.dir(), options).value()->load().value();
    EXPECT_GT(state.job(JobId{1}).last_generation, Generation{1'000'000});
    EXPECT_EQ(SqliteStore::open(scratch.dir()).value()->load()->job(JobId{1}).last_generation,
              state.job(JobId{1}).last_generation);
  }
}

TEST(LostJournal, IsAcceptedOnceAndTold) {
  const Scratch scratch;
  {
    ASSERT_TRUE(
        SqliteStore::open(scratch.dir()).value()->append({{some_submission()}, {}, {}, {}}));
  }
  ASSERT_TRUE(HighWater::open(scratch.dir())->raise({41, 1, 7, Generation{9}}));
  SqliteStore::Options options;
  options.accept_older_journal = true;
  for (int times = 0; times < 2; ++times) {
    const auto store = SqliteStore::open(scratch.dir(), options).value();
    EXPECT_EQ(store->load()->job(JobId{1}).last_generation, Generation{9});
    const auto entries = store->entries(1, 10).value();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(std::get<Event>(entries[1].body), Event(JournalAccepted{40, Generation{9}}));
  }
}

// As after a copy was put back, went on by itself, and got the mark of the one that it was taken of.
TEST(LostJournal, IsKnownByAnotherEntryWhereTheMarkIs) {
  const Scratch scratch;
  std::map<JobId, LaunchSpec> launches;
  const auto write = [&](const fs::path& dir, std::uint64_t seed) {
    History history(seed);
    const auto store = SqliteStore::open(dir).value();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(store->append(next_batch(history, 5, launches)));
    return files_of(dir);
  };
  Files files = write(scratch.dir() / "one", 1);
  files["paceline.mark"] = write(scratch.dir() / "other", 2).at("paceline.mark");
  put_files(scratch.dir() / "both", files);
  const auto refused = SqliteStore::open(scratch.dir() / "both");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("entry 15 is another one than was acknowledged"),
            std::string::npos)
      << refused.error().message;
}

TEST(LostJournal, LeavesNoLogsToAnother) {
  const Scratch one, other;
  ASSERT_TRUE(SqliteStore::open(one.dir()).value()->load());
  ASSERT_TRUE(SqliteStore::open(other.dir()).value()->load());
  fs::copy_file(other.database(), one.database(), fs::copy_options::overwrite_existing);
  fs::remove(one.dir() / "paceline.mark");
  const auto refused = SqliteStore::open(one.dir()).value()->load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::data);
  EXPECT_EQ(refused.error().message,
            "The logs in " + (one.dir() / "logs").string() + " belong to another journal.");
  fs::remove_all(one.dir() / "logs");
  EXPECT_TRUE(SqliteStore::open(one.dir()).value()->load());
}

TEST(LostJournal, IsToldWithWhatToDo) {
  const Scratch scratch;
  History history(1);
  {
    const auto store = SqliteStore::open(scratch.dir()).value();
    std::map<JobId, LaunchSpec> launches;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append(next_batch(history, 5, launches)));
    put_files(scratch.dir() / "cut", files_of(scratch.dir()));
  }
  fs::resize_file(scratch.dir() / "cut" / "paceline.db-wal",
                  fs::file_size(scratch.dir() / "cut" / "paceline.db-wal") - 100);
  const auto refused = SqliteStore::open(scratch.dir() / "cut");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "The journal in " + (scratch.dir() / "cut" / "paceline.db").string() +
                " lost its end: 15 entries were acknowledged, and it ends at entry 10.");
  EXPECT_EQ(refused.error().hint,
            "Put back the newest copy of paceline.db and paceline.db-wal, or go on without what is "
            "lost: 'paceline up --accept-older-journal'.");
}

}  // namespace
}  // namespace paceline
