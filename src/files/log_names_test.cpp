#include "files/log_names.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(LogNames, AreReadAsTheyAreWritten) {
  for (const std::int32_t process : {0, 3, 1023, 99'999}) {
    EXPECT_EQ(log_number_in(log_name(process)), process);
    EXPECT_EQ(log_number_in(log_name(timeline_of(process))), timeline_of(process));
    EXPECT_EQ(process_of(timeline_of(process)), process);
    EXPECT_TRUE(is_timeline(timeline_of(process)) && !is_timeline(process));
  }
  EXPECT_EQ(log_name(3), "rank3.log");
  EXPECT_EQ(log_name(timeline_of(3)), "rank3.timeline");
}

TEST(LogNames, WhatElseLiesThereIsNone) {
  for (const auto* name :
       {"rank3.times", "rank3.sources", "rank3.timeline.times", "rank-1.log", "rank.log",
        "rankx.log", "rank1073741824.log", "nodes", "log", ".timeline", "rank3", ""})
    EXPECT_FALSE(log_number_in(name)) << name;
}

TEST(LogNames, NotesOfALogAreNotThoseOfItsTimeline) {
  EXPECT_EQ(beside_log("/logs/7/rank3.log", "times"), "/logs/7/rank3.times");
  EXPECT_EQ(timeline_beside("/logs/7/rank3.log"), "/logs/7/rank3.timeline");
  EXPECT_EQ(beside_log("/logs/7/rank3.timeline", "times"), "/logs/7/rank3.timeline.times");
}

}  // namespace
}  // namespace paceline
