#include "store/sqlite/sqlite_store.hpp"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "plan/apply.hpp"
#include "plan/assemble.hpp"
#include "store/failed_check.hpp"
#include "store/sqlite/checkpoint_tables.hpp"
#include "store/sqlite/data_dir.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/forgotten_table.hpp"
#include "store/sqlite/high_water.hpp"
#include "store/sqlite/journal_cut.hpp"
#include "store/sqlite/journal_table.hpp"
#include "store/sqlite/launch_tables.hpp"
#include "store/sqlite/left_behind.hpp"
#include "store/sqlite/notify_table.hpp"
#include "store/sqlite/points_table.hpp"
#include "store/sqlite/reserve.hpp"
#include "store/sqlite/segment_dir.hpp"
#include "store/sqlite/submissions_table.hpp"
#include "store/sqlite/sum.hpp"
#include "store/sqlite/unjournalled_table.hpp"
#include "wire/entry_json.hpp"

namespace paceline {
namespace {

constexpr const char* kProve =
    "REPLACE INTO proofs (id, written) "
    "VALUES (1, coalesce((SELECT written FROM proofs), 0) + 1)";

// As many as a journal can have.
constexpr std::size_t kNoLimit = std::size_t{1} << 62;
constexpr std::size_t kLostAtOnce = 10'000;  // jobs that stand for lost ones, of one batch
// More than a job is given in years; left out where nothing tells how many were.
constexpr std::uint32_t kGenerationsUnknown = 1'000'000;

Generation highest_generation(const State& state) {
  Generation highest;
  for (const Job& job : state.jobs()) highest = std::max(highest, job.last_generation);
  return highest;
}

constexpr std::size_t kPointsAtOnce = 1'000;  // thinned or dropped in one piece
constexpr std::size_t kPagesAtOnce = 64;      // given back in one piece
constexpr std::int64_t kFreePagesMin = 1'024;

// Ids that were given by the end of the entries, where `before` were by their beginning.
std::uint32_t jobs_given(std::uint32_t before, std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    const auto* event = std::get_if<Event>(&entry.body);
    const auto* submitted = event ? std::get_if<JobSubmitted>(event) : nullptr;
    if (submitted) before = std::max(before, submitted->job.value);
  }
  return before;
}

// The highest generation that was given by the end of the entries.
Generation generation_given(Generation before, std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    if (const auto* plan = std::get_if<Plan>(&entry.body))
      for (const Change& change : plan->changes) before = std::max(before, change.generation);
    const auto* event = std::get_if<Event>(&entry.body);
    if (const auto* accepted = event ? std::get_if<JournalAccepted>(event) : nullptr)
      before = std::max(before, accepted->generation);
  }
  return before;
}

// A submission of which nothing is known any more, and its end.
void stand_for_lost(Batch& batch, const State& state, JobId id) {
  JobSpec spec;
  spec.name = "lost-with-its-journal";
  spec.user = "unknown";
  spec.uid = ::geteuid();
  const auto add = [&](Event event) {
    batch.entries.push_back({state.seq() + batch.entries.size() + 1, state.at(), std::move(event)});
  };
  add(JobSubmitted{id, std::move(spec)});
  add(JobRequested{id, Request::cancel, account(::geteuid())});
}

Error older(const std::filesystem::path& file, const std::string& how) {
  return {ErrorCode::data, fmt::format("The journal in {} lost its end: {}.", file.string(), how),
          fmt::format("Put back the newest copy of {0} and {0}-wal, or go on without what is lost: "
                      "'paceline up --accept-older-journal'.",
                      file.filename().string()),
          Retry::useless};
}

}  // namespace

struct SqliteStore::Impl {
  Impl(std::filesystem::path path, std::unique_ptr<SQLite::Database> database,
       std::uint64_t reserve_bytes)
      : file(std::move(path)),
        db(std::move(database)),
        reserve(file.parent_path() / "reserve", reserve_bytes),
        journal(*db),
        segments(file.parent_path() / "segments"),
        cut(journal, segments),
        checkpoint(*db),
        forgotten(*db),
        launches(*db),
        notify(*db),
        points(*db),
        submissions(*db),
        unjournalled(*db),
        prove(*db, kProve) {
    newest.seq = journal.last_seq();
    newest.sum = journal.sum_at(newest.seq).value_or(0);
  }

  // One transaction around `work`; what it threw undoes all of it. Where it met damage once, nobody
  // knows what a later one would do.
  template <class Work>
  Result<void> commit(Work work) {
    if (damage) return fail(*damage);
    auto done = guarded(file, [&]() -> Result<void> {
      SQLite::Transaction transaction(*db, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
      return {};
    });
    if (!done && done.error().code == ErrorCode::data) damage = done.error();
    return done;
  }

  // What was acknowledged must not be missing later: while the mark can't be raised, no more is.
  Result<void> raise_mark() {
    if (!mark || (mark->known() && *mark->known() == newest)) return {};
    return mark->raise(newest);
  }

  Result<State> load();
  Result<void> follow_mark(State& state);
  Result<void> write(const Batch& batch);  // without its mark
  Result<void> write_and_fold(const Batch& batch, State& state);
  [[nodiscard]] JournalAccepted acceptance(Generation seen) const;

  // How the journal is behind its mark, if it is.
  std::optional<std::string> lost_end() {
    if (!mark) return std::nullopt;
    if (const auto& cut_off = segments.all();
        !cut_off.empty() && cut_off.back().last > newest.seq) {
      return fmt::format("its segments go on to entry {}, and it ends at entry {}",
                         cut_off.back().last, newest.seq);
    }
    if (mark->damaged()) {
      return fmt::format("perhaps, as {} is damaged, which would tell", mark->file().string());
    }
    if (!mark->known()) return std::nullopt;
    const Mark& known = *mark->known();
    if (known.seq > newest.seq) {
      return fmt::format("{} entries were acknowledged, and it ends at entry {}", known.seq,
                         newest.seq);
    }
    if (known.seq > 0 && !is_acknowledged(known))
      return fmt::format("entry {} is another one than was acknowledged", known.seq);
    return std::nullopt;
  }

  // What left for a segment was looked at then. One that was pruned or is damaged says nothing.
  bool is_acknowledged(const Mark& known) {
    if (const auto sum = journal.sum_at(known.seq)) return sum == known.sum;
    if (known.seq >= first_row()) return false;
    const Segment* segment = segments.find(known.seq);
    if (segment == nullptr) return true;
    const auto lines = segments.lines(*segment);
    return !lines || sum_of((*lines)->at(known.seq)) == known.sum;
  }

  // Of the entries in the table; where there are none, what would come next.
  std::uint64_t first_row() {
    const auto first = journal.first_seq();
    return first == 0 ? newest.seq + 1 : first;
  }

  std::uint64_t first_entry() {
    const auto& all = segments.all();
    return all.empty() ? first_row() : std::min(all.front().first, first_row());
  }

  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit);
  Result<void> read_segments(std::uint64_t& seq, std::size_t limit, std::vector<Entry>& found);
  bool give_pages_back();

  std::filesystem::path file;
  std::unique_ptr<SQLite::Database> db;
  Reserve reserve;
  JournalTable journal;
  SegmentDir segments;
  JournalCut cut;
  CheckpointTables checkpoint;
  ForgottenTable forgotten;
  LaunchTables launches;
  NotifyTable notify;
  PointsTable points;
  SubmissionsTable submissions;
  UnjournalledTable unjournalled;
  std::optional<HighWater> mark;  // none: the file is only read
  bool accept_older = false;
  Mark newest;                     // of the journal as it is
  std::uint64_t checkpointed = 0;  // entries that the checkpoint has folded
  std::optional<Error> damage;
  Query prove;
  // On top of the last checkpoint: by load(), before a checkpoint that failed, or forgotten since.
  std::set<JobId> folded;

  void note_forgotten(const Entry& entry) {
    if (const auto* left = forgotten_by(entry)) folded.insert(left->jobs.begin(), left->jobs.end());
  }
};

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& dir,
                                                       Options options) {
  if (auto ready = prepare_dir(dir); !ready) return fail(ready.error());
  const auto file = dir / "paceline.db";
  auto db = open_database(file, options.lock_wait);
  if (!db) return fail(db.error());
  auto mark = HighWater::open(dir);
  if (!mark) return fail(mark.error());
  return guarded(file, [&]() -> Result<std::unique_ptr<SqliteStore>> {
    auto impl = std::make_unique<Impl>(file, std::move(*db), options.reserve_bytes);
    impl->mark.emplace(std::move(*mark));
    impl->accept_older = options.accept_older_journal;
    if (auto looked = impl->segments.look(); !looked) return fail(looked.error());
    if (const auto& known = impl->mark->known()) {
      impl->newest.jobs = known->jobs;
      impl->newest.generation = known->generation;
    } else {
      impl->newest.generation = generation_within(impl->newest.seq);
    }
    const auto lost = impl->accept_older ? std::nullopt : impl->lost_end();
    if (lost) return fail(older(file, *lost));
    if (auto aside = impl->segments.set_aside_after(impl->newest.seq); !aside)
      return fail(aside.error());
    impl->reserve.take();
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
  });
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& dir) {
  return open(dir, Options{});
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open_to_read(const std::filesystem::path& file) {
  auto db = paceline::open_to_read(file, Options{}.lock_wait);
  if (!db) return fail(db.error());
  return guarded(file, [&]() -> Result<std::unique_ptr<SqliteStore>> {
    auto impl = std::make_unique<Impl>(file, std::move(*db), 0);
    if (auto looked = impl->segments.look(); !looked) return fail(looked.error());
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
  });
}

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() = default;

Result<void> SqliteStore::copy_to(const std::filesystem::path& file) {
  if (auto made = make_private_file(file); !made) return made;
  return guarded(file, [&]() -> Result<void> {
    SQLite::Database copy(file.string(), SQLite::OPEN_READWRITE);
    SQLite::Backup(copy, *impl_->db).executeStep(-1);
    return quick_check(copy, file);
  });
}

void SqliteStore::distrust(Error error) { impl_->damage = std::move(error); }

Result<State> SqliteStore::load() {
  auto state = impl_->load();
  if (!state || !impl_->mark) return state;
  auto ok = guarded(impl_->file, [&] { return impl_->follow_mark(*state); });
  if (!ok) return fail(ok.error());
  return state;
}

Result<State> SqliteStore::Impl::load() {
  return guarded(file, [&]() -> Result<State> {
    auto state = assemble(checkpoint.read());
    if (!state) throw Damage{"the checkpoint: " + state.error().message};
    checkpointed = state->seq();
    const auto fold = [&](const Entry& entry) {
      if (entry.seq != state->seq() + 1)
        throw Damage{fmt::format("entry {} of the journal is missing", state->seq() + 1)};
      for (const auto job : apply(*state, entry)) folded.insert(job);
      note_forgotten(entry);
      if (!state->misfit().empty())
        spdlog::warn("The plan in entry {} was made by another version, and is passed over: {}.",
                     entry.seq, state->misfit());
    };
    const auto failed = failed_check([&] { journal.each(state->seq() + 1, kNoLimit, fold); });
    if (failed) {
      throw Damage{fmt::format("entry {} of the journal does not fit what was before it: {}",
                               state->seq() + 1, *failed)};
    }
    if (state->seq() != newest.seq) throw Damage{"the checkpoint is ahead of the journal"};
    return std::move(*state);
  });
}

// Brings the journal up to its mark, or the other way round. The mark stays where it was until all
// ids are taken: whoever is stopped meanwhile begins again. REQUIRES: `state` is the journal's fold.
Result<void> SqliteStore::Impl::follow_mark(State& state) {
  const auto dir = file.parent_path();
  if (auto bound = bind_logs(dir, db->execAndGet("SELECT text FROM identity").getString()); !bound)
    return bound;
  const auto jobs = state.jobs().given();
  const GivenNumbers seen = numbers_seen(dir);
  std::uint32_t given = mark->known() ? mark->known()->jobs : seen.jobs;
  newest.generation = std::max(newest.generation, highest_generation(state));
  const bool lost = lost_end().has_value() || given > jobs;
  if (lost && !accept_older) {
    return fail(older(file, fmt::format("{} jobs were there, and it knows {}", given, jobs)));
  }
  newest.jobs = jobs;
  if (lost) {
    given = std::max(given, seen.jobs);
    Batch batch;
    // After all that happened at the journal's last instant.
    const Time at = state.at() + Duration{1};
    batch.entries.push_back({state.seq() + 1, at, acceptance(seen.generation)});
    if (auto kept = write_and_fold(batch, state); !kept) return kept;
  }
  while (state.jobs().given() < given) {
    Batch batch;
    const auto first = state.jobs().given() + 1;
    const auto count = std::min<std::size_t>(given - first + 1, kLostAtOnce);
    for (std::uint32_t i = 0; i < count; ++i) stand_for_lost(batch, state, JobId{first + i});
    if (auto kept = write_and_fold(batch, state); !kept) return kept;
  }
  if (auto raised = raise_mark(); !raised) return raised;
  return mark->sync();
}

Result<void> SqliteStore::Impl::write_and_fold(const Batch& batch, State& state) {
  if (auto kept = write(batch); !kept) return kept;
  for (const Entry& entry : batch.entries)
    for (const auto job : apply(state, entry)) folded.insert(job);
  return {};
}

// Without a mark only claims tell which generations were given after the journal's end.
JournalAccepted SqliteStore::Impl::acceptance(Generation seen) const {
  JournalAccepted accepted{0, std::max(newest.generation, seen)};
  const auto& known = mark->known();
  if (known && known->seq > newest.seq) accepted.lost = known->seq - newest.seq;
  if (!known) accepted.generation.value += kGenerationsUnknown;
  return accepted;
}

Result<void> SqliteStore::append(const Batch& batch) {
  auto raised = impl_->raise_mark();
  if (!raised && impl_->reserve.give_up()) raised = impl_->raise_mark();
  if (!raised) return raised;
  auto done = impl_->write(batch);
  if (done) (void)impl_->raise_mark();  // where it fails, the next batch is refused
  return done;
}

Result<void> SqliteStore::Impl::write(const Batch& batch) {
  Mark after = newest;
  for (const auto& entry : batch.entries)
    check(entry.seq == ++after.seq, "entries follow the journal's last");
  after.jobs = jobs_given(newest.jobs, batch.entries);
  after.generation = generation_given(newest.generation, batch.entries);
  const auto put = [&] {
    if (!batch.entries.empty()) after.sum = journal.append(batch.entries);
    unjournalled.told(batch.entries);
    unjournalled.put(batch.unjournalled);
    for (const auto& [job, launch] : batch.launches) launches.put(job, launch);
    for (const auto& [job, asked] : batch.notify) notify.put(job, asked);
    for (const Job& job : batch.forgotten) notify.drop(job.id);
    for (const auto& point : batch.points) points.put(point);
    for (const PassedOver& more : batch.passed_over) points.pass_over(more);
    submissions.put(batch.keys);
    forgotten.put(batch.forgotten);
  };
  auto done = commit(put);
  const bool disk = !done && done.error().code == ErrorCode::storage;
  if (disk && reserve.give_up()) done = commit(put);
  if (!done) return done;
  newest = after;
  for (const Entry& entry : batch.entries) note_forgotten(entry);
  return done;
}

Result<void> SqliteStore::prove() {
  if (auto raised = impl_->raise_mark(); !raised) return raised;
  return impl_->commit([&] { impl_->prove.run(); });
}

Result<void> SqliteStore::checkpoint(const State& state, std::span<const JobId> changed) {
  check(state.seq() == impl_->newest.seq, "a checkpoint is of the journal's last entry");
  impl_->reserve.take();
  impl_->folded.insert(changed.begin(), changed.end());
  const std::vector<JobId> jobs(impl_->folded.begin(), impl_->folded.end());
  auto done = impl_->commit([&] {
    impl_->checkpoint.write(state, jobs);
    for (const auto id : jobs) {
      const Job* job = state.find_job(id);
      if (!job || is_over(job->state)) impl_->launches.forget_secrets(id);
    }
  });
  if (!done) return done;
  impl_->checkpoint.committed();
  impl_->checkpointed = state.seq();
  impl_->folded.clear();
  if (impl_->mark) return impl_->mark->sync();
  return done;
}

Result<std::vector<Entry>> SqliteStore::entries(std::uint64_t seq, std::size_t limit) {
  return guarded(impl_->file, [&] { return impl_->entries(seq, limit); });
}

Result<std::vector<Entry>> SqliteStore::Impl::entries(std::uint64_t seq, std::size_t limit) {
  std::vector<Entry> found;
  seq = std::max(seq, first_entry());
  auto read = read_segments(seq, limit, found);
  if (!read && found.empty()) return fail(read.error());
  if (read && found.size() < limit)
    journal.each(seq, limit - found.size(), [&](Entry each) { found.push_back(std::move(each)); });
  return found;
}

// Reads on from `seq` to the first row of the table.
Result<void> SqliteStore::Impl::read_segments(std::uint64_t& seq, std::size_t limit,
                                              std::vector<Entry>& found) {
  for (const auto end = first_row(); seq < end && found.size() < limit;) {
    const Segment* segment = segments.find(seq);
    if (segment == nullptr) {
      return fail(ErrorCode::data, fmt::format("Entry {} of the journal is in no segment.", seq),
                  fmt::format("Put back what is missing in {}.",
                              (file.parent_path() / "segments").string()));
    }
    const auto lines = segments.lines(*segment);
    if (!lines) return fail(lines.error());
    for (; seq <= segment->last && seq < end && found.size() < limit; ++seq) {
      auto entry = read_entry((*lines)->at(seq));
      if (!entry || entry->seq != seq)
        throw Damage{fmt::format("entry {} of the journal, in {}", seq, name_of(*segment))};
      found.push_back(std::move(*entry));
    }
  }
  return {};
}

Result<std::uint64_t> SqliteStore::first_entry() {
  return guarded(impl_->file, [&]() -> Result<std::uint64_t> { return impl_->first_entry(); });
}

const SegmentDir& SqliteStore::segments() const { return impl_->segments; }

Result<bool> SqliteStore::tidy(const JournalBounds& bounds) {
  return guarded(impl_->file, [&]() -> Result<bool> {
    const auto commit = [&](const std::function<void()>& work) { return impl_->commit(work); };
    auto more = impl_->cut.step(bounds.entries, impl_->checkpointed, commit);
    if (!more || *more) return more;
    auto& segments = impl_->segments;
    if (bounds.bytes && segments.bytes() > *bounds.bytes) {
      spdlog::info("The journal's segments are beyond their size: entries {} to {} are removed.",
                   segments.all().front().first, segments.all().front().last);
      if (auto removed = segments.remove_first(); !removed) return fail(removed.error());
      return true;
    }
    return impl_->give_pages_back();
  });
}

// Only where much is free, since what is written next needs some again. A file that was made before
// this was so keeps its pages for itself.
bool SqliteStore::Impl::give_pages_back() {
  const auto number = [&](const char* pragma) { return db->execAndGet(pragma).getInt64(); };
  const auto free = number("PRAGMA freelist_count");
  if (damage || free <= std::max(kFreePagesMin, number("PRAGMA page_count") / 16)) return false;
  if (number("PRAGMA auto_vacuum") == 0) return false;
  db->exec(fmt::format("PRAGMA incremental_vacuum({})", kPagesAtOnce));
  return true;
}

Result<Pruned> SqliteStore::prune(std::uint64_t before) {
  Pruned pruned;
  auto& segments = impl_->segments;
  const auto row =
      guarded(impl_->file, [&]() -> Result<std::uint64_t> { return impl_->first_row(); });
  if (!row) return fail(row.error());
  const auto end = std::min(before, *row);
  while (!segments.all().empty() && segments.all().front().last < end) {
    const Segment gone = segments.all().front();
    if (auto removed = segments.remove_first(); !removed) return fail(removed.error());
    ++pruned.segments;
    pruned.entries += gone.entries();
    pruned.bytes += gone.bytes;
  }
  return pruned;
}

Result<std::optional<EndedJob>> SqliteStore::first_ended(Kept kept) {
  using Found = std::optional<EndedJob>;
  return guarded(impl_->file,
                 [&]() -> Result<Found> { return impl_->forgotten.first_ended(kept); });
}

Result<bool> SqliteStore::thin(JobId job) {
  bool done = false;
  auto ok = impl_->commit([&] {
    done = impl_->points.thin(job, kPointsAtOnce);
    if (done) impl_->forgotten.thinned(job, impl_->points.last(job));
  });
  if (ok) return done;
  impl_->points.thin_anew();
  return fail(ok.error());
}

Result<bool> SqliteStore::drop(JobId job, Time now) {
  bool done = false;
  auto ok = impl_->commit([&] {
    done = impl_->points.drop(job, kPointsAtOnce);
    if (!done) return;
    impl_->launches.drop(job);
    impl_->forgotten.drop(job, now);
  });
  if (!ok) return fail(ok.error());
  return done;
}

Result<std::optional<Remains>> SqliteStore::remains(JobId job) {
  using Found = std::optional<Remains>;
  return guarded(impl_->file, [&]() -> Result<Found> { return impl_->forgotten.remains(job); });
}

Result<std::vector<Job>> SqliteStore::forgotten(JobId from, std::size_t limit) {
  return guarded(impl_->file,
                 [&]() -> Result<std::vector<Job>> { return impl_->forgotten.page(from, limit); });
}

Result<std::vector<Progressed>> SqliteStore::unjournalled() {
  return guarded(impl_->file,
                 [&]() -> Result<std::vector<Progressed>> { return impl_->unjournalled.all(); });
}

Result<LaunchSpec> SqliteStore::launch(JobId job) {
  return guarded(impl_->file, [&]() -> Result<LaunchSpec> {
    auto found = impl_->launches.find(job);
    if (found) return std::move(*found);
    return fail(ErrorCode::not_found,
                fmt::format("Nothing is stored about how to start job {}.", job.value));
  });
}

Result<std::vector<std::pair<JobId, Notify>>> SqliteStore::notify(JobId from) {
  using Found = std::vector<std::pair<JobId, Notify>>;
  return guarded(impl_->file, [&]() -> Result<Found> { return impl_->notify.from(from); });
}

Result<std::uint64_t> SqliteStore::passed_over(JobId job) {
  return guarded(impl_->file,
                 [&]() -> Result<std::uint64_t> { return impl_->points.passed_over(job); });
}

Result<std::uint64_t> SqliteStore::newest_report(const ProcessKey& process) {
  return guarded(impl_->file,
                 [&]() -> Result<std::uint64_t> { return impl_->points.newest_report(process); });
}

Result<PointPage> SqliteStore::points(JobId job, std::string_view name, std::uint64_t from,
                                      std::size_t limit) {
  return guarded(impl_->file,
                 [&]() -> Result<PointPage> { return impl_->points.page(job, name, from, limit); });
}

Result<std::optional<JobId>> SqliteStore::find_submission(std::uint32_t uid, std::string_view key,
                                                          Time now) {
  return guarded(impl_->file, [&]() -> Result<std::optional<JobId>> {
    return impl_->submissions.find(uid, key, now);
  });
}

}  // namespace paceline
