#include "cli/words/trace_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace paceline {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Of a rank of two in generation 3, whose clock shows 1 s at the beginning, and is 100 us behind.
TimelinePiece piece(std::int32_t rank) {
  TimelinePiece piece;
  piece.attempt = 1;
  piece.born = 2;
  piece.node = rank == 0 ? "box" : "gpu-3";
  piece.rank = rank;
  piece.size = 2;
  piece.generation = 3;
  piece.offset_us = rank == 0 ? 0 : 100;
  piece.uncertainty_us = rank == 0 ? 0 : 7;
  piece.wall_us = 1'000'000'000;
  piece.from_us = 1'000'000;
  return piece;
}

class TraceTextTest : public ::testing::Test {
 protected:
  // All of the trace.
  Json end() { return Json::parse(text_ + trace_.end()); }
  void add(std::int32_t number, TimelinePiece piece) {
    text_ += trace_.add(number, std::move(piece));
  }
  static std::vector<Json> spans_of(const Json& trace, std::string_view name) {
    std::vector<Json> found;
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "X" && event["name"] == name) found.push_back(event);
    return found;
  }

  TraceText trace_{{.job = 7}};
  std::string text_;
};

TEST_F(TraceTextTest, AllRanksAreOnOneClock) {
  for (const std::int32_t rank : {0, 1}) {
    auto told = piece(rank);
    told.spans = {{"compute", 12, 500, 250}};
    told.beside = {{"write", 10, 0, 4}};
    told.ended = true;
    add(rank, told);
  }
  const auto trace = end();
  const auto computed = spans_of(trace, "compute");
  ASSERT_EQ(computed.size(), 2U);
  EXPECT_EQ(computed[0],
            Json::parse(R"({"ph": "X", "pid": 1, "tid": 1, "ts": 1001000500, "dur": 250,
      "name": "compute", "args": {"step": 12, "generation": 3, "rank": 0}})"));
  EXPECT_EQ(computed[1]["ts"], 1'001'000'600);
  EXPECT_EQ(computed[1]["pid"], 2);
  EXPECT_EQ(spans_of(trace, "write")[0]["tid"], 2);
  EXPECT_EQ(trace["otherData"], Json::parse(R"({"job": 7, "stalled": null, "clocks": [
      {"pid": 1, "rank": 0, "node": "box", "attempt": 1, "generation": 3, "offset_us": 0, "uncertainty_us": 0},
      {"pid": 2, "rank": 1, "node": "gpu-3", "attempt": 1, "generation": 3, "offset_us": 100,
       "uncertainty_us": 7}]})"));
}

TEST_F(TraceTextTest, AProcessKeepsItsTracksWhereItsRankChanges) {
  add(2, piece(1));
  auto later = piece(0);
  later.generation = 4;
  later.spans = {{"resize", 12, 0, 5}};
  add(2, later);
  auto anew = piece(2);
  anew.attempt = 2;
  add(2, anew);
  const auto trace = end();
  std::vector<std::string> names;
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"rank 1 on gpu-3 (log 2)", "rank 0 on box (log 2)",
                                             "rank 2 on gpu-3, attempt 2"}));
  EXPECT_EQ(spans_of(trace, "resize")[0]["pid"], 1);
  EXPECT_EQ(trace["otherData"]["clocks"].size(), 3U);
}

TEST_F(TraceTextTest, RanksThatOneWorkerStartedAreProcessesOfTheirOwn) {
  for (const std::int32_t rank : {0, 1, 0, 1}) {
    auto told = piece(rank);
    told.pid = 4711 + static_cast<std::uint32_t>(rank);
    told.spans = {{"compute", 12, 0, 5}};
    add(0, told);
  }
  const auto computed = spans_of(end(), "compute");
  ASSERT_EQ(computed.size(), 4U);
  for (const auto& span : computed) EXPECT_EQ(span["pid"], span["args"]["rank"].get<int>() + 1);
}

TEST_F(TraceTextTest, WhatGoesOnIsToldOnceAsFarAsItIsKnown) {
  auto told = piece(0);
  told.at_us = 100;
  told.open = {{"compute", 12, 20, 0}};
  add(0, told);
  told.at_us = 300;
  told.open = {{"evaluation", 12, 50, 0}, {"others", 12, 250, 0}};
  told.spans = {{"compute", 12, 20, 30}};
  add(0, told);
  const auto trace = end();
  EXPECT_EQ(spans_of(trace, "compute").size(), 1U);
  EXPECT_EQ(spans_of(trace, "compute (not ended)").size(), 0U);
  EXPECT_EQ(spans_of(trace, "evaluation (not ended)").at(0)["dur"], 250);
  EXPECT_EQ(spans_of(trace, "others (not ended)").at(0)["dur"], 50);
}

TEST_F(TraceTextTest, LeavesOutWhatEndedBefore) {
  TraceText trace({.job = 7, .since_us = 1'001'000'100});
  auto told = piece(0);
  told.spans = {{"data", 1, 0, 50}, {"compute", 1, 50, 100}, {"others", 1, 150, 10}};
  told.ended = true;
  told.at_us = 200;
  std::string text = trace.add(0, told);
  text += trace.end();
  const auto read = Json::parse(text);
  EXPECT_TRUE(spans_of(read, "data").empty());
  EXPECT_EQ(spans_of(read, "compute").size(), 1U);
  EXPECT_EQ(spans_of(read, "others").size(), 1U);
  EXPECT_EQ(trace.newest_us(), 1'001'000'200);
}

TEST_F(TraceTextTest, NamesWhomTheOthersWaitFor) {
  const auto doing = [&](std::int32_t rank, const char* what, std::int64_t seconds) {
    auto told = piece(rank);
    told.size = 3;
    told.open = {{what, 57, 0, 0}};
    told.at_us = seconds * 1'000'000;
    return told;
  };
  add(0, doing(0, "gradients", 35));
  add(1, doing(1, "compute", 36));
  add(2, doing(2, "others", 34));
  EXPECT_EQ(
      trace_.stalled(),
      "When they told last, ranks 0 and 2 had waited for others for 35s (gradients and others); "
      "rank 1 on gpu-3 had been in compute of step 57 for 36s.");
  EXPECT_EQ(end()["otherData"]["stalled"], trace_.stalled());
  add(1, doing(1, "gradients", 37));
  EXPECT_EQ(trace_.stalled(), "") << "all wait";
  add(1, doing(1, "compute", 2));
  add(0, doing(0, "gradients", 2));
  add(2, doing(2, "others", 2));
  EXPECT_EQ(trace_.stalled(), "") << "not for long";
}

TEST_F(TraceTextTest, ARankThatTellsNothingHoldsUpTheOthersWhateverItDidBefore) {
  auto told = piece(0);
  told.open = {{"gradients", 57, 0, 0}};
  told.at_us = 40'000'000;
  add(0, told);
  told = piece(1);
  told.open = {{"others", 56, 999'000, 0}};
  told.at_us = 1'000'000;
  add(1, told);
  EXPECT_EQ(
      trace_.stalled(),
      "When they told last, rank 0 had waited for others for 40s (gradients); rank 1 on gpu-3 had "
      "told nothing for 38s, and was in others of step 56 before.");
}

TEST(TraceText, OfOneRankSaysNothingOfOthers) {
  TraceText trace({.job = 7, .all_ranks = false});
  auto told = piece(0);
  told.open = {{"compute", 57, 0, 0}};
  told.at_us = 60'000'000;
  (void)trace.add(0, told);
  told = piece(1);
  told.open = {{"gradients", 57, 0, 0}};
  told.at_us = 60'000'000;
  (void)trace.add(1, told);
  EXPECT_EQ(trace.stalled(), "");
}

}  // namespace
}  // namespace paceline
