#include "agent/linux/timeline_file.hpp"

#include "agent/linux/log_testing.hpp"
#include "files/log_names.hpp"

namespace paceline::agent {
namespace {

class TimelineFileTest : public LogFilesTest {
 protected:
  LogKey timeline_{JobId{7}, timeline_of(0)};
  std::uint32_t uid_ = static_cast<std::uint32_t>(::getuid());
};

TEST_F(TimelineFileTest, BeginsALineWhereTheLastOneWasNotWrittenWhole) {
  write(timeline_, 3);
  ASSERT_TRUE(add_to_timeline(path_of(timeline_), uid_, "{}\n"));
  ASSERT_TRUE(add_to_timeline(path_of(timeline_), uid_, "{}\n"));
  EXPECT_EQ(log(timeline_), "xxx\n{}\n{}\n");
}

TEST_F(TimelineFileTest, LeavesOutWhatHasNoRoom) {
  write(timeline_, 2 * kTimelineBytes + kMiB);
  ASSERT_TRUE(add_to_timeline(path_of(timeline_), uid_, "{}\n"));
  EXPECT_EQ(look(timeline_).st_size, static_cast<off_t>(2 * kTimelineBytes + kMiB));
  hold_timeline(path_of(timeline_));
  ASSERT_TRUE(add_to_timeline(path_of(timeline_), uid_, "{}\n"));
  EXPECT_EQ(look(timeline_).st_size, static_cast<off_t>(2 * kTimelineBytes + kMiB + 4));
}

TEST_F(TimelineFileTest, SaysWhatCannotBeWritten) {
  EXPECT_FALSE(add_to_timeline(directory_ / "nowhere/rank0.timeline", uid_, "{}\n"));
}

}  // namespace
}  // namespace paceline::agent
