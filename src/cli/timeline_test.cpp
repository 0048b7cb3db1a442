#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/fake_server.hpp"
#include "wire/timeline.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string timeline_chunk(int rank, std::size_t offset, const std::string& text) {
  return Json{{"rank", rank}, {"offset", offset}, {"next", offset + text.size()}, {"text", text}}
      .dump();
}

std::string page(const std::vector<std::string>& chunks) {
  return fmt::format(R"({{"chunks":[{}]}})", fmt::join(chunks, ","));
}

// That a rank computed from second to second.
std::string told(std::int32_t rank, std::int64_t from_s, std::int64_t to_s) {
  TimelinePiece piece;
  piece.attempt = 1;
  piece.rank = rank;
  piece.size = 2;
  piece.from_us = from_s * 1'000'000;
  piece.at_us = (to_s - from_s) * 1'000'000;
  piece.spans = {{"compute", 1, 0, piece.at_us}};
  return timeline_line(piece);
}

// Job 7, whose timeline gives these answers, over and over.
class Timelines {
 public:
  explicit Timelines(std::vector<std::string> answers,
                     std::string job = R"({"id":7,"started_at":5})")
      : server_([answers = std::move(answers), job = std::move(job),
                 at = std::size_t{0}](const FakeRequest& request) mutable {
          if (request.target == "/v1/jobs/7") return FakeAnswer{job};
          return FakeAnswer{answers[at++ % answers.size()]};
        }) {}
  CliResult run(std::vector<std::string> words = {}) {
    words.insert(words.begin(), "timeline");
    words.emplace_back("7");
    return run_words(server_, words);
  }
  [[nodiscard]] std::vector<std::string> asked() const { return server_.log(); }

 private:
  FakeServer server_;
};

std::vector<Json> spans_in(const CliResult& result) {
  std::vector<Json> spans;
  const auto trace = Json::parse(result.out);
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") spans.push_back(event);
  return spans;
}

TEST(Timeline, IsATraceOfAllPagesAndRanks) {
  const auto zero = told(0, 1, 2), one = told(1, 1, 2), more = told(0, 2, 3);
  const std::string removed = "--- 70000 bytes were removed ---\n";
  const auto cut = zero.size() / 2;
  const std::string long_line(70'000, ' ');
  Timelines timelines({page({timeline_chunk(0, 0, long_line + "\n" + zero.substr(0, cut)),
                             timeline_chunk(1, 0, removed + one)}),
                       page({timeline_chunk(0, 70'001 + cut, zero.substr(cut) + more)})});
  const auto result = timelines.run();
  EXPECT_EQ(result.code, 0) << result.err;
  const auto spans = spans_in(result);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_THAT(timelines.asked(),
              ElementsAre("GET /v1/jobs/7", "GET /v1/jobs/7/timeline",
                          fmt::format("GET /v1/jobs/7/timeline?offset=0:{},1:{}", 70'001 + cut,
                                      removed.size() + one.size())));
}

TEST(Timeline, OfOneRankAndTheLastOfIt) {
  Timelines timelines(
      {page({timeline_chunk(1, 0, told(1, 1, 2) + told(1, 2, 60) + told(1, 60, 62))})});
  const auto result = timelines.run({"--rank", "1", "--last", "10s"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(spans_in(result).size(), 2U) << "of what went on then, too";
  EXPECT_EQ(timelines.asked().back(), "GET /v1/jobs/7/timeline?rank=1");
}

TEST(Timeline, SaysWhyThereIsNone) {
  Timelines none({page({})});
  const auto result = none.run();
  EXPECT_EQ(result.code, 66);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("Job 7 has no timeline: none of its workers has told where"));
  EXPECT_THAT(none.run({"--rank", "3"}).err, HasSubstr("Rank 3 of job 7 has no timeline"));
  Timelines waits({page({})}, R"({"id":7,"started_at":null})");
  EXPECT_THAT(waits.run().err, HasSubstr("it has not started"));
  EXPECT_THAT(none.run({"--last", "10"}).err, HasSubstr("--last"));
}

}  // namespace
}  // namespace paceline
