#include "files/private_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

class PrivateFile : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "secret"; }
  [[nodiscard]] std::optional<std::string> text() const {
    const auto read = read_private(file(), 100);
    EXPECT_TRUE(read);
    return read.value_or(std::nullopt);
  }
  [[nodiscard]] ErrorCode refusal() const {
    const auto read = read_private(file(), 100);
    EXPECT_FALSE(read);
    return read ? ErrorCode::internal : read.error().code;
  }

  TempFolder folder_;
};

TEST_F(PrivateFile, IsReadAsItWasWritten) {
  EXPECT_EQ(text(), std::nullopt);
  for (const char* written : {"one", "", "three\n"}) {
    ASSERT_TRUE(write_private(file(), written));
    EXPECT_EQ(text(), written);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1)
      << "nothing is left beside it";
}

TEST_F(PrivateFile, IsItsUsersAloneWhateverTheUmask) {
  const auto before = ::umask(0);
  ASSERT_TRUE(write_private(file(), "x"));
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

TEST_F(PrivateFile, IsRefusedWhereOthersMayReadIt) {
  ASSERT_TRUE(write_private(file(), "x"));
  for (const auto mode : {0640, 0604, 0620, 0602}) {
    ASSERT_EQ(::chmod(file().c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_EQ(refusal(), ErrorCode::forbidden);
  }
  ASSERT_TRUE(write_private(file(), "y")) << "a new one takes its place";
  EXPECT_TRUE(read_private(file(), 100));
}

TEST_F(PrivateFile, LinksPipesAndDirectoriesAreRefused) {
  std::ofstream(folder_.path() / "other") << "x";
  fs::create_symlink(folder_.path() / "other", file());
  EXPECT_EQ(refusal(), ErrorCode::forbidden);
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(refusal(), ErrorCode::forbidden);
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(refusal(), ErrorCode::forbidden);
}

TEST_F(PrivateFile, WhatWasThereStaysWhereTheNewOneCantBeWritten) {
  ASSERT_TRUE(write_private(file(), "old"));
  const auto nowhere = folder_.path() / "none" / "secret";
  const auto written = write_private(nowhere, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::storage);
  EXPECT_EQ(text(), "old");
}

TEST_F(PrivateFile, IsBounded) {
  ASSERT_TRUE(write_private(file(), std::string(100, 'x')));
  EXPECT_TRUE(read_private(file(), 100));
  const auto read = read_private(file(), 99);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::data);
}

}  // namespace
}  // namespace paceline
