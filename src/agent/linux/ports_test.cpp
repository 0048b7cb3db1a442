#include "agent/linux/ports.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint32_t kFrom = 26'000;

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

class PortsTest : public ::testing::Test {
 protected:
  // A name in the abstract socket space, which any user may take.
  static UniqueFd take_abstract_name(const std::string& name) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) fd.reset();
    return fd;
  }

  TempDirectory directory_;
  PortBlocks blocks_{{directory_ / "ports"}};
};

TEST_F(PortsTest, OfTwoGangsNeverMeet) {
  std::set<std::uint32_t> seen;
  std::vector<Ports> held;
  for (std::uint32_t job = 1; job <= 20; ++job) {
    auto ports = blocks_.take_from(0, 10);
    ASSERT_TRUE(ports) << ports.error().message;
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_TRUE(seen.insert(ports->first + i).second);
    held.push_back(std::move(*ports));
  }
}

TEST_F(PortsTest, OfOneGangAreHeldWhileACopyOfItsLocksLives) {
  auto first = blocks_.take_from(kFrom, 3);
  ASSERT_TRUE(first);
  auto supervisor = duplicate(first->locks);
  ASSERT_TRUE(supervisor);
  first->locks.clear();
  EXPECT_NE(blocks_.take_from(kFrom, 3)->first, first->first);
  supervisor->clear();
  EXPECT_EQ(blocks_.take_from(kFrom, 3)->first, first->first);
}

TEST_F(PortsTest, AreNotGivenWhileSomebodyListens) {
  const std::uint32_t wanted = blocks_.take_from(kFrom, 3)->first;
  const UniqueFd listening = listen_on(wanted + 1);
  ASSERT_TRUE(listening);
  EXPECT_NE(blocks_.take_from(kFrom, 3)->first, wanted);
}

TEST_F(PortsTest, ThatAreTakenAreNamedWhereOthersWillNotDo) {
  auto held = blocks_.take_at(kFrom, 10);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(held->first, kFrom);
  const auto again = blocks_.take_at(kFrom + kPortBlock, 3);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_EQ(again.error().retry, Retry::may_help);
  held->locks.clear();
  EXPECT_TRUE(blocks_.take_at(kFrom + kPortBlock, 3));
}

TEST_F(PortsTest, OfOneGangAreItsAgentsTogetherAndNobodyElses) {
  const std::uint32_t count = kPortBlock + 1;
  auto one = blocks_.take_at(kFrom, count, "gang 7.1");
  ASSERT_TRUE(one) << one.error().message;
  const auto rank = listen_on(kFrom);
  auto other = blocks_.take_at(kFrom, count, "gang 7.1");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->locks.size(), 2U);
  EXPECT_EQ(blocks_.take_at(kFrom, count, "gang 7.2").error().code, ErrorCode::conflict);
  EXPECT_EQ(blocks_.take_at(kFrom, count).error().code, ErrorCode::conflict);
  one->locks.clear();
  EXPECT_EQ(blocks_.take_at(kFrom, count, "gang 7.2").error().code, ErrorCode::conflict)
      << "the other is there still";
  other->locks.clear();
  EXPECT_EQ(blocks_.take_at(kFrom, count, "gang 7.2").error().code, ErrorCode::conflict)
      << "somebody listens";
}

// They are asked at the same time.
TEST_F(PortsTest, OfOneGangAreHadByAllWhoBeginTogether) {
  for (int round = 0; round < 50; ++round) {
    const auto gang = fmt::format("gang {}.1", round);
    std::vector<Result<Ports>> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(fail(ErrorCode::storage, "nobody asked", {}));
    std::vector<std::thread> agents;
    for (auto& mine : taken) agents.emplace_back([&] { mine = blocks_.take_at(kFrom, 3, gang); });
    for (auto& agent : agents) agent.join();
    for (const auto& each : taken) EXPECT_TRUE(each) << each.error().message;
  }
}

TEST_F(PortsTest, AreTakenAgainByTheirKeeperUntilSomebodyElseTakesThem) {
  EXPECT_FALSE(blocks_.take_again(kFrom, "/a/port"));
  ASSERT_TRUE(blocks_.take_from(kFrom, 1, "/a/port"));
  EXPECT_FALSE(blocks_.take_again(kFrom, "/b/port"));
  {
    const UniqueFd own = listen_on(kFrom);
    EXPECT_EQ(blocks_.take_again(kFrom, "/a/port")->locks.size(), 1U);
  }
  EXPECT_TRUE(blocks_.take_from(kFrom, 3)) << "a gang, which ended";
  EXPECT_FALSE(blocks_.take_again(kFrom, "/a/port"));
  ASSERT_TRUE(blocks_.take_from(kFrom, 1, "/b/port"));
  EXPECT_FALSE(blocks_.take_again(kFrom, "/a/port"));
  EXPECT_TRUE(blocks_.take_again(kFrom, "/b/port"));
}

TEST(Ports, LieOutsideTheRangeOfTheKernel) {
  EXPECT_EQ(usable_ports("32768\t60999\n").first, 20000U);
  EXPECT_EQ(usable_ports("32768\t60999\n").end, 32768U);
  EXPECT_EQ(usable_ports("1024 40000\n").first, 40001U);
  EXPECT_EQ(usable_ports("1024 65535\n").first, 20000U);
  for (const char* no_range : {"", "3-223 ", "32768", "60999 32768", "32768\t99999\n"}) {
    EXPECT_EQ(usable_ports(no_range).first, 20000U) << no_range;
    EXPECT_EQ(usable_ports(no_range).end, 65536U) << no_range;
  }
}

TEST_F(PortsTest, TooManyAreRefused) {
  EXPECT_EQ(blocks_.take_from(0, 60000).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(blocks_.take_from(0, 0));
}

// As another user's script would, to stop every start.
TEST_F(PortsTest, AreHadWhateverNamesOthersTake) {
  const UniqueFd name = take_abstract_name(fmt::format("paceline/ports/{}", kFrom));
  ASSERT_TRUE(name);
  const auto ports = blocks_.take_from(kFrom, 3);
  ASSERT_TRUE(ports) << ports.error().message;
  EXPECT_EQ(ports->first, kFrom);
}

TEST_F(PortsTest, AreLockedWhereNobodyElseGets) {
  const auto ports = blocks_.take_from(kFrom, 3);
  ASSERT_TRUE(ports);
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "ports").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(PortsTest, AreLockedInTheNextDirectoryWhereOneIsNotOurs) {
  ASSERT_EQ(::mkdir((directory_ / "open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((directory_ / "open").c_str(), 0777), 0);
  const PortBlocks blocks({directory_ / "open", directory_ / "ports"});
  EXPECT_TRUE(blocks.take_from(kFrom, 3));
  EXPECT_TRUE(list_directory(directory_ / "open").empty());
  EXPECT_EQ(list_directory(directory_ / "ports").size(), 1U);
}

TEST_F(PortsTest, ThatCantBeHeldAreTheMachinesFault) {
  const auto none = PortBlocks({"/proc/nowhere"}).take_from(kFrom, 3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().retry, Retry::may_help);
}

}  // namespace
}  // namespace paceline::agent
