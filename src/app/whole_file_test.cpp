#include "app/whole_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace paceline {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public ::testing::Test {
 protected:
  WholeFileTest() {
    std::string name = (fs::temp_directory_path() / "paceline-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~WholeFileTest() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(const char* name) const { return (directory_ / name).string(); }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  fs::path directory_;
};

const auto kWrite = [](std::ostream& out) { out << "new"; };

TEST_F(WholeFileTest, ReplacesWhatWasThereAndLeavesNothingAside) {
  std::ofstream(path("a")) << "earlier and longer";
  ASSERT_TRUE(check_writable(path("a")));
  EXPECT_EQ(text_of(path("a")), "earlier and longer");
  ASSERT_TRUE(write_whole(path("a"), kWrite));
  EXPECT_EQ(text_of(path("a")), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFileTest, KeepsWhatWasThereWhereItCantBeWritten) {
  std::ofstream(path("a")) << "earlier";
  const auto breaks = [](std::ostream& out) { (out << "half").setstate(std::ios::badbit); };
  const auto ok = write_whole(path("a"), breaks);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::storage);
  EXPECT_EQ(text_of(path("a")), "earlier");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFileTest, AsksBeforeAndMakesNothing) {
  EXPECT_TRUE(check_writable(path("new")));
  EXPECT_EQ(files(), 0);
  for (const std::string& wrong : {path("no/such/file"), directory_.string(), std::string()})
    EXPECT_FALSE(check_writable(wrong)) << wrong;
}

TEST_F(WholeFileTest, WritesWhereALinkPointsAndKeepsPermissions) {
  std::ofstream(path("a")) << "earlier";
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path("a"), path("link"));
  ASSERT_TRUE(write_whole(path("link"), kWrite));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(path("a")), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFileTest, WritesToWhatIsNoRegularFileDirectly) {
  ASSERT_TRUE(check_writable("/dev/null"));
  ASSERT_TRUE(write_whole("/dev/null", kWrite));
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

}  // namespace
}  // namespace paceline
