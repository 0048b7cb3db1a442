#include "app/gang_secrets.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

class GangSecretsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string secret(JobId job, JobId next = JobId{1}, LaunchSpec launch = {}) const {
    GangSecrets::open(folder_.path(), next).value().add(job, launch);
    const auto found = launch.environment.find("PACELINE_GANG_SECRET");
    return found == launch.environment.end() ? "" : found->second;
  }

  TempFolder folder_;
};

TEST_F(GangSecretsTest, AJobHasOneThatStays) {
  const auto seventh = secret(JobId{7});
  EXPECT_EQ(seventh.size(), 64U);
  EXPECT_EQ(secret(JobId{7}, JobId{100}), seventh) << "of a server that starts anew";
  EXPECT_NE(secret(JobId{8}), seventh);
  struct stat file {};
  ASSERT_EQ(::stat((folder_.path() / "gangs").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(GangSecretsTest, AnotherServersAreOthers) {
  const auto here = secret(JobId{7});
  std::filesystem::remove(folder_.path() / "gangs");
  EXPECT_NE(secret(JobId{7}), here);
}

TEST_F(GangSecretsTest, JobsFromBeforeHaveNone) {
  EXPECT_EQ(secret(JobId{4}, JobId{5}), "");
  EXPECT_NE(secret(JobId{5}), "");
  EXPECT_EQ(secret(JobId{4}), "");
}

TEST_F(GangSecretsTest, TheOwnersOwnIsKept) {
  LaunchSpec launch;
  launch.environment["PACELINE_GANG_SECRET"] = "mine";
  EXPECT_EQ(secret(JobId{7}, JobId{1}, launch), "mine");
}

TEST_F(GangSecretsTest, WhatIsDamagedIsRefused) {
  (void)secret(JobId{7});
  for (const char* text : {"", "7", "7 ", "x 00", "7 00zz\n"}) {
    std::ofstream(folder_.path() / "gangs", std::ios::trunc) << text;
    const auto opened = GangSecrets::open(folder_.path(), JobId{1});
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, ErrorCode::data);
  }
}

}  // namespace
}  // namespace paceline
