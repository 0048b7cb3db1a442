#include "link/versions.hpp"

#include <gtest/gtest.h>

#include <string>

namespace paceline {
namespace {

Error refusal(LinkVersions versions) {
  const auto checked = check_versions(versions);
  EXPECT_FALSE(checked.has_value()) << versions.server << " and " << versions.agent;
  return checked ? Error{} : checked.error();
}

TEST(Versions, OneMinorVersionApartIsNear) {
  for (const char* agent : {"1.2.0", "1.3.9", "1.4.1", "1.3", "1.3.0-rc1"})
    EXPECT_TRUE(check_versions({"1.3.0", agent}).has_value()) << agent;
}

TEST(Versions, WhoIsOlderIsToBeUpgraded) {
  EXPECT_EQ(refusal({"1.3.0", "1.1.7"}).code, ErrorCode::conflict);
  EXPECT_EQ(refusal({"1.3.0", "1.1.7"}).message,
            "The agent is version 1.1.7, which is too far from the server's 1.3.0.");
  EXPECT_EQ(refusal({"1.3.0", "1.1.7"}).hint,
            "Upgrade the agent: their minor versions may differ by one.");
  EXPECT_EQ(refusal({"1.3.0", "1.5.0"}).hint,
            "Upgrade the server: their minor versions may differ by one.");
}

TEST(Versions, AnotherMajorVersionIsTooFar) {
  EXPECT_EQ(refusal({"1.0.0", "0.9.0"}).hint,
            "Upgrade the agent: their minor versions may differ by one.");
  EXPECT_EQ(refusal({"1.0.0", "2.0.0"}).code, ErrorCode::conflict);
}

TEST(Versions, WhatIsNoVersionIsRefused) {
  for (const char* agent : {"", "1", "one.two", "1.x", "-1.3", "99999999999.1"})
    EXPECT_EQ(refusal({"1.3.0", agent}).code, ErrorCode::invalid) << agent;
  EXPECT_EQ(refusal({"1.3.0", std::string(1000, '1')}).code, ErrorCode::invalid);
}

}  // namespace
}  // namespace paceline
