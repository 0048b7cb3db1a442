#include "store/sqlite/high_water.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sum.hpp"

namespace paceline {
namespace {

std::optional<Mark> known_in(const Scratch& scratch) {
  return HighWater::open(scratch.dir()).value().known();
}

void flip(const std::filesystem::path& file, std::streamoff at) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(at);
  const char byte = static_cast<char>(bytes.get() ^ 1);
  bytes.seekp(at);
  bytes.put(byte);
}

TEST(HighWater, IsWhatWasWrittenLast) {
  Scratch scratch;
  EXPECT_EQ(known_in(scratch), std::nullopt);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    auto mark = HighWater::open(scratch.dir()).value();
    ASSERT_TRUE(mark.raise({i * 10, i, -7, Generation{i}}));
    ASSERT_TRUE(mark.raise({i * 10 + 1, i, 7, Generation{i + 2}}));
    EXPECT_EQ(known_in(scratch), (Mark{i * 10 + 1, i, 7, Generation{i + 2}}));
  }
}

TEST(HighWater, FallsBackToTheRecordBeforeWhereTheLastIsDamaged) {
  Scratch scratch;
  auto mark = HighWater::open(scratch.dir()).value();
  for (std::uint64_t seq = 1; seq <= 4; ++seq) ASSERT_TRUE(mark.raise({seq, 1, 0, {}}));
  flip(scratch.dir() / "paceline.mark", 9);
  EXPECT_EQ(known_in(scratch), (Mark{3, 1, 0, {}}));
  flip(scratch.dir() / "paceline.mark", 512 + 9);
  EXPECT_EQ(known_in(scratch), std::nullopt);
  EXPECT_TRUE(HighWater::open(scratch.dir())->damaged());
}

// It told no generation. Each took an entry, so there were no more than entries.
TEST(HighWater, ReadsTheRecordOfAVersionBefore) {
  Scratch scratch;
  std::string record = "write 1 entry 900 jobs 12 sum -5";
  record += fmt::format(" digest {}\n", sum_of(record));
  record.resize(512, '\0');
  std::ofstream(scratch.dir() / "paceline.mark", std::ios::binary)
      << std::string(512, '\0') << record;
  EXPECT_EQ(known_in(scratch), (Mark{900, 12, -5, Generation{900}}));
}

TEST(HighWater, IsNoLink) {
  Scratch scratch;
  std::filesystem::create_symlink(scratch.dir() / "elsewhere", scratch.dir() / "paceline.mark");
  EXPECT_EQ(HighWater::open(scratch.dir()).error().code, ErrorCode::forbidden);
}

}  // namespace
}  // namespace paceline
