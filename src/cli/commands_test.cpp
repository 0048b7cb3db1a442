#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/client/locate.hpp"
#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kJob = R"({"id": 7, "name": "digits", "user": "ann", "uid": 1000,
  "state": "RUNNING", "workers": 2, "min": 1, "max": 4, "want": 2, "pinned": false,
  "slots_per_worker": 1, "priority": 50, "elastic": "auto", "retry": 2, "retries_used": 1,
  "after": [3], "generation": 3, "attempt": 1, "resizes": 2, "preemptions": 0,
  "reason": "runs on 2 of at most 4 slots: the other 2 are leased to job 5",
  "metrics": {"loss": 0.3, "accuracy": 0.91},
  "progress": {"step": 120, "total_steps": 4000, "epoch": 0.4, "samples": 7680, "ratio": 0.03,
               "step_seconds": 0.5},
  "target": {"metric": "accuracy", "direction": ">=", "deliver": 0.95, "final": 0.95,
             "reached": false},
  "gang": [{"rank": 0, "node": "box", "slots": [0], "pid": 4711, "state": "running"},
           {"rank": 1, "node": "box", "slots": [2], "pid": 4712, "state": "running"}],
  "nodes": ["box"], "started_at": 1763636101.0,
  "remaining": {"seconds": 1940, "low_seconds": 1746, "high_seconds": 2231, "from": "progress"}, "waited_seconds": 1.0, "ran_seconds": 80.2,
  "slot_seconds": 160.4, "lost_slot_seconds": {"preemption": 0, "resize": 3.1, "failure": 0},
  "command": "python3 train.py", "directory": "/home/ann"})";

constexpr const char* kWaiting = R"({"id": 12, "name": "vae", "user": "bo", "uid": 1001,
  "state": "PENDING", "workers": 0, "min": 4, "max": 4, "metrics": {}, "progress": null,
  "target": null, "waited_seconds": 5, "started_at": null,
  "reason": "waits for 4 free slots; 1 is free now"})";

std::string jobs(const std::vector<std::string>& list, const std::string& next = "null") {
  std::string text;
  for (const auto& job : list) text += (text.empty() ? "" : ",") + job;
  return R"({"jobs": [)" + text + R"(], "next": )" + next + "}";
}

FakeServer::Handler always(const std::string& text) {
  return [text](const FakeRequest&) { return FakeAnswer{text}; };
}

TEST(Queue, FiltersOverAllPages) {
  const FakeServer server([](const FakeRequest& request) {
    const bool first = request.target.find("after=0") != std::string::npos;
    return FakeAnswer{first ? jobs({kJob}, "7") : jobs({kWaiting})};
  });
  const auto ids = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"queue", "-o", "name"});
    return run_words(server, words).out;
  };
  EXPECT_EQ(ids({"--last", "1"}), "12\n");
  EXPECT_EQ(ids({"--name", "dig*"}), "7\n");
  EXPECT_EQ(ids({"--since", "1d"}), "7\n12\n");
  EXPECT_EQ(ids({"--since", "2025-11-20", "--last", "2"}), "7\n12\n");
  EXPECT_THAT(server.log().front(), HasSubstr("all=1"));
}

TEST(Queue, RefusesWhatIsNoFilter) {
  const FakeServer server(always(jobs({})));
  const auto since = run_words(server, {"queue", "--since", "yesterday"});
  EXPECT_EQ(since.code, 64);
  EXPECT_THAT(since.err, HasSubstr("--since: 'yesterday' is neither a span nor a date."));
  EXPECT_THAT(run_words(server, {"queue", "--last", "0"}).err,
              HasSubstr("--last: '0' is not a whole number from 1"));
}

TEST(Queue, IsATable) {
  const FakeServer server(always(jobs({kJob, kWaiting})));
  const auto result = run_words(server, {"queue"});
  EXPECT_EQ(
      result.out,
      "ID  NAME    USER  STATE    WORKERS  PROGRESS  METRIC               TIME  START  ETA  "
      "REASON\n"
      " 7  digits  ann   RUNNING  2/1..4         3%  0.91→0.95 accuracy  1m20s      -    -  runs "
      "on "
      "2 of at most 4 slots: the other 2 are leased to job 5\n"
      "12  vae     bo    PENDING  0/4             -  -                      5s      -    -  waits "
      "for 4 free slots; 1 is free now\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/jobs?limit=1000&after=0",
                                        "GET /v1/expected?limit=10000&after=0"));
}

TEST(Queue, ReadsEveryPage) {
  const FakeServer server([](const FakeRequest& request) {
    const bool first = request.target.find("after=0") != std::string::npos;
    return FakeAnswer{first ? jobs({kJob}, "7") : jobs({kWaiting})};
  });
  EXPECT_EQ(run_words(server, {"ps", "--all", "-o", "name"}).out, "7\n12\n");
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/jobs?limit=1000&all=1&after=0",
                                        "GET /v1/jobs?limit=1000&all=1&after=7"));
  EXPECT_EQ(server.connections(), 2);  // one to see whether it answers
}

TEST(Queue, GivesTheApisJson) {
  const FakeServer server(always(jobs({kWaiting})));
  const auto result = run_words(server, {"queue", "-o", "json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["jobs"][0]["state"], "PENDING");
  EXPECT_TRUE(json["next"].is_null());
  EXPECT_THAT(result.out, StartsWith(R"({"jobs":[{"id":12,"name":"vae","user":"bo")"));
}

TEST(Queue, LeavesTheTitlesOut) {
  const FakeServer server(always(jobs({kWaiting})));
  EXPECT_THAT(run_words(server, {"queue", "--no-header"}).out, StartsWith("12  vae  bo  PENDING"));
  EXPECT_EQ(run_words(server, {"queue", "--no-header", "--state", "RUNNIN"}).code, 64);
}

TEST(Queue, TakesAStateInAnyCase) {
  const FakeServer server(always(jobs({kWaiting})));
  EXPECT_EQ(run_words(server, {"queue", "--state", "running"}).code, 0);
  EXPECT_THAT(server.log().front(), HasSubstr("state=RUNNING"));
}

TEST(Show, IsAPage) {
  const FakeServer server(always(kJob));
  EXPECT_EQ(run_words(server, {"show", "7"}).out,
            "Job 7  digits  RUNNING\n"
            "  runs on 2 of at most 4 slots: the other 2 are leased to job 5.\n\n"
            "  Owner       ann\n"
            "  Command     python3 train.py\n"
            "  Directory   /home/ann\n"
            "  Workers     2 of 1..4, wants 2\n"
            "  Priority    50\n"
            "  Elastic     auto\n"
            "  After       job 3\n"
            "  Progress    3%, step 120 of 4000, epoch 0.4, 7,680 samples\n"
            "  Left        about 32m20s of running (29m06s to 37m11s), by its progress\n"
            "  Metrics     loss 0.3, accuracy 0.91\n"
            "  Target      accuracy >= 0.95, not reached yet\n"
            "  Times       started 2025-11-20 10:55:01\n"
            "  Spent       waited 1s, ran 1m20s, slot time 2m40s\n"
            "  Course      attempt 1, generation 3, 2 resizes, 1 of 2 retries used\n"
            "  Lost        resize 3s\n\n"
            "  RANK  NODE  SLOTS   PID  STATE    EXIT\n"
            "  0     box   0      4711  running\n"
            "  1     box   2      4712  running\n");
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/jobs/7"));
}

TEST(Show, SaysThatACurveWasThinned) {
  const FakeServer server([](const FakeRequest& request) {
    const bool points = request.target.find("/metrics") != std::string::npos;
    return FakeAnswer{points ? R"({"points":[],"next":1,"passed_over":0,"thinned_from":12000})"
                             : R"({"id":7,"name":"digits","state":"COMPLETED"})"};
  });
  EXPECT_THAT(run_words(server, {"show", "7"}).out,
              HasSubstr("Curve       thinned, it had 12,000 points ('paceline up --keep')\n"));
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/jobs/7", "GET /v1/jobs/7/metrics?limit=1"));
}

TEST(Show, SaysNothingOfACurveThatIsWholeOrAnothersOwn) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target == "/v1/jobs/8/metrics?limit=1")
      return fake_error(403, "forbidden", "Its points are its owner's.");
    const bool points = request.target.find("/metrics") != std::string::npos;
    return FakeAnswer{points ? R"({"points":[],"next":1,"passed_over":0,"thinned_from":null})"
                             : R"({"id":7,"name":"digits","state":"COMPLETED"})"};
  });
  const auto result = run_words(server, {"show", "7", "8"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("Curve")));
}

TEST(Show, TellsEveryMissingJobAndGoesOn) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target == "/v1/jobs/8") return fake_error(404, "not_found", "There is no job 8.");
    return FakeAnswer{kWaiting};
  });
  const auto result = run_words(server, {"show", "8", "12", "-o", "json"});
  EXPECT_EQ(result.code, 66);
  EXPECT_EQ(result.err, "paceline: There is no job 8.\n          Do this.\n");
  EXPECT_THAT(result.out, StartsWith(R"({"id":12,)"));
}

TEST(Cancel, TellsWhatBecameOfEachJob) {
  const FakeServer server(
      always(R"({"id": 7, "state": "STOPPING", "reason": "its owner cancelled it"})"));
  const auto result = run_words(server, {"cancel", "7", "8"});
  EXPECT_EQ(
      result.out,
      "Job 7 is STOPPING: its owner cancelled it.\nJob 7 is STOPPING: its owner cancelled it.\n");
  EXPECT_THAT(server.log(), ElementsAre("POST /v1/jobs/7/cancel", "GET /v1/jobs/7",
                                        "POST /v1/jobs/8/cancel", "GET /v1/jobs/8"));
}

TEST(Resize, SendsTheRange) {
  const FakeServer server(always(kJob));
  EXPECT_EQ(run_words(server, {"resize", "7", "--workers", "2..4"}).code, 0);
  EXPECT_EQ(server.requests().front().body, R"({"workers":"2..4"})");
  EXPECT_EQ(run_words(server, {"resize", "7", "--workers", "4..2"}).code, 64);
  EXPECT_EQ(run_words(server, {"resize", "7"}).code, 64);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(Wait, ExitsAsTheJobDid) {
  const auto code_of = [](const std::string& job) {
    const FakeServer server(always(job));
    return run_words(server, {"wait", "7"}).code;
  };
  EXPECT_EQ(code_of(R"({"id":7,"state":"COMPLETED","exit_code":0})"), 0);
  EXPECT_EQ(code_of(R"({"id":7,"state":"COMPLETED","exit_code":null})"), 0);
  EXPECT_EQ(code_of(R"({"id":7,"state":"FAILED","exit_code":3})"), 3);
  EXPECT_EQ(code_of(R"({"id":7,"state":"FAILED","exit_code":137})"), 137);
  EXPECT_EQ(code_of(R"({"id":7,"state":"FAILED","exit_code":null})"), 1);
  EXPECT_EQ(code_of(R"({"id":7,"state":"CANCELLED","exit_code":143})"), 130);
  EXPECT_EQ(code_of(R"({"id":7,"state":"TIMEOUT","exit_code":143})"), 124);
}

// Of a job that failed, with the log of its failing worker.
CliResult ask_of_failed(const std::string& max, FakeAnswer log,
                        const std::vector<std::string>& words) {
  const FakeServer server([&](const FakeRequest& request) {
    if (request.target.find("/logs?rank=1&") != std::string::npos &&
        request.target.find("offset") == std::string::npos)
      return log;
    if (request.target.find("/logs") != std::string::npos) return FakeAnswer{R"({"chunks":[]})"};
    if (request.target == "/v1/server") return FakeAnswer{R"({"seq":5})"};
    if (request.target.starts_with("/v1/events"))
      return FakeAnswer{R"({"events":[{"kind":"worker_ended","job":7,"generation":1,"rank":1,
                            "ending":{"cause":"exited","exit_code":3}}]})"};
    if (request.target.ends_with("/why"))
      return FakeAnswer{R"({"id":7,"state":"FAILED","lines":["Job 7 (FAILED) exited with 3."]})"};
    return FakeAnswer{R"({"id":7,"state":"FAILED","exit_code":3,"ending":"exited with 3","max":)" +
                      max + "}"};
  });
  return run_words(server, words);
}

FakeAnswer log_of_rank_1() {
  return {R"({"chunks":[{"rank":1,"offset":0,"next":99,"text":)"
          R"("--- attempt 1, x ---\nold\n--- attempt 2, x ---\nepoch 1\n)"
          R"({\"paceline\": {\"step\": 1}}\nno such file\n"}]})"};
}

constexpr std::string_view kLastWords =
    "Rank 1 failed. It wrote last:\n"
    "  [1] epoch 1\n"
    "  [1] no such file\n";

TEST(Wait, TellsWhatTheFailingRankWroteLast) {
  const auto told = ask_of_failed("2", log_of_rank_1(), {"wait", "7"});
  EXPECT_EQ(told.code, 3);
  EXPECT_EQ(told.err, fmt::format("paceline: {}", kLastWords));
  EXPECT_EQ(told.out, "Job 7 is FAILED: exited with 3.\n");
  const auto quiet = ask_of_failed("2", log_of_rank_1(), {"wait", "-q", "7"});
  EXPECT_EQ(quiet.code, 3);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST(Show, EndsWithWhatTheFailingRankWroteLast) {
  EXPECT_THAT(ask_of_failed("2", log_of_rank_1(), {"show", "7"}).out,
              EndsWith(fmt::format("\n\n{}", kLastWords)));
  EXPECT_THAT(ask_of_failed("2", log_of_rank_1(), {"show", "7", "-o", "json"}).out,
              Not(HasSubstr("wrote last")));
}

TEST(Why, EndsWithWhatTheFailingRankWroteLast) {
  EXPECT_EQ(ask_of_failed("2", log_of_rank_1(), {"why", "7"}).out,
            fmt::format("Job 7 (FAILED) exited with 3.\n{}", kLastWords));
}

TEST(Wait, SaysNothingOfALogThatItMayNotRead) {
  const auto refused = fake_error(403, "forbidden", "It belongs to ann.");
  EXPECT_EQ(ask_of_failed("2", refused, {"wait", "7"}).err, "");
  for (const char* command : {"show", "why"}) {
    const auto told = ask_of_failed("2", refused, {command, "7"});
    EXPECT_EQ(told.code, 0);
    EXPECT_THAT(told.out + told.err, Not(HasSubstr("wrote last")));
  }
}

TEST(Wait, AsksAgainUntilTheJobIsOver) {
  int asked = 0;
  const FakeServer server([&](const FakeRequest&) {
    switch (asked++) {
      case 0:
        return FakeAnswer{kJob};
      case 1:
        return FakeAnswer{"", 200, FakeAnswer::Kind::hang_up};
      case 2:
        return fake_error(503, "unavailable", "Not now.");
      default:
        return FakeAnswer{R"({"id":7,"state":"COMPLETED","exit_code":0,"ending":"It ended."})"};
    }
  });
  const auto result = run_words(server, {"wait", "7"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "Job 7 is COMPLETED: It ended.\n");
}

TEST(Why, PrintsSentences) {
  const FakeServer server(always(
      R"({"id":7,"state":"PENDING","reason":"waits","lines":["It waits for 4 slots.","Job 5 is ahead."]})"));
  EXPECT_EQ(run_words(server, {"why", "7"}).out, "It waits for 4 slots.\n  Job 5 is ahead.\n");
}

TEST(Policy, IsListedShownAndSet) {
  const FakeServer server(always(
      R"({"active":{"name":"fifo","parameters":{"backfill":"true"},"since":null},"previous":{"name":"round-robin"},
          "next_round":{"policy":"fifo","jobs":[]},
          "policies":[{"name":"fifo","summary":"arrival order","elastic":false},
                      {"name":"elastic-fifo","summary":"min sizes, then spread","elastic":true}],
          "periods":[{"name":"fifo","from":100,"to":160,"utilization":0.755}],
          "plans":[{"round":9,"policy":"fifo","at":120,
                    "lost_slot_seconds":{"preemption":0,"resize":22,"failure":0}}]})"));
  EXPECT_EQ(run_words(server, {"policy", "list"}).out,
            "POLICY        ACTIVE  ELASTIC  SUMMARY\n"
            "fifo          yes     no       arrival order\n"
            "elastic-fifo          yes      min sizes, then spread\n");
  EXPECT_THAT(run_words(server, {"policy", "show"}).out,
              AllOf(StartsWith("fifo is active.\n  backfill = true\n\nPOLICY  FROM"),
                    HasSubstr("\n\nROUND  POLICY  AT"), ContainsRegex("9  fifo .* 0 +22\n$")));
  EXPECT_EQ(
      run_words(server, {"policy", "set", "fifo", "--backfill", "--depth=3", "--mode", "easy"}).out,
      "The policy is fifo now; it was round-robin. Its first round restarts nothing.\n");
  EXPECT_EQ(server.requests().back().body,
            R"({"name":"fifo","parameters":{"backfill":"true","depth":"3","mode":"easy"}})");
  EXPECT_EQ(run_words(server, {"policy", "set"}).code, 64);
}

TEST(Policy, IsTriedAndComparedAndPromotedOrDropped) {
  const FakeServer server([](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "POST")
      return {R"({"active":{"name":"srtf"},"previous":{"name":"fifo"},
                  "next_round":{"policy":"srtf","jobs":[]}})"};
    return {
        R"({"name":"srtf","live":"fifo","since":0,"counted_since":60,"rounds":12,"differed":3,"skipped":1,"failed":0,
      "differences":[{"round":9,"at":0,"changes":[
        {"job":4,"live":{"kind":"start","workers":2,"nodes":["box"],"reason":"starts with 2 workers"},"shadow":null},
        {"job":5,"live":null,"shadow":{"kind":"stop","workers":0,"nodes":[],"reason":"makes room for job 6"}}]}],
      "forecast":{"samples":2,"jobs":2,"guessed":1,"unfinished":0,
        "live":{"completion_seconds":105,"waiting_seconds":50,"makespan_seconds":110,
          "lost_slot_seconds":{"preemption":0,"resize":0,"failure":0}},
        "shadow":{"completion_seconds":60,"waiting_seconds":5,"makespan_seconds":110,
          "lost_slot_seconds":{"preemption":10,"resize":4,"failure":0}},
        "users":[{"user":"ann","live":{"preemption":0,"resize":0,"failure":0},
          "shadow":{"preemption":10,"resize":0,"failure":0}}],
        "other_users":{"count":2,"live":{"preemption":0,"resize":0,"failure":0},
          "shadow":{"preemption":0,"resize":4,"failure":0}}}})"};
  });
  EXPECT_THAT(run_words(server, {"policy", "try", "srtf", "--window", "5"}).out,
              StartsWith("srtf decides in the shadow of fifo from now on"));
  EXPECT_EQ(server.requests().back().body, R"({"name":"srtf","parameters":{"window":"5"}})");
  const auto diff = run_words(server, {"policy", "diff"}).out;
  EXPECT_THAT(
      diff, ContainsRegex(": 3 of 12 rounds differed.\nThe server started again .* ago: these are "
                          "the rounds since.\n1 more were passed over"));
  EXPECT_THAT(
      diff,
      HasSubstr("JOB  LIVE            REASON                 SHADOW  REASON\n"
                "  4  start 2 on box  starts with 2 workers  -\n"
                "  5  -                                      stop    makes room for job 6\n"));
  EXPECT_THAT(diff, HasSubstr("PREDICTED           LIVE  SHADOW  DIFFERENCE\n"
                              "mean completion    1m45s   1m00s        -45s\n"
                              "mean waiting         50s      5s        -45s\n"
                              "makespan           1m50s   1m50s          0s\n"
                              "slot-seconds lost      0      14         +14\n"
                              "  by preemption        0      10         +10\n"
                              "  by resize            0       4          +4\n"
                              "\n"
                              "SLOT-SECONDS LOST BY  LIVE  SHADOW  DIFFERENCE\n"
                              "ann                      0      10         +10\n"
                              "2 others                 0       4          +4\n"
                              "Mean of 2 forecasts; the newest of 2 jobs. 1 of unknown length"));
  EXPECT_THAT(run_words(server, {"policy", "diff", "-o", "json"}).out, HasSubstr("\"samples\":2"));
  EXPECT_EQ(run_words(server, {"policy", "promote"}).out,
            "The policy is srtf now; it was fifo. Its first round restarts nothing.\n");
  EXPECT_EQ(run_words(server, {"policy", "rollback"}).code, 0);
  EXPECT_EQ(run_words(server, {"policy", "drop"}).out,
            "srtf is tried no more. 3 of 12 rounds differed.\n");
  EXPECT_THAT(server.log(),
              ElementsAre("PUT /v1/shadow", "GET /v1/shadow", "GET /v1/shadow",
                          "POST /v1/shadow/promote?dry_run=1", "POST /v1/shadow/promote",
                          "POST /v1/policy/rollback?dry_run=1", "POST /v1/policy/rollback",
                          "DELETE /v1/shadow"));
}

TEST(Policy, ShowsAPage) {
  const FakeServer server(
      always(R"({"name":"fifo","summary":"s","text":"Objective: order.","parameters":{}})"));
  EXPECT_EQ(run_words(server, {"policy", "show", "fifo"}).out, "Objective: order.\n");
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/policy/fifo"));
}

TEST(Policy, ShowsWhyAScriptWasSetAside) {
  const FakeServer server(always(
      R"({"name":"mine","summary":"s","text":"mine","parameters":{},"failure":"It fails in line 2.","failed_at":0})"));
  EXPECT_THAT(run_words(server, {"policy", "show", "mine"}).out,
              ::testing::AllOf(HasSubstr("Set aside "), HasSubstr(": It fails in line 2.\n")));
}

TEST(Policy, IsLoadedFromAFileAndForgotten) {
  const FakeServer server(always(R"({"name":"fifo"})"));
  const auto result = run_words(server, {"policy", "load", "examples/policies/users-in-turn.lua"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("is loaded"));
  EXPECT_THAT(server.requests().back().body, HasSubstr("function decide(cluster)"));
  EXPECT_EQ(run_words(server, {"policy", "load", "/no/such.lua"}).code, 66);
  EXPECT_EQ(run_words(server, {"policy", "forget", "mine"}).out, "The policy mine is forgotten.\n");
  EXPECT_THAT(server.log(), ElementsAre("PUT /v1/policy/users-in-turn", "DELETE /v1/policy/mine"));
}

TEST(Nodes, ShowSlotsWithTheirJobs) {
  const FakeServer server(always(
      R"({"nodes":[{"id":1,"name":"box","state":"up","cpus":4,"memory_bytes":17179869184,"slots":[
        {"index":0,"kind":"cpu","model":"cpu","state":"leased","job":7,"rank":0},
        {"index":1,"kind":"cpu","model":"cpu","state":"leased","job":7,"rank":1},
        {"index":2,"kind":"cpu","model":"cpu","state":"free","job":null},
        {"index":3,"kind":"cpu","model":"cpu","state":"unusable","note":"in use by pid 9"}]}]})"));
  EXPECT_EQ(
      run_words(server, {"nodes"}).out,
      "NODE  STATE  FREE  SLOTS  CPUS  MEMORY  USE\n"
      "box   up      1/4  cpu       4     16G  0-1 job 7; 2 free; 3 unusable, in use by pid 9\n");
  EXPECT_EQ(run_words(server, {"nodes", "-o", "name"}).out, "box\n");
}

TEST(Nodes, SayWhyTheyStartNothing) {
  const FakeServer server(always(
      R"({"nodes":[{"name":"box","state":"up","cpus":4,
        "refusal":{"why":"No space left on device; make room.","until":1763650004},
        "slots":[{"index":0,"kind":"cpu","model":"cpu","state":"refusing"}]}]})"));
  const auto shown = run_words(server, {"nodes"}).out;
  EXPECT_THAT(shown, HasSubstr("box   refusing   0/1"));
  EXPECT_THAT(shown, ::testing::ContainsRegex("box starts nothing before [-0-9: ]*14:46:44: "
                                              "No space left on device; make room."));
}

TEST(Nodes, TellANoteOnceWhereSlotsServeAllTheSame) {
  const FakeServer server(always(R"({"nodes":[
    {"name":"box","state":"up","slots":[
      {"index":0,"kind":"cpu","model":"cpu","state":"leased","job":7,"note":"unwatched"},
      {"index":1,"kind":"cpu","model":"cpu","state":"free","note":"unwatched"},
      {"index":2,"kind":"cpu","model":"cpu","state":"unusable","note":"in use by pid 9"}]},
    {"name":"bag","state":"lost","slots":[
      {"index":0,"kind":"cpu","model":"cpu","state":"down","note":"in use"}]}]})"));
  const auto shown = run_words(server, {"nodes"}).out;
  EXPECT_THAT(shown, HasSubstr("0 job 7; 1 free; 2 unusable, in use by pid 9\n"));
  EXPECT_THAT(shown, ::testing::EndsWith("down, in use\nbox: unwatched\n"));
}

TEST(Nodes, SayWhoseJobsAloneTheyStart) {
  std::string nodes = R"({"name":"box","state":"up","only_user":null,"slots":[]})";
  for (int i = 0; i < 10; ++i)
    nodes += fmt::format(R"(,{{"name":"p{}","state":"up","only_user":"ann","slots":[]}})", i);
  nodes += R"(,{"name":"laptop","state":"up","only_user":"bob","slots":[]})";
  const FakeServer server(always(R"({"nodes":[)" + nodes + "]}"));
  const auto shown = run_words(server, {"nodes"}).out;
  EXPECT_THAT(shown, HasSubstr("p0, p1, p2, p3, p4, p5, p6, p7 start only jobs of ann, and so do 2 "
                               "more\n"));
  EXPECT_THAT(shown, HasSubstr("\nlaptop starts only jobs of bob\n"));
}

TEST(Nodes, ShowWhereTheyStand) {
  const FakeServer server(always(
      R"({"nodes":[{"name":"box","rack":"r1","switch":null,"labels":{"disk":"nvme","team":"a"},
        "slots":[{"index":1,"kind":"gpu","model":"H100","state":"free","island":1,"numa":2}]}]})"));
  EXPECT_EQ(run_words(server, {"nodes", "-o", "wide"}).out,
            "NODE  RACK  SWITCH  SLOT  KIND  MODEL  MEMORY  ISLAND  NUMA  STATE  JOB  RANK  UUID  "
            "LABELS            NOTE\n"
            "box   r1    -          1  gpu   H100        -       1     2  free     -     -  -     "
            "disk=nvme,team=a\n");
}

TEST(Show, SaysWhereAJobMayStand) {
  const FakeServer server(always(R"({"id": 7, "name": "x", "state": "PENDING",
    "mesh": {"tensor": 2, "pipeline": 2}, "devices": ["h100", "a100"], "exclusive": true,
    "affinity": ["label:disk=nvme"], "anti_affinity": ["job:prep*~10m"], "preemptible": false,
    "min_run_seconds": 600})"));
  const auto page = run_words(server, {"show", "7"}).out;
  EXPECT_THAT(page, HasSubstr("  Mesh        tensor 2, pipeline 2\n"));
  EXPECT_THAT(page, HasSubstr("  Devices     h100, a100\n"));
  EXPECT_THAT(page, HasSubstr("  Affinity    near label:disk=nvme, away from job:prep*~10m\n"));
  EXPECT_THAT(page, HasSubstr("  Sharing     shares its nodes with no other job, is never stopped "
                              "for another job\n"));
  EXPECT_THAT(page, HasSubstr("  Limits      at least 10m00s\n"));
}

TEST(Users, AreListedWithTheirSums) {
  const FakeServer server(always(
      R"({"users":[{"user":"ann","jobs":12,"waiting":1,"running":2,"slots":6,"waited_seconds":90,
      "slot_seconds":5400,"lost_slot_seconds":{"preemption":360,"resize":0,"failure":0}}]})"));
  const auto lines = run_words(server, {"users"}).out;
  EXPECT_THAT(lines, HasSubstr("USER  JOBS  WAITING  RUNNING  SLOTS  WAITED  SLOT-HOURS"));
  EXPECT_THAT(lines, HasSubstr("ann     12        1        2      6   1m30s         1.5"));
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/users"));
}

TEST(Events, ArePrintedFromWhereAsked) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target.find("from=12&") == std::string::npos)
      return FakeAnswer{R"({"events":[],"next":14})"};
    return FakeAnswer{R"({"events":[{"seq":12,"at":0,"kind":"job_submitted","job":7},
      {"seq":13,"at":0,"kind":"plan","policy":"fifo","changes":[{"kind":"start","job":7,"workers":2,"reason":"free"}]}],
      "next":14})"};
  });
  const auto lines = run_words(server, {"events", "--from", "12"}).out;
  EXPECT_THAT(lines, HasSubstr("job_submitted   job 7\n"));
  EXPECT_THAT(lines, HasSubstr("plan            fifo: start job 7 with 2 workers (free)\n"));
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/events?from=12&limit=1000",
                                        "GET /v1/events?from=14&limit=1000"));
}

TEST(Events, TellAMetTierOfATargetOnALineOfItsOwn) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target.find("from=0&") == std::string::npos)
      return FakeAnswer{R"({"events":[],"next":2})"};
    return FakeAnswer{R"({"events":[{"seq":1,"at":0,"kind":"progress","job":7,"generation":2,
      "progress":{"metrics":{"accuracy":0.96}},"target_reached":true}],"next":2})"};
  });
  const auto lines = run_words(server, {"events"}).out;
  EXPECT_THAT(lines, HasSubstr("progress        job 7, generation 2, accuracy 0.96\n"));
  EXPECT_THAT(lines, HasSubstr("target_reached  job 7\n"));
}

TEST(Events, CountWhatALineHasNoRoomFor) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target.find("from=0&") == std::string::npos)
      return FakeAnswer{R"({"events":[],"next":2})"};
    return FakeAnswer{R"({"events":[{"seq":1,"at":0,"kind":"node_up","node":"n1",
      "slots":[{"index":0},{"index":1}],"labels":["fast","new"]}],"next":2})"};
  });
  EXPECT_THAT(run_words(server, {"events"}).out,
              HasSubstr("node_up         node n1, slots 2, labels [\"fast\",\"new\"]\n"));
}

TEST(Events, GoOnPastPagesThatHoldNothingForTheReader) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.target.find("from=0&") != std::string::npos)
      return FakeAnswer{R"({"events":[],"next":1001})"};
    if (request.target.find("from=1001&") != std::string::npos)
      return FakeAnswer{R"({"events":[{"seq":1001,"at":0,"kind":"node_down"}],"next":1002})"};
    return FakeAnswer{R"({"events":[],"next":1002})"};
  });
  EXPECT_THAT(run_words(server, {"events"}).out, HasSubstr("  1001  "));
}

TEST(Events, GoOnAfterALostStreamWithoutRepeating) {
  int streams = 0;
  const FakeServer server([&](const FakeRequest&) {
    if (streams++ == 0) {
      return FakeAnswer{"id: 1\ndata: {\"seq\":1,\"kind\":\"a\"}\n\nid: 2\ndata: {\"seq\":2,\"ki",
                        200, FakeAnswer::Kind::events};
    }
    if (streams == 2) {
      return FakeAnswer{"data: {\"seq\":1,\"kind\":\"a\"}\n\ndata: {\"seq\":2,\"kind\":\"b\"}\n\n",
                        200, FakeAnswer::Kind::events};
    }
    return fake_error(403, "forbidden", "Enough.");
  });
  const auto result = run_words(server, {"events", "-f", "-o", "json"});
  EXPECT_EQ(result.out, "{\"seq\":1,\"kind\":\"a\"}\n{\"seq\":2,\"kind\":\"b\"}\n");
  EXPECT_EQ(result.code, 77);
  EXPECT_THAT(server.log(),
              ElementsAre("GET /v1/events?from=0&follow=1", "GET /v1/events?from=2&follow=1",
                          "GET /v1/events?from=3&follow=1"));
}

TEST(Down, SaysWhatStillRuns) {
  const FakeServer server(always(R"({"running":[5,7]})"));
  EXPECT_THAT(run_words(server, {"down"}).out,
              StartsWith("The server stopped. Jobs 5 and 7 still run;"));
  EXPECT_EQ(server.requests().back().body, R"({"jobs":false})");
  (void)run_words(server, {"down", "--jobs"});
  EXPECT_EQ(server.requests().back().body, R"({"jobs":true})");
}

TEST(Anything, WithoutAServerSaysHowToStartOne) {
  if (std::filesystem::exists(kSystemState)) GTEST_SKIP() << "a server is installed here";
  const TestDirectory empty;
  const auto result = run_words({"queue", "--server", empty.path()});
  EXPECT_EQ(result.code, 69);
  EXPECT_EQ(result.err, "paceline: No Paceline server answers at " + empty.path() +
                            "/paceline.sock.\n          Start one with 'paceline up'.\n");
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(Anything, ThatIsNotPacelineIsCalledSo) {
  const FakeServer server(always("<html>"));
  EXPECT_EQ(run_words(server, {"show", "7"}).code, 69);
}

}  // namespace
}  // namespace paceline
