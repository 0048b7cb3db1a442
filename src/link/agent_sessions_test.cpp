#include "link/agent_sessions.hpp"

#include <gtest/gtest.h>

#include "clock/manual/manual_clock.hpp"
#include "link/link_words.hpp"
#include "link/testing.hpp"

namespace paceline {
namespace {

using testing::FakeAgentEnd;
using testing::FakeServerEnd;
using testing::FarPeer;
using testing::hello_of;
using testing::should_stop;

constexpr std::string_view kServerVersion = "0.1.0";

class AgentSessionsTest : public ::testing::Test {
 protected:
  AgentSessionsTest() { open({.version = std::string(kServerVersion)}); }

  void open(AgentSessions::Options options) {
    sessions_.emplace(io_, clock_, server_, std::move(options));
    sessions_->on_wake([this] { ++wakes_; });
  }

  struct Dialled {
    std::unique_ptr<FarPeer> peer;
    Session session;
  };
  // A connection of this node that has heard the greeting.
  Dialled dial(const KnownNode& node = {.id = "gpu-3", .serial = 1}) {
    auto far = sessions_->words(node, kServerVersion);
    EXPECT_TRUE(far.has_value());
    auto peer = std::make_unique<FarPeer>(io_, *far);
    const auto greeting = decode_greeting(peer->lines(1).at(0));
    EXPECT_TRUE(greeting.has_value());
    return {std::move(peer), greeting->session};
  }
  static bool say(const Dialled& dialled, const AgentMessage& message, std::uint64_t number = 1) {
    return dialled.peer->say(encode(AgentFrame{dialled.session, number, 0, 0, message}) + "\n");
  }
  Dialled dial_and_greet(const std::string& boot = "boot-1", const std::string& from = "10.0.0.7") {
    auto dialled = dial();
    say(dialled, hello_of("gpu-3", boot, from));
    return dialled;
  }
  static Error refusal(const Dialled& dialled) {
    const auto line = dialled.peer->lines(1);
    const auto why = line.empty() ? std::optional<Error>() : decode_refusal(line.front());
    EXPECT_TRUE(why.has_value());
    return why.value_or(Error{});
  }
  [[nodiscard]] const Hello& heard(std::size_t i) const {
    return std::get<Hello>(*server_.received_.at(i).message);
  }
  [[nodiscard]] std::optional<NodeConnection> connection() const {
    return sessions_->connection("gpu-3");
  }

  boost::asio::io_context io_{1};
  ManualClock clock_{time_from_us(1'000'000)};
  FakeServerEnd server_;
  FakeAgentEnd own_;
  int wakes_ = 0;
  std::optional<AgentSessions> sessions_;
};

// ---- this machine's own agent ----

TEST_F(AgentSessionsTest, OwnAgentAndServerHearEachOtherInOrder) {
  sessions_->open(own_);
  ASSERT_TRUE(own_.session_.has_value());
  EXPECT_EQ(server_.open_, std::vector{*own_.session_});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    own_.send_({*own_.session_, i, 0, 0, hello_of("box", "boot")});
    server_.send_({*own_.session_, i, 0, 0, should_stop()});
  }
  EXPECT_TRUE(server_.received_.empty());
  EXPECT_EQ(wakes_, 1);
  sessions_->pump();
  ASSERT_EQ(server_.received_.size(), 3U);
  ASSERT_EQ(own_.received_.size(), 3U);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(server_.received_[i - 1].number, i);
    EXPECT_EQ(own_.received_[i - 1].number, i);
  }
}

TEST_F(AgentSessionsTest, WhatAFrameCallsForthWaitsForTheNextPump) {
  sessions_->open(own_);
  server_.on_receive_ = [&](const AgentFrame& frame) {
    server_.send_({frame.session, 1, 1, 0, should_stop()});
  };
  own_.send_({*own_.session_, 1, 0, 0, hello_of("box", "boot")});
  sessions_->pump();
  EXPECT_TRUE(own_.received_.empty());
  sessions_->pump();
  EXPECT_EQ(own_.received_.size(), 1U);
}

// ---- agents that dial in ----

TEST_F(AgentSessionsTest, ADialledAgentIsGreetedAndHeard) {
  sessions_->open(own_);
  auto far = sessions_->words({.id = "gpu-3", .serial = 1}, kServerVersion);
  ASSERT_TRUE(far.has_value());
  FarPeer peer(io_, *far);
  const auto greeting = decode_greeting(peer.lines(1).at(0)).value();
  EXPECT_EQ(greeting.version, kServerVersion);
  EXPECT_EQ(greeting.beat, std::chrono::seconds{5});
  EXPECT_GT(greeting.session, *own_.session_);

  const AgentFrame frame{greeting.session, 1, 0, 0, hello_of("gpu-3", "boot-1")};
  EXPECT_TRUE(peer.say(encode(frame) + "\n"));
  ASSERT_EQ(server_.received_.size(), 1U);
  EXPECT_EQ(server_.received_.front(), frame);
  EXPECT_GT(wakes_, 0);
}

TEST_F(AgentSessionsTest, FramesGoToTheAgentTheyAreForInOrder) {
  const auto gpu = dial_and_greet();
  const auto other = dial({.id = "gpu-4", .serial = 1});
  for (std::uint64_t i = 1; i <= 500; ++i)
    server_.send_({i % 2 == 0 ? gpu.session : other.session, i, 0, 0, should_stop()});
  const auto lines = gpu.peer->lines(250);
  for (std::uint64_t i = 0; i < 250; ++i)
    EXPECT_EQ(decode_server_frame(lines.at(i)).value().number, 2 * i + 2);
  EXPECT_EQ(decode_server_frame(other.peer->lines(1).at(0)).value().number, 1U);
}

TEST_F(AgentSessionsTest, FramesOfSessionsThatAreOverFallOnNobody) {
  const auto gpu = dial_and_greet();
  gpu.peer->leave();
  server_.send_({gpu.session, 1, 0, 0, should_stop()});
  server_.send_({Session{999}, 1, 0, 0, should_stop()});
  EXPECT_TRUE(server_.open_.empty());
}

TEST_F(AgentSessionsTest, AnAgentThatLeavesIsDisconnectedOnce) {
  const auto gpu = dial_and_greet();
  EXPECT_TRUE(connection()->connected);
  EXPECT_EQ(server_.open_, std::vector{gpu.session});
  gpu.peer->leave();
  gpu.peer->leave();
  EXPECT_TRUE(server_.open_.empty());
  EXPECT_FALSE(connection()->connected);
  EXPECT_FALSE(gpu.peer->say("\n"));
  EXPECT_TRUE(gpu.peer->ended());
}

TEST_F(AgentSessionsTest, WhatComesInPiecesIsHeardOnceItIsWhole) {
  const auto gpu = dial();
  const auto line = encode(AgentFrame{gpu.session, 1, 0, 0, hello_of("gpu-3", "boot-1")}) + "\n";
  for (const char byte : line) {
    EXPECT_TRUE(server_.received_.empty());
    EXPECT_TRUE(gpu.peer->say(std::string(1, byte)));
  }
  EXPECT_EQ(server_.received_.size(), 1U);
}

TEST_F(AgentSessionsTest, ACutAtAnyByteLosesTheLineAndNothingElse) {
  const auto line = encode(AgentFrame{Session{1}, 1, 0, 0, hello_of("gpu-3", "boot-1")}) + "\n";
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    const auto gpu = dial();
    const auto whole = encode(AgentFrame{gpu.session, 1, 0, 0, hello_of("gpu-3", "boot-1")}) + "\n";
    EXPECT_TRUE(gpu.peer->say(whole.substr(0, cut)));
    gpu.peer->leave();
  }
  EXPECT_TRUE(server_.received_.empty());
  EXPECT_TRUE(server_.open_.empty());
  dial_and_greet();
  EXPECT_EQ(server_.received_.size(), 1U);
}

TEST_F(AgentSessionsTest, LastWordsAreKnown) {
  const auto gpu = dial_and_greet();
  clock_.advance(std::chrono::seconds{7});
  gpu.peer->say("\n");
  EXPECT_EQ(connection()->last_heard, clock_.now());
  EXPECT_EQ(connection()->version, kServerVersion);
  EXPECT_FALSE(sessions_->connection("gpu-4").has_value());
}

// ---- who it is, and where ----

TEST_F(AgentSessionsTest, AHelloByAnotherNameIsRefused) {
  const auto gpu = dial();
  say(gpu, hello_of("gpu-4", "boot-1"));
  EXPECT_EQ(refusal(gpu).message,
            "This machine joined as 'gpu-3', but its agent calls it 'gpu-4'.");
  EXPECT_TRUE(server_.received_.empty());
  EXPECT_TRUE(server_.open_.empty());
}

TEST_F(AgentSessionsTest, WhatTheInvitationSaysGoesBeforeWhatTheMachineSays) {
  const KnownNode node{"gpu-3", 1, {"r1", "s1", {{"disk", "nvme"}, {"room", "2"}}}};
  const auto gpu = dial(node);
  auto hello = hello_of("gpu-3", "boot-1");
  hello.node.rack = "mine";
  hello.node.labels = {{"disk", "tape"}, {"owner", "ann"}};
  say(gpu, hello);
  EXPECT_EQ(heard(0).node.rack, "r1");
  EXPECT_EQ(heard(0).node.network_switch, "s1");
  EXPECT_EQ(heard(0).node.labels, (std::map<std::string, std::string>{
                                      {"disk", "nvme"}, {"owner", "ann"}, {"room", "2"}}));

  hello.node.rack = "another";
  say(gpu, NodeChanged{hello.node}, 2);
  EXPECT_EQ(std::get<NodeChanged>(*server_.received_.at(1).message).node.rack, "r1");
}

TEST_F(AgentSessionsTest, WhereTheInvitationSaysNothingTheMachineDoes) {
  const auto gpu = dial();
  auto hello = hello_of("gpu-3", "boot-1");
  hello.node.rack = "mine";
  hello.node.labels = {{"disk", "tape"}};
  say(gpu, hello);
  EXPECT_EQ(heard(0).node, hello.node);
}

TEST_F(AgentSessionsTest, WhatComesBeforeHelloIsNotHeard) {
  const auto gpu = dial();
  say(gpu, NodeChanged{hello_of("gpu-3", "").node}, 1);
  EXPECT_TRUE(server_.received_.empty());
  EXPECT_FALSE(connection()->connected);
}

TEST_F(AgentSessionsTest, AHelloThatIsToldAgainIsNoOtherMachine) {
  const auto gpu = dial_and_greet();
  say(gpu, hello_of("gpu-3", "boot-1"));
  EXPECT_EQ(server_.received_.size(), 2U);
  EXPECT_TRUE(connection()->connected);
}

// ---- a second connection ----

TEST_F(AgentSessionsTest, AMachineThatDialsAnewEndsItsFirstConnection) {
  const auto first = dial_and_greet();
  const auto second = dial_and_greet();
  EXPECT_EQ(server_.open_, std::vector{second.session});
  EXPECT_TRUE(first.peer->ended());
  EXPECT_FALSE(second.peer->ended());
  EXPECT_EQ(server_.received_.size(), 2U);
  EXPECT_TRUE(connection()->connected);
}

TEST_F(AgentSessionsTest, ACopyOfAMachineIsRefusedAndTheFirstGoesOn) {
  const auto first = dial_and_greet("boot-1", "10.0.0.7");
  const auto copy = dial_and_greet("boot-2", "10.0.0.8");
  const auto why = refusal(copy);
  EXPECT_EQ(why.code, ErrorCode::conflict);
  EXPECT_EQ(why.message,
            "Two machines show the identity of node 'gpu-3': 10.0.0.7 (boot boot-1) is connected, "
            "10.0.0.8 (boot boot-2) is not heard.");
  EXPECT_NE(why.hint.find("'paceline node remove gpu-3'"), std::string::npos);
  EXPECT_EQ(server_.open_, std::vector{first.session});
  EXPECT_EQ(server_.received_.size(), 1U);

  say(first, NodeChanged{hello_of("gpu-3", "").node}, 2);
  EXPECT_EQ(server_.received_.size(), 2U);
}

TEST_F(AgentSessionsTest, AfterAnotherBootAMachineIsHeardOnceTheFirstIsGoneForAWhile) {
  std::vector<std::string> kept;
  open({.version = std::string(kServerVersion),
        .keep_boot = [&](const std::string& node, const std::string& boot) -> Result<void> {
          kept.push_back(node + " " + boot);
          return {};
        }});
  const auto first = dial_and_greet("boot-1");
  first.peer->leave();
  const auto early = dial_and_greet("boot-2");
  EXPECT_EQ(refusal(early).code, ErrorCode::conflict);
  clock_.advance(kOtherBootAfter);
  const auto second = dial_and_greet("boot-2");
  EXPECT_EQ(server_.open_, std::vector{second.session});
  EXPECT_EQ(server_.received_.size(), 2U);
  EXPECT_EQ(kept, (std::vector<std::string>{"gpu-3 boot-1", "gpu-3 boot-2"}));
}

TEST_F(AgentSessionsTest, OfConnectionsWithoutHelloANodeHasOne) {
  const auto first = dial_and_greet();
  for (int i = 0; i < 20; ++i) dial();
  EXPECT_EQ(server_.open_.size(), 2U);
  EXPECT_FALSE(first.peer->ended());
}

// ---- what is no agent ----

TEST_F(AgentSessionsTest, LinesThatAreNoFramesEndTheSessionWithAReason) {
  for (const char* line : {"hello\n", "{}\n", "\x01\xff\n", "[[[[[[[[\n"}) {
    const auto gpu = dial();
    gpu.peer->say(line);
    EXPECT_EQ(refusal(gpu).code, ErrorCode::data) << line;
  }
  EXPECT_TRUE(server_.open_.empty());
  EXPECT_TRUE(server_.received_.empty());
}

TEST_F(AgentSessionsTest, AFrameOfAnotherSessionEndsThisOne) {
  const auto crowded_out = dial_and_greet();
  const auto other = dial({.id = "gpu-4", .serial = 1});
  other.peer->say(encode(AgentFrame{crowded_out.session, 2, 0, 0, hello_of("gpu-3", "boot-1")}) +
                  "\n");
  EXPECT_EQ(refusal(other).message, "A frame of another session came over this connection.");
  EXPECT_EQ(server_.open_, std::vector{crowded_out.session});
  EXPECT_EQ(server_.received_.size(), 1U);
}

TEST_F(AgentSessionsTest, ALineWithoutAnEndIsCutAtItsBound) {
  const auto gpu = dial();
  const std::string piece(1 << 20, 'x');
  int pieces = 0;
  while (pieces < 20 && gpu.peer->say(piece)) ++pieces;
  EXPECT_EQ(pieces, 16);
  EXPECT_TRUE(server_.open_.empty());
  EXPECT_TRUE(gpu.peer->ended());
}

TEST_F(AgentSessionsTest, AnAgentThatNeverReadsIsCutOffAtTheBound) {
  open({.version = std::string(kServerVersion), .queue_bytes_max = 10'000});
  const auto gpu = dial_and_greet();
  auto far = sessions_->words({.id = "gpu-4", .serial = 1}, kServerVersion);
  const auto deaf = server_.newest_;
  for (int i = 0; i < 200; ++i) server_.send_({deaf, 1, 0, 0, should_stop(std::string(100, 'x'))});
  EXPECT_EQ(server_.open_.size(), 2U) << "nothing ends while the server speaks";
  sessions_->pump();
  EXPECT_EQ(server_.open_, std::vector{gpu.session});
  EXPECT_EQ((*far)->presence(), ServerStream::Presence::gone);
}

TEST_F(AgentSessionsTest, AnotherVersionIsRefusedBeforeThereIsASession) {
  const auto far = sessions_->words({.id = "gpu-3", .serial = 1}, "0.3.0");
  ASSERT_FALSE(far.has_value());
  EXPECT_EQ(far.error().code, ErrorCode::conflict);
  EXPECT_TRUE(server_.open_.empty());
  EXPECT_TRUE(sessions_->words({.id = "gpu-3", .serial = 1}, "0.2.4").has_value());
}

// ---- ends ----

TEST_F(AgentSessionsTest, ARemovedNodeIsCutOffWithAllItsConnections) {
  const auto first = dial_and_greet();
  const auto waiting = dial();
  const auto other = dial({.id = "gpu-4", .serial = 1});
  sessions_->cut("gpu-3");
  sessions_->cut("unknown");
  EXPECT_EQ(server_.open_, std::vector{other.session});
  EXPECT_TRUE(first.peer->ended());
  EXPECT_TRUE(waiting.peer->ended());
  EXPECT_FALSE(connection().has_value());
}

TEST_F(AgentSessionsTest, SilenceEndsASessionAndBeatsKeepOne) {
  open({.version = std::string(kServerVersion), .pulse = {.beat = std::chrono::milliseconds{20}}});
  const auto silent = dial_and_greet();
  const auto other = dial({.id = "gpu-4", .serial = 1});
  say(other, hello_of("gpu-4", "boot-9"));
  while (connection()->connected) {
    other.peer->say("\n");
    ASSERT_GT(io_.run_one(), 0U);
  }
  EXPECT_EQ(server_.open_, std::vector{other.session});
  EXPECT_TRUE(silent.peer->ended());
}

TEST_F(AgentSessionsTest, TheServerBeatsToo) {
  open({.version = std::string(kServerVersion), .pulse = {.beat = std::chrono::milliseconds{20}}});
  const auto gpu = dial_and_greet();
  EXPECT_EQ(gpu.peer->lines(2), (std::vector<std::string>{"", ""}));
}

TEST_F(AgentSessionsTest, ARefusalCanBeReadThoughTheAgentStillSpeaks) {
  const auto gpu = dial();
  say(gpu, hello_of("gpu-4", "boot-1"));
  EXPECT_TRUE(gpu.peer->say("more\n"));
  EXPECT_EQ(refusal(gpu).code, ErrorCode::conflict);
  gpu.peer->leave();
  gpu.peer->await_end();
  EXPECT_TRUE(gpu.peer->ended());
}

TEST_F(AgentSessionsTest, ItsEndEndsTheConnections) {
  const auto gpu = dial_and_greet();
  sessions_.reset();
  EXPECT_TRUE(gpu.peer->ended());
  EXPECT_FALSE(gpu.peer->say("\n"));
}

}  // namespace
}  // namespace paceline
