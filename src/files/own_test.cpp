#include "files/own.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace paceline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class Own : public ::testing::Test {
 protected:
  Own() {
    std::string name = (fs::temp_directory_path() / "paceline_own_XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~Own() override { fs::remove_all(dir_); }

  static mode_t mode_of(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  static std::string refusal(const Result<void>& done) {
    if (done) return "";
    EXPECT_NE(done.error().hint, "");
    return done.error().message;
  }
  [[nodiscard]] fs::path file(const std::string& name, mode_t mode = 0600) const {
    std::ofstream(dir_ / name) << "x";
    EXPECT_EQ(::chmod((dir_ / name).c_str(), mode), 0);
    return dir_ / name;
  }
  static bool give_away(const fs::path& path) {
    return ::lchown(path.c_str(), kNobody, kNobody) == 0;
  }

  fs::path dir_;
};

TEST_F(Own, MakesADirectoryWithTheModeWhateverTheUmaskIs) {
  const auto before = ::umask(077);
  const auto made = make_own_directory(dir_ / "a/b/c/", 0711);
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(mode_of(dir_ / "a/b/c"), 0711U);
  EXPECT_EQ(mode_of(dir_ / "a"), ::geteuid() == 0 ? 0755U : 0700U);
}

TEST_F(Own, LeavesADirectoryThatIsThereAsItIs) {
  ASSERT_EQ(::chmod(dir_.c_str(), 0755), 0);
  EXPECT_TRUE(make_own_directory(dir_, 0700));
  EXPECT_EQ(mode_of(dir_), 0755U);
}

TEST_F(Own, RefusesADirectoryThatOthersMayWrite) {
  ASSERT_EQ(::chmod(dir_.c_str(), 0770), 0);
  EXPECT_EQ(refusal(check_own_directory(dir_)),
            "Others may write the directory " + dir_.string() + ".");
  EXPECT_THAT(check_own_directory(dir_).error().hint, HasSubstr("chmod go-w " + dir_.string()));
}

TEST_F(Own, RefusesADirectoryOfSomebodyElse) {
  if (!give_away(dir_)) GTEST_SKIP() << "only root can give a directory away";
  EXPECT_THAT(refusal(check_own_directory(dir_)), HasSubstr("belongs to nobody"));
  EXPECT_THAT(refusal(make_own_directory(dir_ / "in", 0700)),
              HasSubstr(dir_.string() + " above it is nobody's"));
}

TEST_F(Own, RefusesADirectoryBelowOneThatIsOpenToAll) {
  fs::create_directory(dir_ / "open");
  ASSERT_EQ(::chmod((dir_ / "open").c_str(), 0777), 0);
  EXPECT_THAT(refusal(make_own_directory(dir_ / "open/mine", 0700)), HasSubstr("open to others"));
  ASSERT_EQ(::chmod((dir_ / "open").c_str(), 01777), 0);
  EXPECT_EQ(refusal(make_own_directory(dir_ / "open/mine", 0700)), "");
}

TEST_F(Own, FollowsLinksOfItsOwnOnly) {
  fs::create_directory(dir_ / "real");
  fs::create_directory_symlink(dir_ / "real", dir_ / "link");
  EXPECT_EQ(refusal(check_own_directory(dir_ / "link")), "");
  if (!give_away(dir_ / "link")) GTEST_SKIP() << "only root can give a link away";
  EXPECT_EQ(refusal(check_own_directory(dir_ / "link")),
            (dir_ / "link").string() + " is a link of nobody.");
}

TEST_F(Own, TakesFilesOfItsOwnAndWhatIsNotThere) {
  EXPECT_EQ(refusal(check_own_file(dir_ / "none", S_IFREG)), "");
  EXPECT_EQ(refusal(check_own_file(file("mine"), S_IFREG)), "");
  EXPECT_EQ(refusal(check_own_file(file("read", 0644), S_IFREG)), "");
}

TEST_F(Own, RefusesLinksAndOtherThings) {
  fs::create_symlink(file("mine"), dir_ / "link");
  fs::create_symlink(dir_ / "nowhere", dir_ / "dangling");
  for (const auto* link : {"link", "dangling"})
    EXPECT_EQ(refusal(check_own_file(dir_ / link, S_IFREG)),
              (dir_ / link).string() + " is a link instead of a file.");
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(check_own_file(dir_ / "fifo", S_IFREG)),
            (dir_ / "fifo").string() + " is something else instead of a file.");
  EXPECT_EQ(refusal(check_own_file(dir_ / "mine", S_IFSOCK)),
            (dir_ / "mine").string() + " is something else instead of a socket.");
}

TEST_F(Own, RefusesFilesOfOthers) {
  EXPECT_EQ(refusal(check_own_file(file("open", 0620), S_IFREG)),
            "Others may write " + (dir_ / "open").string() + ".");
  if (!give_away(file("foreign"))) GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ(refusal(check_own_file(dir_ / "foreign", S_IFREG)),
            (dir_ / "foreign").string() + " belongs to nobody.");
}

TEST_F(Own, SaysWhatToDoAboutEachRefusal) {
  EXPECT_THAT(remedy(ENOSPC), ::testing::StartsWith("Make room on that disk"));
  EXPECT_THAT(remedy(EROFS), ::testing::StartsWith("Mount that disk writable"));
  EXPECT_THAT(remedy(EACCES), ::testing::StartsWith("Give it to the user"));
}

}  // namespace
}  // namespace paceline
