#include "messages/sender.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "files/held_testing.hpp"
#include "store/sqlite/scratch_testing.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kNobody = 4'000'000'001;  // has no account

void add_message(MessageOutbox& outbox, JobId job, std::uint32_t sender) {
  Told ended;
  ended.ended = true;
  const auto id = std::to_string(job.value);
  ASSERT_TRUE(outbox.add(
      {.messages = {{id, "http://127.0.0.1:9", job, MessageKind::ended, sender, {}, "{}", 0}},
       .told = {{job, ended}}}));
}

// It may have one again: name services fail for a while.
TEST(MessageSender, AMessageWhoseOwnerIsNotFoundWaits) {
  const Scratch scratch;
  const auto file = scratch.dir() / "messages.db";
  auto outbox = std::move(*MessageOutbox::open(file));
  add_message(*outbox, JobId{7}, kNobody);
  const auto sender = MessageSender::start(
      {.outbox = file, .curl = "/bin/false", .as_owner = true, .now = [] { return Time{}; }});
  ASSERT_TRUE(sender) << sender.error().message;
  while (outbox->sums(JobId{7}).problem.empty()) std::this_thread::yield();
  EXPECT_EQ(outbox->sums(JobId{7}).waiting, 1U);
  EXPECT_EQ(outbox->sums(JobId{7}).given_up, 0U);
}

TEST(MessageSender, AnOwnerWhomTheNameServiceSaysNothingAboutHoldsUpNobody) {
  constexpr std::uint32_t kHeld = 7, kOther = 8;
  HeldEntries<std::uint32_t, Rights> service;
  service.hold(kHeld);
  const Scratch scratch;
  const auto file = scratch.dir() / "messages.db";
  auto outbox = std::move(*MessageOutbox::open(file));
  add_message(*outbox, JobId{7}, kHeld);
  add_message(*outbox, JobId{8}, kOther);
  auto sender =
      MessageSender::start({.outbox = file,
                            .curl = "/bin/false",
                            .as_owner = true,
                            .find_rights =
                                [find = service.find()](std::uint32_t uid) {
                                  (void)find(uid);
                                  return Result<Rights>(fail(ErrorCode::not_found, "no account"));
                                },
                            .now = [] { return Time{}; }});
  ASSERT_TRUE(sender) << sender.error().message;
  const auto problem = [&](std::uint32_t job) { return outbox->sums(JobId{job}).problem; };
  EXPECT_TRUE(comes_true([&] { return !problem(7).empty() && !problem(8).empty(); }));
  EXPECT_EQ(problem(7), "the name service doesn't answer");
  EXPECT_EQ(outbox->sums(JobId{7}).waiting, 1U);
  sender->reset();  // waits for nobody
}

}  // namespace
}  // namespace paceline
