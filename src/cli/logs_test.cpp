#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <utility>

#include "cli/client/interrupt.hpp"
#include "cli/fake_server.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_THAT(logs.run({"--tail", "5"}).err, HasSubstr("--tail: '5' is not an amount of memory"));
}

// A job that is followed by `run`: submitted, then these answers for its log, then over.
CliResult run_job(std::vector<FakeAnswer> logs, const std::string& last) {
  const FakeServer server(
      [logs = std::move(logs), last, at = std::size_t{0}](const FakeRequest& request) mutable {
        if (request.method == "POST") return FakeAnswer{R"({"id":7})", 201, FakeAnswer::Kind::body};
        if (request.target.find("/logs") != std::string::npos) return logs.at(at++);
        if (request.target.find("/wait") != std::string::npos) return FakeAnswer{last};
        return FakeAnswer{R"({"id":7,"state":"RUNNING","reason":"runs on 1 slot"})"};
      });
  return run_words(server, {"run", "--", "true"});
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
