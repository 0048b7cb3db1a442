// What every store must do, as tests: an implementation's test includes this and says how its store
// is made and opened again.
//
//   struct MemoryHarness { Store& store(); void reopen(); };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreContract, MemoryHarness);
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/history_testing.hpp"
#include "store/point_choice.hpp"
#include "store/store.hpp"

namespace paceline {

template <class Harness>
class StoreContract : public testing::Test {
 protected:
  Store& store() { return harness_.store(); }
  void reopen() { harness_.reopen(); }

  void append(Batch batch) {
    const auto done = store().append(batch);
    ASSERT_TRUE(done) << done.error().message;
  }
  StateParts loaded() { return store().load().value().parts(); }

 private:
  Harness harness_;
};

inline Batch batch_of(std::vector<Entry> entries) { return {std::move(entries), {}, {}, {}}; }

inline MetricPoint some_point(std::uint32_t job, std::uint64_t report) {
  return {JobId{job},      Generation{1}, 0,  report,
          time_from_us(5), report * 10,   {}, {{"loss", 1.0 / static_cast<double>(report)}}};
}

inline Batch batch_of_points(std::uint32_t job, std::uint64_t first, std::uint64_t last) {
  Batch batch;
  for (auto report = first; report <= last; ++report)
    batch.points.push_back(some_point(job, report));
  return batch;
}

TYPED_TEST_SUITE_P(StoreContract);

TYPED_TEST_P(StoreContract, StartsEmpty) {
  EXPECT_EQ(this->loaded(), StateParts{});
  EXPECT_TRUE(this->store().entries(0, 10)->empty());
  EXPECT_TRUE(this->store().points(JobId{1}, "", 0, 10)->points.empty());
  EXPECT_EQ(this->store().find_submission(1, "a", {}).value(), std::nullopt);
}

TYPED_TEST_P(StoreContract, GivesBackEveryEntryInPages) {
  History history(1);
  std::vector<Entry> all;
  for (int i = 0; i < 50; ++i) all.push_back(history.next());
  this->append(batch_of({all.begin(), all.begin() + 20}));
  this->append(batch_of({all.begin() + 20, all.end()}));
  this->reopen();
  EXPECT_EQ(this->store().entries(0, 1000).value(), all);
  EXPECT_EQ(this->store().entries(1, 50).value(), all);
  EXPECT_EQ(this->store().entries(11, 15).value(),
            (std::vector<Entry>{all.begin() + 10, all.begin() + 25}));
  EXPECT_EQ(this->store().entries(50, 10)->size(), 1U);
  EXPECT_TRUE(this->store().entries(51, 10)->empty());
  EXPECT_TRUE(this->store().entries(1, 0)->empty());
}

TYPED_TEST_P(StoreContract, LoadsTheFoldOfWhatWasAppended) {
  EXPECT_TRUE(rc::check("with checkpoints at any time", [](std::uint64_t seed) {
    TypeParam harness;
    History history(seed);
    Rng rng(seed);
    std::set<JobId> changed;
    State state;
    for (int i = 0; i < 100; ++i) {
      Batch batch;
      for (auto count = rng.below(4); count > 0; --count) {
        batch.entries.push_back(history.next());
        for (const auto job : apply(state, batch.entries.back())) changed.insert(job);
      }
      RC_ASSERT(harness.store().append(batch).has_value());
      if (rng.chance(0.1)) {
        RC_ASSERT(harness.store()
                      .checkpoint(state, std::vector<JobId>(changed.begin(), changed.end()))
                      .has_value());
        changed.clear();
      }
      if (rng.chance(0.05)) {
        harness.reopen();
        state = harness.store().load().value();
        changed.clear();
      }
    }
    const auto loaded = harness.store().load().value();
    RC_ASSERT(loaded.parts() == history.state().parts());
    for (const auto& job : loaded.jobs())
      RC_ASSERT(loaded.dependants(job.id) == history.state().dependants(job.id));
  }));
}

TYPED_TEST_P(StoreContract, KeepsWhatStartsAJobUntilItIsOver) {
  const auto launch = some_launch(1, 1);
  LaunchSpec odd{{"a", "", "b c"},  true, "", {{"EMPTY", ""}, {"LINES", "1\n2=3"}}, "/", 077, true,
                 {7, 4, 4294967295}};
  this->append({submissions(3), {{JobId{1}, launch}, {JobId{2}, launch}, {JobId{3}, odd}}, {}, {}});
  this->reopen();
  EXPECT_EQ(this->store().launch(JobId{1}).value(), launch);
  EXPECT_EQ(this->store().launch(JobId{3}).value(), odd);
  State state = this->store().load().value();
  ASSERT_TRUE(end_jobs(this->store(), state, {JobId{1}, JobId{3}}));
  ASSERT_TRUE(end_jobs(this->store(), state, {JobId{3}}));  // once more changes nothing
  this->reopen();
  LaunchSpec left = launch;
  left.environment.clear();
  left.setup.clear();
  EXPECT_EQ(this->store().launch(JobId{1}).value(), left);
  EXPECT_EQ(this->store().launch(JobId{2}).value(), launch);
  EXPECT_TRUE(this->store().launch(JobId{3})->environment.empty());
  EXPECT_EQ(this->store().launch(JobId{9}).error().code, ErrorCode::not_found);
}

TYPED_TEST_P(StoreContract, KeepsWhoIsToldOfAJobUntilItIsForgotten) {
  const Notify first{{"mailto:ada@lab", "https://h/x"}, {MessageKind::started}};
  const Notify second{{"http://h"}, usual_kinds(), std::chrono::seconds{5}};
  Batch batch{submissions(3), {}, {}, {}};
  batch.notify = {{JobId{1}, first}, {JobId{3}, second}};
  this->append(batch);
  this->reopen();
  using All = std::vector<std::pair<JobId, Notify>>;
  EXPECT_EQ(this->store().notify(JobId{1}).value(), (All{{JobId{1}, first}, {JobId{3}, second}}));
  EXPECT_EQ(this->store().notify(JobId{2}).value(), (All{{JobId{3}, second}}));
  State state = this->store().load().value();
  ASSERT_TRUE(end_jobs(this->store(), state, {JobId{1}, JobId{2}, JobId{3}}));
  EXPECT_EQ(this->store().notify(JobId{1}).value().size(), 2U);
  Batch left;
  left.forgotten = {state.job(JobId{1})};
  left.entries.push_back({state.seq() + 1, state.at(), JobsForgotten{{JobId{1}}}});
  ASSERT_TRUE(this->store().append(left));
  this->reopen();
  EXPECT_EQ(this->store().notify(JobId{1}).value(), (All{{JobId{3}, second}}));
}

TYPED_TEST_P(StoreContract, ForgetsWhatStartedAJobThatWasOverBeforeACrash) {
  this->append({submissions(1), {{JobId{1}, some_launch(1, 1)}}, {}, {}});
  State state = this->store().load().value();
  this->append(batch_of({cancelling(state, JobId{1})}));
  this->reopen();
  state = this->store().load().value();
  ASSERT_TRUE(this->store().checkpoint(state, {}));
  EXPECT_TRUE(this->store().launch(JobId{1})->environment.empty());
}

TYPED_TEST_P(StoreContract, NumbersTheNewPointsOfEachJob) {
  this->append(batch_of_points(1, 1, 3));
  this->append(batch_of_points(2, 7, 7));
  this->append(batch_of_points(1, 2, 5));
  this->reopen();
  const auto page = this->store().points(JobId{1}, "", 0, 10).value();
  ASSERT_EQ(page.points.size(), 5U);
  for (std::uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(page.points[i], (NumberedPoint{i + 1, some_point(1, i + 1)}));
  EXPECT_EQ(page.next, 6U);
  EXPECT_EQ(this->store().points(JobId{2}, "", 1, 10)->points.front(),
            (NumberedPoint{1, some_point(2, 7)}));
}

TYPED_TEST_P(StoreContract, KnowsTheNewestReportOfEachProcess) {
  const auto point = some_point(1, 1);
  const ProcessKey first{JobId{1}, point.born, point.number}, later{JobId{1}, Generation{7}, 2};
  EXPECT_EQ(this->store().newest_report(first).value(), 0U);
  auto batch = batch_of_points(1, 1, 12);
  batch.points.push_back(some_point(1, 40));
  batch.points.back().born = later.born;
  batch.points.back().number = later.number;
  this->append(batch);
  this->append(batch_of_points(2, 50, 50));
  this->append(batch_of_points(1, 3, 3));
  this->reopen();
  EXPECT_EQ(this->store().newest_report(first).value(), 12U);
  EXPECT_EQ(this->store().newest_report(later).value(), 40U);
  EXPECT_EQ(this->store().newest_report({JobId{1}, later.born, 1}).value(), 0U);
  EXPECT_EQ(this->store().newest_report({JobId{3}, point.born, point.number}).value(), 0U);
}

TYPED_TEST_P(StoreContract, CountsWhatWasPassedOver) {
  const auto point = some_point(1, 1);
  const ProcessKey one{JobId{1}, point.born, point.number}, other{JobId{1}, Generation{7}, 2};
  EXPECT_EQ(this->store().passed_over(JobId{1}).value(), 0U);
  auto batch = batch_of_points(1, 5, 5);
  batch.passed_over = {{one, 4, 4}, {other, 10, 30}};
  this->append(batch);
  this->reopen();
  EXPECT_EQ(this->store().newest_report(one).value(), 5U);
  Batch more;
  more.passed_over = {{one, 2, 7}, {other, -1, 20}};
  this->append(more);
  this->reopen();
  EXPECT_EQ(this->store().passed_over(JobId{1}).value(), 15U);
  EXPECT_EQ(this->store().passed_over(JobId{2}).value(), 0U);
  EXPECT_EQ(this->store().newest_report(one).value(), 7U);
  EXPECT_EQ(this->store().newest_report(other).value(), 30U);
}

TYPED_TEST_P(StoreContract, GivesPointsInPages) {
  this->append(batch_of_points(1, 1, 10));
  const auto page = this->store().points(JobId{1}, "", 4, 3).value();
  ASSERT_EQ(page.points.size(), 3U);
  EXPECT_EQ(page.points.front().number, 4U);
  EXPECT_EQ(page.next, 7U);
  const auto end = this->store().points(JobId{1}, "", 11, 3).value();
  EXPECT_TRUE(end.points.empty());
  EXPECT_EQ(end.next, 11U);
}

TYPED_TEST_P(StoreContract, FindsThePointsOfOneMetric) {
  auto batch = batch_of_points(1, 1, kPointsScanMax + 10);
  batch.points.back().values["accuracy"] = 0.5;
  this->append(batch);
  const auto first = this->store().points(JobId{1}, "accuracy", 0, 5).value();
  EXPECT_TRUE(first.points.empty());
  EXPECT_EQ(first.next, kPointsScanMax + 1);
  const auto second = this->store().points(JobId{1}, "accuracy", first.next, 5).value();
  ASSERT_EQ(second.points.size(), 1U);
  EXPECT_EQ(second.points.front().number, kPointsScanMax + 10);
  EXPECT_EQ(second.points.front().point.values, (std::map<std::string, double>{{"accuracy", 0.5}}));
}

TYPED_TEST_P(StoreContract, KeepsWhatTheJournalDoesNotTellYet) {
  const auto report = [](std::uint32_t job, std::uint64_t step) {
    Progressed told{JobId{job}, Generation{1}, {}};
    told.report.step = step;
    told.report.reported_at = time_from_us(5);
    return told;
  };
  const auto keep = [&](std::vector<Progressed> reports) {
    Batch batch;
    batch.unjournalled = std::move(reports);
    this->append(std::move(batch));
  };
  EXPECT_TRUE(this->store().unjournalled()->empty());
  keep({report(7, 1), report(2, 1)});
  keep({report(7, 2)});
  this->reopen();
  EXPECT_EQ(this->store().unjournalled().value(), (std::vector{report(2, 1), report(7, 2)}));
  this->append(batch_of({{1, time_from_us(6), Event(report(7, 3))}}));
  EXPECT_EQ(this->store().unjournalled().value(), std::vector{report(2, 1)});
  Batch both = batch_of({{2, time_from_us(7), Event(report(2, 4))}});
  both.unjournalled = {report(2, 5)};
  this->append(both);
  this->reopen();
  EXPECT_EQ(this->store().unjournalled().value(), std::vector{report(2, 5)});
}

TYPED_TEST_P(StoreContract, RemembersASubmissionForADay) {
  const Time at = time_from_us(1'763'636'100'000'000);
  const auto find = [&](std::uint32_t uid, std::string_view key, Time now) {
    return this->store().find_submission(uid, key, now).value();
  };
  this->append({{},
                {},
                {},
                {{1000, "a", JobId{7}, at}, {1000, "b", JobId{8}, at}, {1001, "a", JobId{9}, at}}});
  this->reopen();
  EXPECT_EQ(find(1000, "a", at), JobId{7});
  EXPECT_EQ(find(1000, "b", at), JobId{8});
  EXPECT_EQ(find(1001, "a", at + std::chrono::hours{23}), JobId{9});
  EXPECT_EQ(find(1001, "b", at), std::nullopt);
  EXPECT_EQ(find(1000, "a", at + kSubmissionRemembered), std::nullopt);
}

TYPED_TEST_P(StoreContract, TakesAForgottenSubmissionAnew) {
  const Time day[] = {time_from_us(0), time_from_us(0) + std::chrono::hours{25}};
  this->append({{}, {}, {}, {{1000, "a", JobId{1}, day[0]}}});
  this->append({{}, {}, {}, {{1000, "a", JobId{2}, day[1]}}});
  EXPECT_EQ(this->store().find_submission(1000, "a", day[1]).value(), JobId{2});
}

TYPED_TEST_P(StoreContract, KeepsWhatTheStateForgot) {
  constexpr std::uint32_t kJobs = 600;
  this->append(batch_of(submissions(kJobs)));
  State state = this->store().load().value();
  std::vector<JobId> all;
  for (std::uint32_t id = 1; id <= kJobs; ++id) all.push_back(JobId{id});
  ASSERT_TRUE(end_jobs(this->store(), state, all));
  std::vector<Job> expected;
  const auto forget = [&](std::uint32_t first, std::uint32_t last) {
    Batch batch;
    JobsForgotten left;
    for (auto id = first; id <= last; ++id) {
      left.jobs.push_back(JobId{id});
      batch.forgotten.push_back(state.job(JobId{id}));
      expected.push_back(state.job(JobId{id}));
    }
    batch.entries.push_back({state.seq() + 1, state.at(), std::move(left)});
    apply(state, batch.entries.back());
    this->append(std::move(batch));
  };
  forget(1, 300);
  EXPECT_EQ(this->loaded(), state.parts());
  ASSERT_TRUE(this->store().checkpoint(state, {}));
  forget(301, 400);
  this->reopen();
  EXPECT_EQ(this->loaded(), state.parts());
  ASSERT_TRUE(this->store().checkpoint(state, {}));
  this->reopen();
  EXPECT_EQ(this->loaded(), state.parts());
  EXPECT_EQ(this->store().forgotten(JobId{1}, 1'000).value(), expected);
  EXPECT_EQ(this->store().forgotten(JobId{42}, 1)->front().id, JobId{42});
  EXPECT_EQ(this->store().forgotten(JobId{390}, 100)->size(), 11U);
  EXPECT_TRUE(this->store().forgotten(JobId{401}, 100)->empty());
}

// Three jobs that ended and were forgotten, with points of the second one: every one tells its loss,
// and each hundredth an accuracy.
template <class Store>
State three_forgotten(Store& store, std::uint64_t points) {
  EXPECT_TRUE(store.append(
      {submissions(3), {{JobId{2}, some_launch(1, 2)}, {JobId{3}, some_launch(1, 3)}}, {}, {}}));
  Batch batch = batch_of_points(2, 1, points);
  for (auto& point : batch.points)
    if (point.report % 100 == 7) point.values["accuracy"] = 0.5;
  EXPECT_TRUE(store.append(batch));
  State state = store.load().value();
  EXPECT_TRUE(end_jobs(store, state, {JobId{1}, JobId{2}, JobId{3}}));
  Batch forgetting;
  for (const Job& job : state.jobs()) forgetting.forgotten.push_back(job);
  forgetting.entries.push_back(
      {state.seq() + 1, state.at(), JobsForgotten{{JobId{1}, JobId{2}, JobId{3}}}});
  apply(state, forgetting.entries.back());
  EXPECT_TRUE(store.append(forgetting));
  return state;
}

template <class Store>
std::vector<NumberedPoint> all_points(Store& store, JobId job) {
  std::vector<NumberedPoint> all;
  for (std::uint64_t from = 1;;) {
    auto page = store.points(job, "", from, 1'000).value();
    all.insert(all.end(), page.points.begin(), page.points.end());
    if (std::exchange(from, page.next) == page.next) return all;
  }
}

TYPED_TEST_P(StoreContract, ThinsThePointsOfAForgottenJob) {
  constexpr std::uint64_t kPoints = 25'000;
  three_forgotten(this->store(), kPoints);
  const auto before = all_points(this->store(), JobId{2});
  ASSERT_EQ(before.size(), kPoints);
  (void)this->store().thin(JobId{2}).value();
  this->reopen();  // what was done of it stays done
  while (!this->store().thin(JobId{2}).value()) {
  }
  const auto after = all_points(this->store(), JobId{2});
  std::map<std::string, std::uint64_t> series;
  for (const auto& [number, point] : after) {
    EXPECT_EQ(point, before.at(number - 1).point);
    for (const auto& [name, value] : point.values) ++series[name];
  }
  EXPECT_EQ(series["loss"], kThinnedPoints + 250U);  // with those that stay for their accuracy
  EXPECT_EQ(series["accuracy"], 250U);               // all there were
  EXPECT_EQ(after.back().number, kPoints);
  for (std::size_t i = 1; i < after.size(); ++i)
    EXPECT_LE(after[i].number - after[i - 1].number, 2 * kPoints / kThinnedPoints);
  const auto left = this->store().remains(JobId{2}).value();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->kept, Kept::thinned);
  EXPECT_EQ(left->points, kPoints);
}

TYPED_TEST_P(StoreContract, DropsAForgottenJobForGood) {
  const State state = three_forgotten(this->store(), 3'000);
  Batch batch;
  batch.passed_over = {{{JobId{2}, Generation{1}, 0}, 5, 9}};
  this->append(batch);
  const auto kept = [&](std::uint32_t id) {
    return this->store().remains(JobId{id}).value()->kept;
  };
  const auto first = this->store().first_ended(Kept::whole).value();
  ASSERT_TRUE(first);
  EXPECT_EQ(this->store().first_ended(Kept::thinned).value(), std::nullopt);
  EXPECT_EQ(kept(2), Kept::whole);
  EXPECT_EQ(this->store().remains(JobId{4}).value(), std::nullopt);
  while (!this->store().thin(JobId{2}).value()) {
  }
  EXPECT_EQ(this->store().first_ended(Kept::thinned).value()->job, JobId{2});
  (void)this->store().drop(JobId{2}, time_from_us(5)).value();
  this->reopen();
  while (kept(2) != Kept::nothing) (void)this->store().drop(JobId{2}, time_from_us(7)).value();
  this->reopen();
  EXPECT_TRUE(all_points(this->store(), JobId{2}).empty());
  EXPECT_EQ(this->store().passed_over(JobId{2}).value(), 0U);
  EXPECT_EQ(this->store().launch(JobId{2}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(this->store().launch(JobId{3}));
  const auto rows = this->store().forgotten(JobId{1}, 10).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.back().id, JobId{3});
  const auto left = this->store().remains(JobId{2}).value();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->state, JobState::cancelled);
  EXPECT_EQ(left->points, 3'000U);
  EXPECT_EQ(left->ended_at, first->at);
  EXPECT_EQ(this->loaded(), state.parts());
  EXPECT_EQ(this->store().first_ended(Kept::thinned).value(), std::nullopt);
}

REGISTER_TYPED_TEST_SUITE_P(StoreContract, KeepsWhatTheStateForgot, StartsEmpty,
                            ThinsThePointsOfAForgottenJob, DropsAForgottenJobForGood,
                            GivesBackEveryEntryInPages, LoadsTheFoldOfWhatWasAppended,
                            KeepsWhatStartsAJobUntilItIsOver,
                            KeepsWhoIsToldOfAJobUntilItIsForgotten,
                            ForgetsWhatStartedAJobThatWasOverBeforeACrash,
                            NumbersTheNewPointsOfEachJob, KnowsTheNewestReportOfEachProcess,
                            CountsWhatWasPassedOver, GivesPointsInPages, FindsThePointsOfOneMetric,
                            RemembersASubmissionForADay, TakesAForgottenSubmissionAnew,
                            KeepsWhatTheJournalDoesNotTellYet);

}  // namespace paceline
