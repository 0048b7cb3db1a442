#include "agent/linux/gang_reach.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "agent/linux/testing.hpp"
#include "http/tcp_socket.hpp"

namespace paceline::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr ReachTimes kPatient{
    .limit = hours{1}, .pause = milliseconds{1}, .silence = milliseconds{700}, .kept = hours{1}};
constexpr ReachTimes kHasty{
    .limit = milliseconds{50}, .pause = milliseconds{1}, .silence = hours{1}, .kept = hours{1}};
const GangKey kTrying{JobId{7}, Generation{3}};

class GangReachTest : public ::testing::Test {
 protected:
  std::uint32_t open_door() {
    const auto opened = door_.open("127.0.0.1", blocks_);
    EXPECT_TRUE(opened) << opened.error().message;
    return door_.port();
  }
  // Runs the loop until the answer is there.
  std::string ask(ReachCheck& check, const std::vector<GangPeer>& peers,
                  const GangKey& gang = kTrying) {
    std::optional<std::string> answer;
    check.ask(gang, peers, [&](const std::string& problem) { answer = problem; });
    EXPECT_FALSE(answer) << "from within the call";
    io_.restart();
    while (!answer && io_.run_one() > 0) {
    }
    return answer.value_or("it never came");
  }
  std::string try_once(const GangPeer& peer, const ReachTimes& times) {
    ReachCheck check(io_, "gpu-2", times);
    return ask(check, {peer});
  }
  [[nodiscard]] GangPeer at(std::uint32_t port) const {
    return {"gpu-1", "127.0.0.1", port, door_.nonce()};
  }
  // One that listens and never answers.
  UniqueFd listen() {
    auto socket = listen_tcp({"127.0.0.1", 0});
    EXPECT_TRUE(socket);
    return std::move(*socket);
  }
  // One that nobody listens at, and that nobody else is given meanwhile.
  UniqueFd bind() {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind_tcp(socket.get(), {"127.0.0.1", 0}), 0);
    return socket;
  }
  static std::uint32_t port_of(const UniqueFd& socket) { return tcp_address_of(socket.get()).port; }

  TempDirectory directory_;
  PortBlocks blocks_{{directory_ / "ports"}};
  boost::asio::io_context io_;
  ReachDoor door_{io_};
};

TEST_F(GangReachTest, ADoorThatAnswersIsReached) {
  EXPECT_EQ(door_.port(), 0U);
  EXPECT_EQ(try_once(at(open_door()), kPatient), "");
}

TEST_F(GangReachTest, AnAddressMayBeANameOfSeveral) {
  GangPeer peer = at(open_door());
  peer.address = "localhost";
  EXPECT_EQ(try_once(peer, kPatient), "");
}

TEST_F(GangReachTest, AnAddressMayBeOneOfIpv6) {
  if (!listen_tcp({"::1", 0})) GTEST_SKIP() << "this machine has no IPv6";
  ASSERT_TRUE(door_.open("::1", blocks_));
  GangPeer peer = at(door_.port());
  peer.address = "::1";
  EXPECT_EQ(try_once(peer, kPatient), "");
}

TEST_F(GangReachTest, ADoorLiesAmongThePortsOfGangs) {
  const PortRange ports = usable_ports();
  const std::uint32_t port = open_door();
  EXPECT_TRUE(ports.first <= port && port < ports.end) << port;
  EXPECT_EQ(open_door(), port) << "it is open there already";
  EXPECT_NE(blocks_.take_from(port, 1)->first, port) << "no gang is given it";
  door_.close();
  EXPECT_EQ(door_.port(), 0U);
}

TEST_F(GangReachTest, AtAnAddressThatIsNotTheMachinesOwnItListensAtAll) {
  ASSERT_TRUE(door_.open("gpu-box.example", blocks_));
  EXPECT_EQ(try_once(at(door_.port()), kPatient), "");
}

TEST_F(GangReachTest, ADoorServesMoreThanComeInAtOnce) {
  ReachCheck check(io_, "gpu-2", kPatient);
  EXPECT_EQ(ask(check, std::vector(300, at(open_door()))), "");
}

TEST_F(GangReachTest, AnotherNodeAtThatAddressIsNotThePeer) {
  GangPeer peer = at(open_door());
  peer.nonce = std::string(32, '0');
  EXPECT_THAT(try_once(peer, kPatient), HasSubstr(": another program or machine answers there. "));
}

TEST_F(GangReachTest, WhoeverSaysVeryMuchIsNotThePeer) {
  boost::asio::ip::tcp::acceptor stranger(io_, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string much(100'000, 'x');
  stranger.async_accept([&](auto, auto socket) {
    socket.non_blocking(true);
    socket.write_some(boost::asio::buffer(much));
  });
  EXPECT_THAT(try_once(at(stranger.local_endpoint().port()), kPatient),
              HasSubstr("another program or machine answers there"));
}

TEST_F(GangReachTest, AClosedPortIsToldWithBothEndsAndWhatToDo) {
  const UniqueFd closed = bind();
  const std::string told = try_once(at(port_of(closed)), kHasty);
  EXPECT_THAT(told, StartsWith("gpu-2 can't reach gpu-1 at 127.0.0.1, port "));
  EXPECT_THAT(told, HasSubstr(": Connection refused. Let the ports "));
  EXPECT_THAT(told, HasSubstr("or give gpu-1 another address with --advertise."));
}

TEST_F(GangReachTest, APeerThatComesLateIsReached) {
  UniqueFd closed = bind();
  const std::uint32_t port = port_of(closed);
  ReachCheck check(io_, "gpu-2", kPatient);
  std::optional<std::string> answer;
  check.ask(kTrying, {at(port)}, [&](const std::string& problem) { answer = problem; });
  for (int i = 0; i < 10; ++i) io_.run_one();
  EXPECT_FALSE(answer);
  closed = UniqueFd{};
  boost::asio::ip::tcp::acceptor late(
      io_, {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
  late.async_accept([&](auto, auto socket) {
    socket.write_some(boost::asio::buffer(reach_line(door_.nonce())));
  });
  while (!answer && io_.run_one() > 0) {
  }
  EXPECT_EQ(answer, "");
}

// The kernel drops what comes to a queue that is full, as a firewall does.
TEST_F(GangReachTest, WhereWhatIsSentIsLostThereIsNoAnswer) {
  const UniqueFd full = bind();
  ASSERT_EQ(::listen(full.get(), 0), 0);
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    auto& socket = waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    boost::asio::ip::tcp::endpoint to(boost::asio::ip::address_v4::loopback(),
                                      static_cast<std::uint16_t>(port_of(full)));
    (void)::connect(socket.get(), to.data(), static_cast<socklen_t>(to.size()));
  }
  EXPECT_THAT(try_once(at(port_of(full)), kHasty), HasSubstr(": no answer. "));
}

TEST_F(GangReachTest, WhoeverSaysNothingIsNotReached) {
  const UniqueFd silent = listen();
  EXPECT_THAT(try_once(at(port_of(silent)), kHasty), HasSubstr(": no answer. "));
}

TEST_F(GangReachTest, APeerThatForgetsAVisitorIsTriedAgain) {
  using boost::asio::ip::tcp;
  tcp::acceptor peer(io_, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket forgotten(io_);
  const std::string line = reach_line(door_.nonce());
  const std::function<void()> serve = [&] {
    peer.async_accept([&](boost::system::error_code error, tcp::socket visitor) {
      if (error) return;
      boost::asio::write(visitor, boost::asio::buffer(line), error);
      serve();
    });
  };
  peer.async_accept(forgotten, [&](boost::system::error_code) { serve(); });
  ReachTimes times = kPatient;
  times.silence = milliseconds{20};
  EXPECT_EQ(try_once(at(peer.local_endpoint().port()), times), "");
}

TEST_F(GangReachTest, OnePeerThatIsNotReachedIsEnough) {
  const UniqueFd closed = bind();
  GangPeer other = at(port_of(closed));
  other.node = "gpu-3";
  ReachCheck check(io_, "gpu-2", kHasty);
  EXPECT_THAT(ask(check, {at(open_door()), other}), StartsWith("gpu-2 can't reach gpu-3 at "));
}

TEST_F(GangReachTest, WorkersOfOneGangShareATry) {
  int visitors = 0;
  boost::asio::ip::tcp::acceptor peer(io_, {boost::asio::ip::address_v4::loopback(), 0});
  const std::function<void()> accept = [&] {
    peer.async_accept([&](auto error, auto socket) {
      if (error) return;
      ++visitors;
      socket.write_some(boost::asio::buffer(reach_line(door_.nonce())));
      accept();
    });
  };
  accept();
  const GangPeer there = at(peer.local_endpoint().port());
  ReachCheck check(io_, "gpu-2", kPatient);
  int answers = 0;
  check.ask(kTrying, {there}, [&](const std::string& problem) { answers += problem.empty(); });
  EXPECT_EQ(ask(check, {there}), "");
  EXPECT_EQ(ask(check, {there}), "") << "it is over already";
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(visitors, 1);
  EXPECT_EQ(ask(check, {there}, {JobId{7}, Generation{4}}), "");
  EXPECT_EQ(visitors, 2);
}

TEST_F(GangReachTest, AnOldOutcomeIsNoneForOthers) {
  ReachCheck check(io_, "gpu-2", {.limit = hours{1}, .pause = milliseconds{1}, .kept = {}});
  const GangPeer peer = at(open_door());
  EXPECT_EQ(ask(check, {peer}), "");
  door_.close();
  UniqueFd silent = listen();
  check.ask(kTrying, {peer}, [](const std::string&) { FAIL() << "it is tried anew"; });
  io_.poll();
}

TEST_F(GangReachTest, NobodyIsToldOnceTheCheckIsGone) {
  const UniqueFd silent = listen();
  {
    ReachCheck check(io_, "gpu-2", kHasty);
    check.ask(kTrying, {at(port_of(silent))}, [](const std::string&) { FAIL(); });
    io_.poll();
  }
  io_.restart();
  io_.run();
}

}  // namespace
}  // namespace paceline::agent
