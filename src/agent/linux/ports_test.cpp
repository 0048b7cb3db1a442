#include "agent/linux/ports.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

namespace paceline::agent {
namespace {

UniqueFd listen_on(std::uint32_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool ok =
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd.get(), 1) == 0;
  return ok ? std::move(fd) : UniqueFd{};
}

TEST(Ports, OfTwoGangsNeverMeet) {
  std::set<std::uint32_t> seen;
  std::vector<Ports> held;
  for (std::uint32_t job = 1; job <= 20; ++job) {
    auto ports = take_ports(JobId{job}, Generation{1}, 10);
    ASSERT_TRUE(ports) << ports.error().message;
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_TRUE(seen.insert(ports->first + i).second);
    held.push_back(std::move(*ports));
  }
}

TEST(Ports, OfOneGangAreHeldWhileACopyOfItsLocksLives) {
  auto first = take_ports(JobId{41}, Generation{1}, 3);
  ASSERT_TRUE(first);
  auto supervisor = duplicate(first->locks);
  ASSERT_TRUE(supervisor);
  first->locks.clear();
  EXPECT_NE(take_ports(JobId{41}, Generation{1}, 3)->first, first->first);
  supervisor->clear();
  EXPECT_EQ(take_ports(JobId{41}, Generation{1}, 3)->first, first->first);
}

TEST(Ports, AreNotGivenWhileSomebodyListens) {
  const std::uint32_t wanted = take_ports(JobId{42}, Generation{1}, 3)->first;
  const UniqueFd listening = listen_on(wanted + 1);
  ASSERT_TRUE(listening);
  EXPECT_NE(take_ports(JobId{42}, Generation{1}, 3)->first, wanted);
}

TEST(Ports, LieOutsideTheRangeOfTheKernel) {
  EXPECT_EQ(usable_ports("32768\t60999\n").first, 20000U);
  EXPECT_EQ(usable_ports("32768\t60999\n").end, 32768U);
  EXPECT_EQ(usable_ports("1024 40000\n").first, 40001U);
  EXPECT_EQ(usable_ports("1024 65535\n").first, 20000U);
  EXPECT_EQ(usable_ports("").end, 65536U);
}

TEST(Ports, TooManyAreRefused) {
  EXPECT_EQ(take_ports(JobId{1}, Generation{1}, 60000).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(take_ports(JobId{1}, Generation{1}, 0));
}

}  // namespace
}  // namespace paceline::agent
