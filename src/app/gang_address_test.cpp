#include "app/gang_address.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TcpAddress at(const std::string& host) { return {host, 7443}; }

TEST(GangAddress, IsWhatTheOwnerSaid) {
  EXPECT_EQ(gang_address("gpu-box", at("0.0.0.0")), "gpu-box");
  EXPECT_EQ(gang_address("10.0.0.7", std::nullopt), "10.0.0.7");
}

TEST(GangAddress, IsWhereTheServerListens) {
  EXPECT_EQ(gang_address(std::nullopt, at("10.0.0.7")), "10.0.0.7");
  EXPECT_EQ(gang_address(std::nullopt, at("fd00::7")), "fd00::7");
}

TEST(GangAddress, IsTheMachinesOwnWhereNobodyElseIsMeant) {
  EXPECT_EQ(gang_address(std::nullopt, std::nullopt), "127.0.0.1");
  EXPECT_EQ(gang_address(std::nullopt, at("127.0.0.1")), "127.0.0.1");
  EXPECT_EQ(gang_address(std::nullopt, at("::1")), "127.0.0.1");
}

TEST(GangAddress, OfAllAddressesIsThatOfTheDefaultRoute) {
  const std::string found = gang_address(std::nullopt, at("0.0.0.0"));
  const std::string v4 = source_address("192.0.2.1"), v6 = source_address("2001:db8::1");
  EXPECT_EQ(found, !v4.empty() ? v4 : !v6.empty() ? v6 : "127.0.0.1");
}

TEST(GangAddress, IsThatOfTheWayToAnother) {
  EXPECT_EQ(source_address("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(source_address("no number"), "");
}

}  // namespace
}  // namespace paceline
