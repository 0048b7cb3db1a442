#include "messages/sender.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "store/sqlite/scratch_testing.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kNobody = 4'000'000'001;  // has no account

// It may have one again: name services fail for a while.
TEST(MessageSender, AMessageWhoseOwnerIsNotFoundWaits) {
  const Scratch scratch;
  const auto file = scratch.dir() / "messages.db";
  auto outbox = std::move(*MessageOutbox::open(file));
  Told ended;
  ended.ended = true;
  ASSERT_TRUE(outbox->add(
      {.messages =
           {{"id", "http://127.0.0.1:9", JobId{7}, MessageKind::ended, kNobody, {}, "{}", 0}},
       .told = {{JobId{7}, ended}}}));
  const auto sender = MessageSender::start(
      {.outbox = file, .curl = "/bin/false", .as_owner = true, .now = [] { return Time{}; }});
  ASSERT_TRUE(sender) << sender.error().message;
  while (outbox->sums(JobId{7}).problem.empty()) std::this_thread::yield();
  EXPECT_EQ(outbox->sums(JobId{7}).waiting, 1U);
  EXPECT_EQ(outbox->sums(JobId{7}).given_up, 0U);
}

}  // namespace
}  // namespace paceline
