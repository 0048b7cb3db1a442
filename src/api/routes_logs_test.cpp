#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/log_files.hpp"
#include "api/world_testing.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogsTest : public ::testing::Test {
 protected:
  void SetUp() override { client_.call("POST", "/v1/jobs", submission(R"({"workers": "2"})")); }

  Json chunks(std::string_view query) {
    const Reply reply = client_.get(fmt::format("/v1/jobs/1/logs?{}", query));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply)["chunks"];
  }
  void run() {
    while (parsed(client_.get("/v1/jobs/1"))["state"] != "RUNNING") {
    }
  }
  void follow(Client& follower, std::string_view query = "", std::string_view headers = "") {
    follower.send(fmt::format("GET /v1/jobs/1/logs?follow=1&{} HTTP/1.1\r\nHost: x\r\n{}\r\n",
                              query, headers));
    follower.until("\r\n\r\n");
  }
  // The next event that is no heartbeat.
  std::string event(Client& follower) {
    auto text = follower.until("\n\n");
    while (text.starts_with(":")) text = follower.until("\n\n");
    return text;
  }

  World world_;
  Client client_{world_.socket()};
};

TEST_F(LogsTest, ReadsPiecesByOffset) {
  EXPECT_THAT(chunks(""), IsEmpty());
  world_.log(1, 0, "one\ntwo");
  world_.log(1, 1, "other\n");
  const auto all = chunks("");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0],
            (Json{{"rank", 0}, {"offset", 0}, {"next", 7}, {"text", "one\ntwo"}, {"at", nullptr}}));
  EXPECT_EQ(chunks("rank=1")[0]["text"], "other\n");
  EXPECT_EQ(chunks("offset=0:4,1:6")[0]["text"], "two");
  EXPECT_EQ(chunks("offset=0:4,1:6").size(), 1U);
  EXPECT_THAT(chunks("offset=0:99,1:6"), IsEmpty());
}

TEST_F(LogsTest, TimelinesAreReadTheSameWay) {
  world_.log(1, 0, "a line\n");
  world_.log(1, timeline_of(0), "{}\n");
  world_.log(1, timeline_of(2), "{}\n[]\n");
  const auto timeline = [&](std::string_view query) {
    return parsed(client_.get(fmt::format("/v1/jobs/1/timeline?{}", query)))["chunks"];
  };
  ASSERT_EQ(timeline("").size(), 2U);
  EXPECT_EQ(timeline("offset=0:3")[0],
            (Json{{"rank", 2}, {"offset", 0}, {"next", 6}, {"text", "{}\n[]\n"}, {"at", nullptr}}));
  EXPECT_THAT(timeline("rank=1"), IsEmpty());
  EXPECT_EQ(chunks("").size(), 1U);
  EXPECT_EQ(chunks("")[0]["text"], "a line\n");
  EXPECT_EQ(client_.get("/v1/jobs/9/timeline").status, 404);
}

TEST_F(LogsTest, ReadsTheTailFromTheStartOfALine) {
  world_.log(1, 0, "first\nsecond\nthird\n");
  EXPECT_EQ(chunks("tail_bytes=8")[0]["text"], "third\n");
  EXPECT_EQ(chunks("tail_bytes=6")[0]["text"], "third\n");
  EXPECT_EQ(chunks("tail_bytes=1000")[0]["text"], "first\nsecond\nthird\n");
}

TEST_F(LogsTest, ReadsTheTailOfALastLineThatIsLonger) {
  world_.log(1, 0, "first\nein l\u00e4ngeres Ende\n");
  EXPECT_EQ(chunks("tail_bytes=5")[0]["text"], "Ende\n");
  EXPECT_EQ(chunks("tail_bytes=13")[0]["text"], "ngeres Ende\n") << "\u00e4 began before";
}

// Notes that a log was so long at that second (files/log_times.hpp).
void note_length(const World& world, int rank, std::uint64_t length, std::int64_t seconds) {
  const LogTime time{seconds * 1'000'000, length};
  std::ofstream(world.folder.path() / fmt::format("logs/1/rank{}.times", rank), std::ios::app)
      .write(reinterpret_cast<const char*>(&time), sizeof time);
}

TEST_F(LogsTest, TellsWhenWhatWasWritten) {
  world_.log(1, 0, "one\ntwo\n");
  world_.log(1, 1, "other\n");
  note_length(world_, 0, 4, 100);
  note_length(world_, 0, 8, 300);
  note_length(world_, 1, 6, 200);
  const auto all = chunks("");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["text"], "one\n");
  EXPECT_EQ(all[1],
            (Json{{"rank", 1}, {"offset", 0}, {"next", 6}, {"text", "other\n"}, {"at", 200}}));
  EXPECT_EQ(all[2]["at"], 300);
  EXPECT_EQ(chunks("rank=0").size(), 1U);
  EXPECT_EQ(chunks("rank=0&times=1").size(), 2U);
  EXPECT_EQ(chunks("since=150").size(), 2U);
  EXPECT_EQ(chunks("since=150")[0]["text"], "other\n");
}

TEST_F(LogsTest, APageIsBoundedAndSaysWhereToGoOn) {
  world_.log(1, 0, std::string(3 << 20, 'x'));
  std::string text;
  for (std::uint64_t at = 0; at < 3 << 20;) {
    const auto page = chunks(fmt::format("offset=0:{}", at));
    ASSERT_EQ(page.size(), 1U);
    text += page[0]["text"];
    at = page[0]["next"];
  }
  EXPECT_EQ(text.size(), 3U << 20);
}

TEST_F(LogsTest, MakesUtf8OfAnyBytes) {
  world_.log(1, 0, "caf\xC3\xA9 \xFF\n");
  EXPECT_EQ(chunks("")[0]["text"], "caf\xC3\xA9 \xEF\xBF\xBD\n");
  EXPECT_EQ(chunks("")[0]["next"], 8);
}

TEST_F(LogsTest, RefusesOffsetsThatAreNone) {
  for (const auto* bad :
       {"offset=x", "offset=0", "offset=0:", "offset=:1", "offset=0:1,,1:2", "offset=0:-1",
        "rank=x", "since=-1", "times=2", "rank=1024", "follow=2", "tail=1"}) {
    EXPECT_EQ(client_.get(fmt::format("/v1/jobs/1/logs?{}", bad)).status, 400) << bad;
  }
  EXPECT_THAT(client_.get("/v1/jobs/1/logs?rank=1024").body,
              HasSubstr("a whole number from 0 to 1023"));
}

TEST_F(LogsTest, FollowsWholeLinesUntilTheJobIsOver) {
  run();
  world_.log(1, 0, "one\ntw");
  Client follower(world_.socket());
  follow(follower);
  EXPECT_EQ(event(follower),
            "event: chunk\nid: 0:4\ndata: {\"rank\":0,\"offset\":0,\"next\":4,\"text\":\"one\\n\","
            "\"at\":null}\n\n");
  world_.log(1, 0, "o\nunfinished");
  EXPECT_EQ(event(follower),
            "event: chunk\nid: 0:8\ndata: {\"rank\":0,\"offset\":4,\"next\":8,\"text\":\"two\\n\","
            "\"at\":null}\n\n");
  world_.end_worker(1, 0, 0);
  world_.end_worker(1, 0, 1);
  EXPECT_THAT(event(follower), HasSubstr("\"text\":\"unfinished\""));
  EXPECT_EQ(event(follower),
            "event: end\nid: 0:18\ndata: {\"state\":\"COMPLETED\",\"exit_code\":0}\n\n");
  EXPECT_TRUE(follower.closed());
}

TEST_F(LogsTest, FollowsRanksThatAppearLater) {
  Client follower(world_.socket());
  follow(follower);
  run();
  world_.log(1, 1, "hello from 1\n");
  world_.loop.on([&] { world_.engine.progress(JobId{1}, 1, 0.5, world_.clock.now()); });
  EXPECT_THAT(event(follower), HasSubstr("hello from 1"));
}

TEST_F(LogsTest, AProgressBarIsShownWithoutNewlines) {
  world_.log(1, 0, "10%\r20%\r3");
  Client follower(world_.socket());
  follow(follower);
  EXPECT_THAT(event(follower), HasSubstr("\"text\":\"10%\\r20%\\r\""));
}

TEST_F(LogsTest, ResumesWithoutLossOrRepetition) {
  world_.log(1, 0, "one\n");
  world_.log(1, 1, "uno\n");
  Client first(world_.socket());
  follow(first);
  event(first);
  EXPECT_THAT(event(first), HasSubstr("id: 0:4,1:4\n"));
  first.close();
  world_.log(1, 0, "two\n");
  Client second(world_.socket());
  follow(second, "", "Last-Event-ID: 0:4,1:4\r\n");
  EXPECT_THAT(event(second), HasSubstr("\"offset\":4,\"next\":8,\"text\":\"two\\n\""));
}

TEST_F(LogsTest, ALongLogReachesASlowReaderWhole) {
  std::string line(999, 'x');
  for (int i = 0; i < 5'000; ++i) world_.log(1, 0, line + "\n");
  run();
  world_.end_worker(1, 0, 0);
  world_.end_worker(1, 0, 1);
  Client follower(world_.socket());
  follow(follower);
  const auto text = follower.rest();
  EXPECT_THAT(text, HasSubstr("\"next\":5000000,"));
  EXPECT_THAT(text, HasSubstr("event: end\n"));
}

TEST_F(LogsTest, EndsAtOnceForAJobThatIsOverWithoutALog) {
  run();
  client_.call("POST", "/v1/jobs/1/cancel", "");
  Client follower(world_.socket());
  follow(follower);
  EXPECT_EQ(event(follower), "event: end\ndata: {\"state\":\"CANCELLED\",\"exit_code\":null}\n\n");
}

TEST(LogFiles, PassesOverLinksAndOtherFiles) {
  const TempFolder folder;
  const auto logs = folder.path() / "logs" / "1";
  std::filesystem::create_directories(logs / "rank3.log");
  std::ofstream(folder.path() / "secret") << "secret";
  std::filesystem::create_symlink(folder.path() / "secret", logs / "rank0.log");
  std::ofstream(logs / "rank12.log") << "twelve";
  std::ofstream(logs / "rankx.log") << "x";
  const LogFiles files(folder.path(), JobId{1});
  EXPECT_THAT(files.ranks(), ::testing::ElementsAre(0, 3, 12));
  EXPECT_FALSE(files.read(0, 0, {100, LogCut::anywhere}).has_value());
  EXPECT_FALSE(files.read(3, 0, {100, LogCut::anywhere}).has_value());
  EXPECT_EQ(files.read(12, 0, {100, LogCut::anywhere})->text, "twelve");
}

TEST(LogFiles, SaysHowManyBytesWereRemoved) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "logs" / "1");
  const auto path = folder.path() / "logs/1/rank0.log";
  std::ofstream(path) << std::string(8192, 'a') << "b\nc";
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  const LogFiles files(folder.path(), JobId{1});
  const auto read = [&](std::uint64_t offset) {
    return files.read(0, offset, {1 << 20, LogCut::lines}).value();
  };
  EXPECT_EQ(read(0).text, "--- 4096 bytes were removed ---\n");
  EXPECT_EQ(read(0).next, 4096U);
  EXPECT_EQ(read(4096).text, std::string(4096, 'a') + "b\n");
  EXPECT_EQ(read(195).text, "--- 3901 bytes were removed ---\n");
  ASSERT_EQ(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 12288), 0);
  EXPECT_EQ(read(0).text, "--- 8195 bytes were removed ---\n");
  ::close(fd);
}

TEST(LogFiles, WhatStandsBeforeAHoleIsToldWhole) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "logs" / "1");
  const auto path = folder.path() / "logs/1/rank0.log";
  std::ofstream(path) << std::string(4096, 'a');
  std::filesystem::resize_file(path, 1U << 20);
  std::ofstream(path, std::ios::app) << "end\n";
  const LogFiles files(folder.path(), JobId{1});
  const auto before = files.read(0, 0, {1 << 20, LogCut::lines}).value();
  EXPECT_EQ(before.text, std::string(4096, 'a'));
  const auto hole = files.read(0, before.next, {1 << 20, LogCut::lines}).value();
  EXPECT_EQ(hole.text, "\n--- 1044480 bytes were removed ---\n");
  EXPECT_EQ(files.read(0, hole.next, {1 << 20, LogCut::lines})->text, "end\n");
}

TEST(LogFiles, KeepsCodePointsAndLongLinesTogether) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "logs" / "1");
  std::ofstream(folder.path() / "logs/1/rank0.log") << "\xC3\xA4\xC3\xA4\xC3\xA4\n";
  const LogFiles files(folder.path(), JobId{1});
  EXPECT_EQ(files.read(0, 0, {3, LogCut::anywhere})->text, "\xC3\xA4");
  EXPECT_EQ(files.read(0, 0, {5, LogCut::lines})->text, "\xC3\xA4\xC3\xA4");
  EXPECT_EQ(files.read(0, 4, {5, LogCut::lines})->next, 7U);
}

}  // namespace
}  // namespace paceline
