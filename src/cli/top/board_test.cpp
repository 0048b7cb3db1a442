#include "cli/top/board.hpp"

#include <gmock/gmock.h>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kAnn = 1000, kBob = 1001;
constexpr double kNow = 1'763'636'112;

Document document(std::string_view text) { return parse_document(text).value(); }

Document job(std::int64_t id, std::string_view name, std::string_view state, double progress) {
  auto job = document(R"({"workers": 1, "min": 1, "max": 2, "waited_seconds": 5,
      "metrics": {}, "reason": "runs with 1 worker of at most 2"})");
  job["id"] = id;
  job["name"] = name;
  job["user"] = id % 2 == 1 ? "ann" : "bob";
  job["uid"] = id % 2 == 1 ? kAnn : kBob;
  job["state"] = state;
  if (state == "PENDING") {
    job["workers"] = 0;
    job["reason"] = "needs 1 slot, 0 free now";
  } else {
    job["started_at"] = kNow - 60;
    job["ran_seconds"] = 60;
    job["progress"] = {{"ratio", progress}};
  }
  return job;
}

Document slot(std::int64_t index, std::string_view state, std::int64_t job) {
  return {{"index", index}, {"kind", "gpu"}, {"model", "NVIDIA H100 80GB HBM3"},
          {"state", state}, {"job", job},    {"rank", 0}};
}

// Two nodes of four slots; jobs 1 and 2 run, 3 and 4 wait, bob's first.
BoardNews cluster() {
  BoardNews news;
  news.at = kNow;
  news.all_jobs = true;
  news.server = document(R"({"version": "0.1.0", "dir": "/var/lib/paceline", "policy": "fair",
      "slots": 8, "slots_leased": 3, "jobs": {"RUNNING": 2, "PENDING": 2, "PAUSED": 0}})");
  news.nodes = {
      {"nodes",
       {{{"name", "node-a"},
         {"slots",
          {slot(0, "leased", 1), slot(1, "leased", 1), slot(2, "free", 0), slot(3, "free", 0)}}},
        {{"name", "node-b"},
         {"slots",
          {slot(0, "leased", 2), slot(1, "promised", 3), slot(2, "down", 0),
           slot(3, "down", 0)}}}}}};
  news.jobs = {job(1, "digits", "RUNNING", 0.25), job(2, "text", "RUNNING", 0.8),
               job(3, "vae", "PENDING", 0), job(4, "wide", "PENDING", 0)};
  news.expected = {
      {"jobs",
       {{{"id", 3}, {"expected_start", {{"at", kNow + 600}, {"earliest", kNow + 500}}}},
        {{"id", 4}, {"expected_start", {{"at", kNow + 60}, {"earliest", kNow + 50}}}}}}};
  return news;
}

Paper paper(std::size_t columns = 80, std::size_t lines = 24) {
  return {.size = {columns, lines}, .focused = true, .now = kNow};
}

// As lines of text, spaces at their ends left out; a row in reverse video is known by its ">".
std::string drawn(Board& board, const Paper& on = paper()) {
  std::string text;
  for (auto row : board.draw(on)) {
    for (const std::string_view style : {"\x1b[7m", "\x1b[0m"}) {
      for (auto at = row.find(style); at != row.npos; at = row.find(style))
        row.erase(at, style.size());
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

class Watched : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    board.told(cluster());
  }
  void type(std::string_view text) {
    for (const char c : text) EXPECT_TRUE(board.press({KeyKind::text, std::string(1, c)}));
  }
  void press(KeyKind kind) { EXPECT_TRUE(board.press({kind})); }
  // The ids that the queue shows, from above.
  std::vector<std::int64_t> seen() {
    (void)board.draw(paper());
    return board.wish().seen;
  }

  Board board{{.uid = kAnn}};
};

TEST_F(Watched, FitsEightyColumnsByTwentyFourLines) {
  EXPECT_EQ(drawn(board),
            R"(Paceline 0.1.0  /var/lib/paceline  policy fair                          10:55:12
Slots 3 of 8 used ███·······   Jobs 2 running, 2 waiting
Slots  8 on 2 nodes
 NODE    SLOT  DEVICE         STATE     JOB  USER  NAME    RANK  PROGRESS
 node-a   0-1  H100 80GB HB…  RUNNING     1  ann   digits     0  ██········  25%
          2-3  H100 80GB HB…  free
 node-b     0  H100 80GB HB…  RUNNING     2  bob   text       0  ████████··  80%
            1  H100 80GB HB…  promised    3  ann   vae        0  -
          2-3  H100 80GB HB…  down

Queue  4 jobs
 ID▲  NAME    USER  STATE    WORKERS  PROGRESS   TIME   START  ETA  REASON
>  1  digits  ann   RUNNING  1/1..2        25%  1m00s       -    -  runs with 1…
   2  text    bob   RUNNING  1/1..2        80%  1m00s       -    -  runs with 1…
   3  vae     ann   PENDING  0/1..2          -     5s  10m00s    -  needs 1 slo…
   4  wide    bob   PENDING  0/1..2          -     5s   1m00s    -  needs 1 slo…






Job 1 is RUNNING: runs with 1 worker of at most 2.
Enter open  l log  / filter  s sort  a ended  Tab slots/queue  ? help  q quit
)");
}

TEST_F(Watched, StandsSideBySideWhereThereIsRoom) {
  EXPECT_EQ(
      drawn(board, paper(200, 14)),
      R"(Paceline 0.1.0  /var/lib/paceline  policy fair                                                                                                                                                  10:55:12
Slots 3 of 8 used ███·······   Jobs 2 running, 2 waiting
Slots  8 on 2 nodes                                                              │ Queue  4 jobs
 NODE    SLOT  DEVICE         STATE     JOB  USER  NAME    RANK  PROGRESS        │  ID▲  NAME    USER  STATE    WORKERS  PROGRESS  METRIC   TIME   START  ETA  REASON
 node-a   0-1  H100 80GB HB…  RUNNING     1  ann   digits     0  ██········  25% │ >  1  digits  ann   RUNNING  1/1..2        25%  -       1m00s       -    -  runs with 1 worker of at most 2
          2-3  H100 80GB HB…  free                                               │    2  text    bob   RUNNING  1/1..2        80%  -       1m00s       -    -  runs with 1 worker of at most 2
 node-b     0  H100 80GB HB…  RUNNING     2  bob   text       0  ████████··  80% │    3  vae     ann   PENDING  0/1..2          -  -          5s  10m00s    -  needs 1 slot, 0 free now
            1  H100 80GB HB…  promised    3  ann   vae        0  -               │    4  wide    bob   PENDING  0/1..2          -  -          5s   1m00s    -  needs 1 slot, 0 free now
          2-3  H100 80GB HB…  down                                               │
                                                                                 │
                                                                                 │
                                                                                 │
Job 1 is RUNNING: runs with 1 worker of at most 2.
Enter open  l log  / filter  s sort  a ended  Tab slots/queue  ? help  q quit
)");
}

TEST_F(Watched, IsNeverWiderOrHigherThanTheScreen) {
  for (std::size_t columns = 1; columns < 220; columns += 7) {
    for (std::size_t lines = 1; lines < 40; lines += 3) {
      const auto rows = board.draw(paper(columns, lines));
      EXPECT_LE(rows.size(), lines);
      for (const auto& row : rows) EXPECT_LE(row_width(row), columns) << row;
    }
  }
}

TEST_F(Watched, SortsByAnyColumnEitherWayRound) {
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4));
  type("r");
  EXPECT_THAT(seen(), ElementsAre(4, 3, 2, 1));
  type("rss");
  EXPECT_THAT(seen(), ElementsAre(1, 3, 2, 4)) << "by user";
  type("s");
  EXPECT_THAT(seen(), ElementsAre(3, 4, 1, 2)) << "by state";
  type("<<<<<");
  EXPECT_THAT(drawn(board), HasSubstr("START▲"));
  EXPECT_THAT(seen(), ElementsAre(4, 3, 1, 2)) << "the unknown stands last";
  type("r");
  EXPECT_THAT(seen(), ElementsAre(3, 4, 1, 2));
}

TEST_F(Watched, FiltersWhileOneTypes) {
  type("/user:ann");
  EXPECT_THAT(seen(), ElementsAre(1, 3));
  EXPECT_THAT(drawn(board), HasSubstr("/user:ann_"));
  EXPECT_THAT(drawn(board), HasSubstr("Queue  2 of 4 jobs  /user:ann"));
  EXPECT_THAT(drawn(board), Not(HasSubstr("text"))) << "nor the slots of others";
  press(KeyKind::enter);
  type("/q");
  press(KeyKind::escape);
  EXPECT_THAT(seen(), ElementsAre(1, 3)) << "as before it was typed";
  press(KeyKind::escape);
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4));
  type("/usr:x");
  EXPECT_THAT(drawn(board), HasSubstr("did you mean 'user:'?"));
  press(KeyKind::enter);
  press(KeyKind::erase_line);
  type("vaé");
  press(KeyKind::backspace);
  press(KeyKind::enter);
  EXPECT_THAT(seen(), ElementsAre(3));
}

TEST_F(Watched, KeepsTheCursorOnItsJobUntilItIsSortedAnew) {
  press(KeyKind::end);
  BoardNews news = cluster();
  news.jobs.erase(news.jobs.begin());
  board.told(std::move(news));
  type("l");
  EXPECT_EQ(board.wish().log->job, 4U);
  type(
      "q"
      "kk"
      "r"
      "l");
  EXPECT_EQ(board.wish().log->job, 4U) << "the first one now";
}

TEST_F(Watched, AJobsNeighbouringSlotsShareARow) {
  BoardNews news = cluster();
  auto& slots = news.nodes["nodes"][0]["slots"];
  slots[1]["rank"] = 1;
  slots[2] = slot(2, "leased", 1);
  slots[2]["rank"] = 3;
  board.told(std::move(news));
  EXPECT_THAT(drawn(board), ContainsRegex(" node-a   0-1 .* 1  ann   digits   0-1 "));
  EXPECT_THAT(drawn(board), ContainsRegex("\n            2 .* 1  ann   digits     3 "));
}

TEST_F(Watched, ScrollsThroughVeryManyJobs) {
  BoardNews news = cluster();
  for (int id = 5; id <= 10'000; ++id) news.jobs.push_back(job(id, "many", "PENDING", 0));
  board.told(std::move(news));
  EXPECT_EQ(seen().front(), 1);
  press(KeyKind::end);
  EXPECT_EQ(seen().back(), 10'000);
  EXPECT_THAT(drawn(board), HasSubstr("\nJob 10000 is PENDING: needs 1 slot, 0 free now.\n"));
  EXPECT_LE(seen().size(), 20U) << "only what shows is asked for";
  press(KeyKind::page_up);
  EXPECT_LT(seen().back(), 10'000);
  EXPECT_THAT(drawn(board), HasSubstr("Queue  10,000 jobs, "));
}

TEST_F(Watched, TakesWhatChanged) {
  BoardNews news;
  news.at = kNow + 2;
  news.server = document(R"({"slots": 8})");
  news.jobs = {job(1, "digits", "COMPLETED", 1), job(2, "text", "RUNNING", 0.9)};
  board.told(std::move(news));
  EXPECT_THAT(seen(), ElementsAre(2, 3, 4));
  EXPECT_THAT(drawn(board), HasSubstr("90%"));
}

TEST_F(Watched, OpensAJobAndItsLog) {
  press(KeyKind::tab);
  press(KeyKind::enter);
  EXPECT_EQ(board.wish().page, 1U) << "of the slot under the cursor";
  EXPECT_THAT(drawn(board), HasSubstr("Asking the server…"));
  BoardNews news;
  news.page = PageNews{.id = 1,
                       .job = job(1, "digits", "RUNNING", 0.25),
                       .why = document(R"({"lines": ["It runs."]})")};
  board.told(std::move(news));
  const auto page = drawn(board);
  EXPECT_THAT(page, HasSubstr("Job 1  digits  RUNNING\n  runs with 1 worker of at most 2.\n"));
  EXPECT_THAT(page, HasSubstr("Why\n  It runs.\n"));

  type("l");
  ASSERT_TRUE(board.wish().log);
  BoardNews log;
  log.log = LogNews{.of = *board.wish().log, .anew = true};
  log.log->chunks.push_back({{"rank", 0}, {"text", "step 1\n"}});
  board.told(log);
  EXPECT_THAT(drawn(board), HasSubstr("Log of job 1  digits  RUNNING  following\nstep 1\n"));
  press(KeyKind::right);
  EXPECT_EQ(board.wish().log->rank, 0);
  board.told(std::move(log));
  EXPECT_THAT(drawn(board), Not(HasSubstr("step 1\n"))) << "that was another one's";
  press(KeyKind::escape);
  type("q");
  EXPECT_EQ(board.wish().page, std::nullopt);
  EXPECT_EQ(board.wish().log, std::nullopt);
  EXPECT_FALSE(board.press({KeyKind::text, "q"}));
}

TEST_F(Watched, KeepsALogOpenThatIsEmptyOrOfAJobThatIsOver) {
  type("l");
  BoardNews news = cluster();
  news.jobs.front() = job(1, "digits", "COMPLETED", 1);
  news.page = PageNews{.id = 1, .job = job(1, "digits", "COMPLETED", 1)};
  news.log = LogNews{.of = *board.wish().log, .anew = true};
  board.told(std::move(news));
  EXPECT_THAT(drawn(board),
              HasSubstr("Log of job 1  digits  COMPLETED\nNothing is written yet.\n"));
}

TEST_F(Watched, AsksForFewerLinesOfEachOfManyRanks) {
  BoardNews news = cluster();
  news.jobs.front()["workers"] = 100;
  board.told(std::move(news));
  type("l");
  EXPECT_EQ(board.wish().log->lines, 100U);
  BoardNews log;
  log.log = LogNews{.of = *board.wish().log, .anew = true};
  log.log->chunks.push_back({{"rank", 99}, {"text", "step 1\n"}});
  board.told(std::move(log));
  type("3");
  EXPECT_EQ(board.wish().log->rank, 3);
  EXPECT_EQ(board.wish().log->lines, 1000U);
  type("qjl");
  EXPECT_EQ(board.wish().log->lines, 1000U) << "of another job, of one worker";
  EXPECT_THAT(drawn(board), HasSubstr("Log of job 2  text  RUNNING  following"));
}

TEST_F(Watched, SaysWhyALogIsNotShown) {
  type("jl");
  BoardNews log;
  log.log = LogNews{.of = *board.wish().log};
  log.log->failed = Error{ErrorCode::forbidden, "Job 2 is bob's.", "", Retry::useless};
  board.told(std::move(log));
  EXPECT_THAT(drawn(board), HasSubstr("Job 2 is bob's.\n"));
}

TEST_F(Watched, KeepsTheOldPictureWhileTheServerIsAway) {
  BoardNews away;
  away.at = kNow;
  away.away = Error{ErrorCode::unavailable, "Nobody answers.", "", Retry::may_help};
  board.told(std::move(away));
  EXPECT_THAT(drawn(board), HasSubstr("no answer since 10:55:12: old picture\n"));
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4));
  board.told(cluster());
  EXPECT_THAT(drawn(board), Not(HasSubstr("old picture")));
}

TEST_F(Watched, PausesAndAsksForEndedJobs) {
  type(" a");
  EXPECT_TRUE(board.wish().stands);
  EXPECT_TRUE(board.wish().ended);
  EXPECT_THAT(drawn(board), HasSubstr("stands still at 10:55:12\n"));
  BoardNews news = cluster();
  news.jobs.push_back(job(5, "old", "COMPLETED", 1));
  board.told(std::move(news));
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4, 5));
  type("a");
  board.told(cluster());
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4));
}

TEST_F(Watched, KeepsTheNewestOfVeryManyEndedJobs) {
  type("a");
  BoardNews news = cluster();
  for (int id = 5; id <= 2000; ++id) news.jobs.push_back(job(id, "old", "FAILED", 0));
  board.told(std::move(news));
  EXPECT_THAT(drawn(board), HasSubstr("Queue  1,004 jobs"));
  press(KeyKind::end);
  EXPECT_EQ(seen().back(), 2000);
}

TEST_F(Watched, MovesNobodysCursor) {
  BoardNews news = cluster();
  news.jobs = {job(1, "a\x1b[2J\nb\u202e", "RUNNING", 0.5), job(2, "数据数据数据", "RUNNING", 0.5)};
  news.server["policy"] = "x\x1b[H";
  board.told(std::move(news));
  const auto picture = drawn(board);
  EXPECT_EQ(picture.find('\x1b'), picture.npos);
  EXPECT_THAT(picture, HasSubstr("a [2J b"));
  type("/\x1b");
  EXPECT_EQ(drawn(board).find('\x1b'), picture.npos);
}

TEST_F(Watched, BearsWhatItDoesNotKnow) {
  for (const auto* text :
       {"{}", "[]", "null", "7", R"({"jobs": [3], "nodes": [[]], "slots": "x"})"}) {
    Board strange({});
    BoardNews news;
    news.server = news.nodes = news.expected = document(text);
    news.jobs = {document(text)};
    news.page = PageNews{.id = 0, .job = document(text), .why = document(text)};
    strange.told(news);
    (void)strange.draw(paper());
    (void)strange.draw_whole(paper());
  }
}

TEST_F(Watched, AWholePictureHasEveryRow) {
  BoardNews news = cluster();
  for (int id = 5; id <= 100; ++id) news.jobs.push_back(job(id, "many", "PENDING", 0));
  board.told(std::move(news));
  const auto rows = board.draw_whole({.size = {100'000, 0}, .now = kNow});
  EXPECT_EQ(rows.size(), 3U + 1 + 1 + 5 + 1 + 1 + 1 + 100);
  EXPECT_LE(row_width(rows.front()), 120U) << "the clock stands where the tables end";
}

TEST_F(Watched, TheHelpSaysThatNothingChanges) {
  type("?");
  EXPECT_THAT(drawn(board), HasSubstr("Nothing here changes anything on the server."));
  press(KeyKind::escape);
  EXPECT_THAT(drawn(board), HasSubstr("Queue"));
}

}  // namespace
}  // namespace paceline
