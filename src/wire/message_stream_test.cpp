#include "wire/message_stream.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "base/rng.hpp"

namespace paceline {
namespace {

constexpr Duration kTick = std::chrono::milliseconds{100};

struct Packet {
  std::uint64_t number;  // 0: only an answer
  int message;
  std::uint64_t received;
};

// Both halves with a network between them that loses, doubles and reorders.
struct Line {
  explicit Line(std::uint64_t seed) : rng(seed) {}

  void put(std::vector<Packet>& wire, const Packet& packet) {
    if (rng.chance(loss)) return;
    const auto copies = 1 + rng.below(2);
    for (std::uint64_t i = 0; i < copies; ++i) {
      wire.insert(wire.begin() + static_cast<std::ptrdiff_t>(rng.below(wire.size() + 1)), packet);
    }
  }

  void tick() {
    now += kTick;
    out.flush(now, [&](std::uint64_t number, int message) { put(there, {number, message, 0}); });
    for (const auto& packet : std::exchange(there, {})) {
      in.put(packet.number, packet.message);
      while (const auto message = in.next()) taken.push_back(*message);
    }
    if (in.owes_answer()) put(back, {0, 0, in.taken()});
    in.answered();
    for (const auto& packet : std::exchange(back, {})) {
      out.received(now, packet.received);
      out.forget(packet.received);
    }
  }

  Rng rng;
  double loss = 0.3;
  Time now;
  Outbox<int> out;
  Inbox<int> in;
  std::vector<Packet> there, back;
  std::vector<int> taken;
};

RC_GTEST_PROP(MessageStream, DeliversOnceAndInOrderOverABadNetwork, (std::uint64_t seed)) {
  Line line(seed);
  std::vector<int> sent;
  for (int i = 0; i < 500; ++i) {
    if (i % 3 == 0) line.tick();
    line.out.push(i);
    sent.push_back(i);
  }
  for (int i = 0; i < 20'000 && !line.out.kept().empty(); ++i) line.tick();
  RC_ASSERT(line.taken == sent);
  RC_ASSERT(line.out.kept().empty());
  RC_ASSERT(!line.out.next_due());
}

std::vector<std::uint64_t> flushed(Outbox<int>& out, Time now) {
  std::vector<std::uint64_t> numbers;
  out.flush(now, [&](std::uint64_t number, int) { numbers.push_back(number); });
  return numbers;
}

TEST(MessageStream, SendsAgainFromTheFirstMissingOneWithGrowingPauses) {
  Outbox<int> out;
  Time now;
  out.push(7);
  out.push(8);
  EXPECT_EQ(flushed(out, now), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(*out.next_due(), now + kResendFirst);
  EXPECT_TRUE(flushed(out, now + kResendFirst / 2).empty());
  out.received(now, 1);
  now += kResendFirst;
  EXPECT_EQ(flushed(out, now), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(*out.next_due(), now + 2 * kResendFirst);
}

TEST(MessageStream, KeepsAtMostAWindowUnderWay) {
  Outbox<int> out;
  for (int i = 0; i < 1000; ++i) out.push(i);
  EXPECT_EQ(flushed(out, {}).size(), kStreamWindow);
  out.received({}, 10);
  EXPECT_EQ(flushed(out, {}).size(), 10U);
}

TEST(MessageStream, AsksAgainWhetherTheLastOneIsDurable) {
  Outbox<int> out;
  out.push(7);
  flushed(out, {});
  out.received({}, 1);
  EXPECT_EQ(flushed(out, Time{kResendFirst}), (std::vector<std::uint64_t>{1}));
  out.forget(1);
  EXPECT_FALSE(out.next_due());
}

TEST(MessageStream, ANewSessionSendsWhatIsKeptUnderNewNumbers) {
  Outbox<int> out;
  for (int i = 0; i < 3; ++i) out.push(i);
  flushed(out, {});
  out.received({}, 2);
  out.forget(1);
  out.restart();
  out.drop_unsent([](int message) { return message == 1; });
  out.push_front(9);
  std::vector<std::pair<std::uint64_t, int>> sent;
  out.flush({}, [&](std::uint64_t number, int message) { sent.emplace_back(number, message); });
  EXPECT_EQ(sent, (std::vector<std::pair<std::uint64_t, int>>{{1, 9}, {2, 2}}));
}

TEST(MessageStream, ForgetsNothingThatWasNotReceived) {
  Outbox<int> out;
  out.push(7);
  flushed(out, {});
  out.forget(1);
  EXPECT_EQ(out.kept().size(), 1U);
}

}  // namespace
}  // namespace paceline
