#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cli/client/interrupt.hpp"
#include "cli/fake_server.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string chunk(int rank, std::size_t offset, const std::string& text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  return fmt::format(R"({{"rank":{},"offset":{},"next":{},"text":"{}"}})", rank, offset,
                     offset + text.size(), quoted);
}

std::string event(const std::string& data) { return "event: chunk\ndata: " + data + "\n\n"; }

FakeAnswer stream(const std::string& text) { return {text, 200, FakeAnswer::Kind::events}; }

constexpr const char* kEnd = "event: end\ndata: {}\n\n";

// Job 7 with up to `max` workers, whose logs give one answer after the other.
class Logs {
 public:
  Logs(int max, std::vector<FakeAnswer> answers)
      : server_([max, answers = std::move(answers),
                 at = std::size_t{0}](const FakeRequest& request) mutable {
          if (request.target == "/v1/jobs/7")
            return FakeAnswer{fmt::format(R"({{"id":7,"max":{}}})", max)};
          if (at < answers.size()) return answers[at++];
          return fake_error(500, "internal", "asked too often");
        }) {}
  CliResult run(std::vector<std::string> words) {
    words.insert(words.begin(), "logs");
    words.emplace_back("7");
    return run_words(server_, words);
  }
  [[nodiscard]] std::vector<std::string> asked() const {
    auto log = server_.log();
    log.erase(log.begin());  // the job itself
    return log;
  }

 private:
  FakeServer server_;
};

TEST(Logs, ArePrintedPageByPage) {
  const std::string page(70'000, 'x');
  Logs logs(1, {FakeAnswer{R"({"chunks":[)" + chunk(0, 0, page) + "]}"},
                FakeAnswer{R"({"chunks":[)" + chunk(0, 70'000, "end\n") + "]}"}});
  EXPECT_EQ(logs.run({}).out, page + "end\n");
  EXPECT_THAT(logs.asked(),
              ElementsAre("GET /v1/jobs/7/logs", "GET /v1/jobs/7/logs?offset=0:70000"));
}

TEST(Logs, NameTheRankOfEachLine) {
  Logs logs(2, {FakeAnswer{R"({"chunks":[)" + chunk(0, 0, "a\nb") + "," + chunk(1, 0, "c\n") + "," +
                           chunk(0, 3, "b\nd") + "]}"}});
  EXPECT_EQ(logs.run({}).out, "[0] a\n[1] c\n[0] bb\n[0] d\n");
}

TEST(Logs, OfOneRankAreAsTheyAre) {
  Logs logs(2, {FakeAnswer{R"({"chunks":[)" + chunk(1, 5, "a\nb") + "]}"}});
  EXPECT_EQ(logs.run({"--rank", "1", "--tail", "4K"}).out, "a\nb");
  EXPECT_THAT(logs.asked(), ElementsAre("GET /v1/jobs/7/logs?rank=1&tail_bytes=4096"));
}

constexpr const char* kNoMore = R"({"chunks":[]})";

TEST(Logs, HaveATailInLines) {
  Logs logs(
      2, {FakeAnswer{R"({"chunks":[)" + chunk(0, 90, "a\nb\nc") + "," + chunk(1, 0, "d\n") + "]}"},
          FakeAnswer{R"({"chunks":[)" + chunk(0, 95, "c\n") + "]}"}, FakeAnswer{kNoMore},
          FakeAnswer{kNoMore}});
  EXPECT_EQ(logs.run({"--tail", "2"}).out, "[0] b\n[0] cc\n[1] d\n");
  EXPECT_THAT(logs.asked(), ElementsAre("GET /v1/jobs/7/logs?tail_bytes=16384",
                                        "GET /v1/jobs/7/logs?tail_bytes=16384&offset=0:95,1:2",
                                        "GET /v1/jobs/7/logs?tail_bytes=16384&offset=0:97,1:2",
                                        "GET /v1/jobs/7/logs?offset=0:97,1:2"));
}

std::string chunk_at(int rank, std::size_t offset, const std::string& text, double at) {
  auto timed = chunk(rank, offset, text);
  timed.insert(timed.size() - 1, fmt::format(R"(,"at":{})", at));
  return timed;
}

TEST(Logs, HaveATailInTheOrderOfTheirTimes) {
  Logs logs(2, {FakeAnswer{R"({"chunks":[)" + chunk_at(0, 0, "a\nb\n", 10) + "," +
                           chunk_at(1, 0, "c\n", 20) + "," + chunk_at(0, 4, "d\n", 30) + "]}"},
                FakeAnswer{kNoMore}, FakeAnswer{kNoMore}});
  EXPECT_EQ(logs.run({"--tail", "2"}).out, "[0] b\n[1] c\n[0] d\n");
}

TEST(Logs, BearTimesWhereThatIsAsked) {
  Logs logs(2,
            {FakeAnswer{R"({"chunks":[)" + chunk_at(0, 0, "a\nb", 1763661600.9) + "," +
                        chunk_at(1, 0, "c\n", 1763661601) + "," +
                        chunk_at(0, 3, "b\nd\n", 1763661602) + "," + chunk(1, 2, "e\n") + "]}"}});
  EXPECT_EQ(logs.run({"-t"}).out,
            "2025-11-20T18:00:00Z [0] a\n"
            "2025-11-20T18:00:01Z [1] c\n"
            "2025-11-20T18:00:00Z [0] bb\n"
            "2025-11-20T18:00:02Z [0] d\n"
            "- [1] e\n");
  EXPECT_THAT(logs.asked(), ElementsAre("GET /v1/jobs/7/logs?times=1"));
}

TEST(Logs, BeginWhereSomebodyAsksForWhatWasWrittenSince) {
  Logs logs(1, {FakeAnswer{R"({"chunks":[)" + chunk(0, 5, "a\n") + "]}"}});
  EXPECT_EQ(logs.run({"--since", "2025-11-20T18:00:00Z"}).out, "a\n");
  EXPECT_THAT(logs.asked(), ElementsAre("GET /v1/jobs/7/logs?since=1763661600"));
  EXPECT_THAT(logs.run({"--since", "yesterday"}).err,
              HasSubstr("--since: 'yesterday' is neither a span nor a date.\n"
                        "          Write 2h or 1d"));
}

TEST(Logs, LookFurtherBackForATail) {
  Logs logs(1, {FakeAnswer{R"({"chunks":[)" + chunk(0, 90, "long\n") + "]}"}, FakeAnswer{kNoMore},
                FakeAnswer{R"({"chunks":[)" + chunk(0, 70, "one\nbefore\nit\nlong\n") + "]}"},
                FakeAnswer{kNoMore}, FakeAnswer{kNoMore}});
  EXPECT_EQ(logs.run({"--tail", "3"}).out, "before\nit\nlong\n");
  EXPECT_EQ(logs.asked().at(2), "GET /v1/jobs/7/logs?tail_bytes=131072");
}

// What is read may begin within a line, where that is long.
TEST(Logs, TakeTheEndOfALineForNoLine) {
  Logs logs(
      1, {FakeAnswer{R"({"chunks":[)" + chunk(0, 90, "xx\nend\n") + "]}"}, FakeAnswer{kNoMore},
          FakeAnswer{R"({"chunks":[)" + chunk(0, 0, "a\nxxxx\nend\n") + "]}"}, FakeAnswer{kNoMore},
          FakeAnswer{kNoMore}});
  EXPECT_EQ(logs.run({"--tail", "2"}).out, "xxxx\nend\n");
}

TEST(Logs, FollowFromBehindTheTail) {
  Logs logs(1, {FakeAnswer{R"({"chunks":[)" + chunk(0, 0, "a\nb\n") + "]}"}, FakeAnswer{kNoMore},
                stream(event(chunk(0, 4, "c\n")) + kEnd)});
  EXPECT_EQ(logs.run({"-f", "--tail", "1"}).out, "b\nc\n");
  EXPECT_EQ(logs.asked().back(), "GET /v1/jobs/7/logs?offset=0:4&follow=1");
}

TEST(Logs, FollowOverRestartsWithoutLossOrRepetition) {
  Logs logs(2, {stream(event(chunk(0, 0, "a\n")) + event(chunk(1, 0, "b\n")) +
                       "event: chunk\ndata: {\"ra"),
                FakeAnswer{"", 200, FakeAnswer::Kind::hang_up},
                fake_error(503, "unavailable", "Recovering."),
                stream(event(chunk(0, 0, "a\n")) + event(chunk(0, 2, "c\n"))),
                stream(event(chunk(1, 0, "b\nd\n")) + kEnd)});
  const auto result = logs.run({"-f"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "[0] a\n[1] b\n[0] c\n[1] d\n");
  EXPECT_EQ(result.err,
            "paceline: The server went away; waiting for it to come back. Jobs go on meanwhile.\n"
            "paceline: The server is back.\n");
  EXPECT_THAT(logs.asked(), ElementsAre("GET /v1/jobs/7/logs?follow=1",
                                        "GET /v1/jobs/7/logs?offset=0:2,1:2&follow=1",
                                        "GET /v1/jobs/7/logs?offset=0:2,1:2&follow=1",
                                        "GET /v1/jobs/7/logs?offset=0:2,1:2&follow=1",
                                        "GET /v1/jobs/7/logs?offset=0:4,1:2&follow=1"));
}

TEST(Logs, FollowEndsWithTheJobGone) {
  Logs logs(1, {fake_error(404, "not_found", "There is no job 7.")});
  EXPECT_EQ(logs.run({"-f"}).code, 66);
}

TEST(Logs, RefuseBadRanks) {
  Logs logs(1, {});
  EXPECT_THAT(logs.run({"--rank", "x"}).err, HasSubstr("--rank: 'x' is not a whole number"));
  EXPECT_THAT(logs.run({"--tail", "5 lines"}).err,
              HasSubstr("--tail: '5 lines' is neither a number of lines nor a size.\n"
                        "          Write 300 for so many lines"));
  EXPECT_THAT(logs.run({"--tail", "100001"}).err,
              HasSubstr("--tail: '100001' is not a whole number from 0 to 100000"));
}

// Of job 7: rank 1 failed, and rank 0 was ended for it.
constexpr const char* kEvents = R"({"events":[
  {"kind":"worker_ended","job":6,"generation":1,"rank":5,
   "ending":{"cause":"exited","exit_code":1}},
  {"kind":"worker_ended","job":7,"generation":1,"rank":1,
   "ending":{"cause":"exited","exit_code":3}},
  {"kind":"worker_ended","job":7,"generation":1,"rank":0,
   "ending":{"cause":"gang_failed"}}]})";

// A job that is followed by `run`: submitted, then these answers for its log, then over.
CliResult run_job(std::vector<FakeAnswer> logs, const std::string& last,
                  const std::vector<std::string>& options = {}, const std::string& input = {}) {
  const FakeServer server(
      [logs = std::move(logs), last, at = std::size_t{0}](const FakeRequest& request) mutable {
        if (request.method == "POST") return FakeAnswer{R"({"id":7})", 201, FakeAnswer::Kind::body};
        if (request.target.find("/logs") != std::string::npos) return logs.at(at++);
        if (request.target.find("/wait") != std::string::npos) return FakeAnswer{last};
        if (request.target == "/v1/server") return FakeAnswer{R"({"seq":2000})"};
        if (request.target == "/v1/events?from=1001&limit=1000") return FakeAnswer{kEvents};
        return FakeAnswer{R"({"id":7,"state":"RUNNING","reason":"runs on 1 slot"})"};
      });
  std::vector<std::string> words = {"run"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "true"});
  return run_words(server, words, input);
}

constexpr const char* kCompleted = R"({"id":7,"state":"COMPLETED","ending":"exited"})";

TEST(Run, HidesReportsUnlessAsked) {
  const std::string text = R"(a\n{\"paceline\": {\"step\": 1}}\n\r 1%\r 2%\nb\n)";
  const auto all =
      stream(event(fmt::format(R"({{"rank":0,"offset":0,"next":90,"text":"{}"}})", text)) + kEnd);
  EXPECT_EQ(run_job({all}, kCompleted).out, "a\n 2%\nb\n");
  EXPECT_EQ(run_job({all}, kCompleted, {"--reports"}).out,
            "a\n{\"paceline\": {\"step\": 1}}\n 2%\nb\n");
}

TEST(Run, TellsWhatTheFailingRankWroteLast) {
  const std::string others(40, '\n');
  const auto result = run_job(
      {stream(event(chunk(1, 0, "no such file\n")) + event(chunk(0, 0, others)) + kEnd)},
      R"({"id":7,"state":"FAILED","exit_code":3,"ending":"exited with code 3"})", {"--slots", "2"});
  EXPECT_THAT(result.err, HasSubstr("paceline: Rank 1 failed. It wrote last:\n"
                                    "  [1] no such file\n"
                                    "paceline: Job 7 is FAILED: exited with code 3.\n"));
}

TEST(Run, SaysThatNobodyReadsItsInput) {
  const auto with = [](const std::string& input) {
    return run_job({stream(kEnd)}, kCompleted, {}, input).err;
  };
  EXPECT_THAT(with("data\n"), HasSubstr("paceline: Standard input is not handed to the job"));
  EXPECT_THAT(with(""), Not(HasSubstr("Standard input")));
}

TEST(Run, FollowsTheLogAndExitsAsTheJobDid) {
  const auto result = run_job(
      {stream(event(chunk(0, 0, "epoch 1\n"))), stream(event(chunk(0, 8, "epoch 2\n")) + kEnd)},
      R"({"id":7,"state":"FAILED","exit_code":3,"ending":"exited with 3"})");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "epoch 1\nepoch 2\n");
  EXPECT_EQ(result.err,
            "paceline: Submitted job 7.\n"
            "paceline: Job 7 is RUNNING: runs on 1 slot.\n"
            "paceline: Job 7 is FAILED: exited with 3.\n");
}

TEST(Run, TellsAWarningOnce) {
  int looks = 0;
  const FakeServer server([&looks](const FakeRequest& request) {
    if (request.method == "POST") return FakeAnswer{R"({"id":7})", 201, FakeAnswer::Kind::body};
    if (request.target.find("/logs") != std::string::npos)
      return FakeAnswer{"", 200, FakeAnswer::Kind::quiet};
    if (++looks == 2) Interrupt::raise(SIGINT);
    return FakeAnswer{R"({"id":7,"state":"RUNNING",
        "warnings":[{"code":"no_rendezvous","text":"none of its 2 workers has met"}]})"};
  });
  const auto result = run_words(server, {"run", "--slots", "2", "--", "true"});
  const auto log = server.log();
  EXPECT_EQ(std::ranges::count(log, "GET /v1/jobs/7"), 2);
  const std::string told = "paceline: Job 7: none of its 2 workers has met.\n";
  const auto at = result.err.find(told);
  ASSERT_NE(at, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(told, at + 1), std::string::npos) << result.err;
}

TEST(Run, LeavesTheJobToItselfAfterAnInterrupt) {
  const FakeServer server([](const FakeRequest& request) {
    if (request.method == "POST") return FakeAnswer{R"({"id":7})", 201, FakeAnswer::Kind::body};
    if (request.target.find("/logs") == std::string::npos)
      return FakeAnswer{R"({"id":7,"state":"RUNNING"})"};
    Interrupt::raise(SIGINT);
    return FakeAnswer{event(chunk(0, 0, "epoch 1\n")), 200, FakeAnswer::Kind::quiet};
  });
  const auto result = run_words(server, {"run", "--", "true"});
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err,
              HasSubstr("Job 7 goes on. Come back with 'paceline logs -f 7', end it with "
                        "'paceline cancel 7'.\n"));
}

TEST(Watch, PrintsWhatChanged) {
  int asked = 0;
  const FakeServer server([&](const FakeRequest&) {
    if (++asked == 8) Interrupt::raise(SIGINT);
    const auto* name = asked < 5 ? "first" : "second";
    return FakeAnswer{fmt::format(R"({{"jobs":[{{"id":7,"name":"{}"}}],"next":null}})", name)};
  });
  const auto result = run_words(server, {"queue", "-w", "-o", "json", "--interval", "1ms"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out,
            "{\"jobs\":[{\"id\":7,\"name\":\"first\",\"expected_start\":null,"
            "\"expected_end\":null}],\"next\":null}\n"
            "{\"jobs\":[{\"id\":7,\"name\":\"second\",\"expected_start\":null,"
            "\"expected_end\":null}],\"next\":null}\n");
}

// `paceline attach 7` to a job whose terminal gives everything back.
CliResult attach(const std::string& input) {
  bool attached = false;
  int looks = 0;
  const FakeServer server([&](const FakeRequest& request) {
    if (request.target.ends_with("/attach")) {
      if (std::exchange(attached, true))
        return fake_error(409, "conflict", "Job 7 does not run now.");
      return FakeAnswer{"$ ", 101, FakeAnswer::Kind::tunnel};
    }
    const bool over = attached && ++looks > 1;
    return FakeAnswer{over ? R"({"id":7,"state":"COMPLETED","exit_code":0,"ending":"exited"})"
                           : R"({"id":7,"state":"RUNNING"})"};
  });
  return run_words(server, {"attach", "7"}, input);
}

TEST(Attach, IsThisTerminalUntilTheJobEnds) {
  const auto result = attach("ls\n");
  EXPECT_EQ(result.out, "$ ls\n");
  EXPECT_EQ(result.err, "paceline: Job 7 is COMPLETED: exited.\n");
  EXPECT_EQ(result.code, 0);
}

TEST(Attach, IsLeftByAKey) {
  const auto result = attach("a\x1d\x1d\x1d");
  EXPECT_THAT(result.err, HasSubstr("Job 7 goes on. Come back with 'paceline attach 7'"));
  EXPECT_EQ(result.code, 0);
}

}  // namespace
}  // namespace paceline
