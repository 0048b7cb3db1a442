#include "agent/linux/rendezvous.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "files/fd.hpp"

namespace paceline::agent {
namespace {

using Steady = std::chrono::steady_clock;
using PortSet = std::set<std::uint32_t>;
using std::chrono::seconds;

TEST(LocalPorts, ReadFromWhatTheKernelTells) {
  const std::string_view tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      "   0: 0100007F:7148 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
      " 417: 0100007F:A1B2 0100007F:7148 01 00000000:00000000 00:00000000 00000000  1000\n";
  EXPECT_EQ(parse_local_ports(tcp), (PortSet{0x7148, 0xA1B2}));
  EXPECT_EQ(parse_local_ports("   0: 00000000000000000000000001000000:1F90 0:0 0A\n"),
            PortSet{8080});
}

TEST(LocalPorts, LinesThatMakeNoSenseAreLeftOut) {
  EXPECT_EQ(parse_local_ports("0: x:zz\n1:\n2: \n:\n3: A:12g4 \n4: 0:0010 \n\n"), PortSet{16});
}

TEST(LocalPorts, HoldOnesThatAreListenedTo) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(socket.get(), generic, size), 0);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  ASSERT_EQ(::getsockname(socket.get(), generic, &size), 0);
  PortsInUse ports;
  const auto& now = ports.at(Steady::time_point(seconds{10}));
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->contains(ntohs(address.sin_port)));
}

class RendezvousWatchTest : public ::testing::Test {
 protected:
  std::optional<bool> at(int second, const PortSet& ports) {
    const Steady::time_point now(seconds{second});
    return watch_.due(now) ? watch_.look(ports, now) : std::nullopt;
  }
  RendezvousWatch watch_{24'000, 6, seconds{60}};
};

TEST_F(RendezvousWatchTest, NobodyWhoMetInTimeIsSpokenOf) {
  EXPECT_EQ(at(100, {}), std::nullopt);
  EXPECT_EQ(at(110, {24'003}), std::nullopt);
  EXPECT_EQ(at(500, {}), std::nullopt) << "the port may be closed again";
}

TEST_F(RendezvousWatchTest, AMinuteWithoutOneIsToldOnce) {
  EXPECT_EQ(at(100, {23'999, 24'006}), std::nullopt) << "others' ports";
  EXPECT_EQ(at(159, {}), std::nullopt);
  EXPECT_EQ(at(161, {}), true);
  EXPECT_EQ(at(300, {}), std::nullopt);
}

TEST_F(RendezvousWatchTest, WhoSaysItselfThatItMetIsSpokenOfNoMore) {
  at(100, {});
  EXPECT_EQ(watch_.met(), std::nullopt);
  EXPECT_EQ(at(161, {}), std::nullopt);
}

TEST_F(RendezvousWatchTest, WhoSaysLateThatItMetTakesItBack) {
  at(100, {});
  ASSERT_EQ(at(161, {}), true);
  EXPECT_EQ(watch_.met(), false);
  EXPECT_EQ(at(900, {}), std::nullopt);
}

TEST_F(RendezvousWatchTest, WhoMeetsLateTakesItBack) {
  at(100, {});
  ASSERT_EQ(at(161, {}), true);
  EXPECT_EQ(at(200, {24'000}), false);
  EXPECT_EQ(at(900, {}), std::nullopt);
}

}  // namespace
}  // namespace paceline::agent
