#include "link/own_log.hpp"

#include <gmock/gmock.h>

#include <string>

#include "files/log_times_writer.hpp"
#include "link/bytes_testing.hpp"

namespace paceline {
namespace {

class OwnLogTest : public ::testing::Test {
 protected:
  [[nodiscard]] OwnLog log() const { return OwnLog(logs_.path_of(kLog).string()); }
  TestLogs logs_;
};

TEST_F(OwnLogTest, IsReadPieceByPieceWhileItGrows) {
  EXPECT_FALSE(log());
  logs_.append(kLog, "one\ntwo\n");
  const auto first = log().read(0, 5);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes, "one\nt");
  EXPECT_EQ(first->offset, 0U);
  EXPECT_EQ(log().read(5, 100)->bytes, "wo\n");
  EXPECT_FALSE(log().read(8, 100).has_value());
  EXPECT_FALSE(log().read(80, 100).has_value());
}

TEST_F(OwnLogTest, APieceIsOfOneTime) {
  logs_.append(kLog, "one\ntwo\n");
  LogTimesWriter times(times_path(logs_.path_of(kLog).string()));
  times.note(wall_from_us(10), 2);
  times.note(wall_from_us(20), 6);
  EXPECT_EQ(log().read(0, 100)->bytes, "on");
  EXPECT_EQ(log().read(0, 100)->at, wall_from_us(10));
  EXPECT_EQ(log().read(2, 100)->bytes, "e\ntw");
  EXPECT_EQ(log().read(2, 100)->at, wall_from_us(20));
  EXPECT_EQ(log().read(6, 100)->bytes, "o\n");
  EXPECT_GT(log().read(6, 100)->at, wall_from_us(20)) << "when the file was written to last";
}

TEST_F(OwnLogTest, PassesOverWhatWasRemoved) {
  logs_.append(kLog, std::string(4096, 'a') + std::string(8192, 'b') + std::string(4096, 'c'));
  logs_.punch(kLog, 4096, 8192);
  EXPECT_EQ(log().read(0, 1 << 20)->bytes, std::string(4096, 'a'));
  const auto behind = log().read(4096, 1 << 20);
  EXPECT_EQ(behind->offset, 12'288U);
  EXPECT_EQ(behind->bytes, std::string(4096, 'c'));
  logs_.punch(kLog, 12'288, 4096);
  const auto none = log().read(4096, 1 << 20);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->offset, 16'384U);
  EXPECT_EQ(none->bytes, "");
}

TEST_F(OwnLogTest, IsNoLinkAndNoDirectory) {
  std::filesystem::create_directories(logs_.path_of(kLog));
  EXPECT_FALSE(log());
  std::filesystem::remove(logs_.path_of(kLog));
  std::filesystem::create_symlink("/etc/passwd", logs_.path_of(kLog));
  EXPECT_FALSE(log());
}

}  // namespace
}  // namespace paceline
