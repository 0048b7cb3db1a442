#include "messages/notifier.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/memory/memory_store.hpp"
#include "store/sqlite/scratch_testing.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span;
using testing::World;

class NotifierTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }

  // As after a restart, or a crash: what wasn't in the outbox is not known.
  void open() {
    notifier.reset();
    auto outbox = MessageOutbox::open(scratch.dir() / "messages.db");
    ASSERT_TRUE(outbox) << outbox.error().message;
    options.server = "gpu1";
    options.from = {"paceline@lab"};
    options.reason = [](const Job&) { return "because"; };
    notifier = std::make_unique<Notifier>(world.state(), store, std::move(*outbox), options);
    ASSERT_TRUE(notifier->begin(world.now()));
    seen = world.journal().size();
  }
  // Tells of what happened since, entry by entry, with the state as it is then.
  void tell() {
    std::vector<JobId> jobs;
    for (const Job& job : world.state().jobs()) jobs.push_back(job.id);
    for (; seen < world.journal().size(); ++seen)
      notifier->take({&world.journal()[seen], 1}, jobs, world.now());
    notifier->step(world.now());
  }
  JobId submit(Notify notify, std::string_view literal = "1") {
    const JobId job = world.submit(literal);
    Batch batch;
    batch.notify.emplace_back(job, std::move(notify));
    EXPECT_TRUE(store.append(batch));
    tell();
    return job;
  }
  void run(JobId job) {
    world.round();
    world.started(job);
    tell();
  }
  void report(JobId job) {
    Progress progress;
    progress.step = 1;
    progress.reported_at = world.now();
    world.report(job, progress);
    tell();
  }
  std::vector<Outgoing> waiting() {
    auto outbox = MessageOutbox::open(scratch.dir() / "messages.db");
    return (*outbox)->due(world.now() + span("1h"), 1'000, 1'000);
  }
  std::vector<std::string> kinds() {
    std::vector<std::string> found;
    for (const auto& message : waiting())
      found.push_back(fmt::format("{} {}", message.job.value, to_string(message.kind)));
    std::ranges::sort(found);
    return found;
  }

  Scratch scratch;
  World world{"1x4 cpu"};
  MemoryStore store;
  Notifier::Options options;
  std::unique_ptr<Notifier> notifier;
  std::size_t seen = 0;
};

const Notify kAll{{"https://h/x"}, {kMessageKinds.begin(), kMessageKinds.end()}, span("30m")};

TEST_F(NotifierTest, TellsWhoAskedAndNobodyElse) {
  const JobId asked = submit(kAll), silent = world.submit("1");
  run(asked);
  world.started(silent);
  world.ended(silent);
  world.ended(asked, ending("1"));
  tell();
  EXPECT_THAT(kinds(), ElementsAre("1 failed", "1 started"));
  EXPECT_EQ(waiting()[0].sender, world.job(asked).spec->uid);
}

TEST_F(NotifierTest, ARestartMakesNothingTwiceAndMissesNothing) {
  const JobId job = submit(kAll);
  run(job);
  open();
  EXPECT_THAT(kinds(), ElementsAre("1 started"));
  world.ended(job);  // and the server dies before it makes a message
  open();
  EXPECT_THAT(kinds(), ElementsAre("1 ended", "1 started"));
  auto outbox = MessageOutbox::open(scratch.dir() / "messages.db");
  for (const auto& message : waiting()) ASSERT_TRUE((*outbox)->sent(message));
  open();
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(NotifierTest, AnOperatorsHookIsToldOfWhatHappensFromThenOn) {
  const JobId before = world.submit("1"), later = world.submit("1 user=bob");
  world.round();
  world.started(before);
  world.advance(span("1m"));
  options.hooks = {{"https://ops/x", {MessageKind::started, MessageKind::ended}, {}}};
  open();
  world.advance(span("1m"));
  world.started(later);
  world.ended(before);
  tell();
  EXPECT_THAT(kinds(), ElementsAre("1 ended", "2 started"));
  EXPECT_EQ(waiting()[0].sender, Sender());
  options.hooks[0].users = {"bob"};
  world.advance(span("1m"));
  open();
  world.advance(span("1m"));
  world.ended(later);
  tell();
  EXPECT_THAT(kinds(), ElementsAre("1 ended", "2 ended", "2 started"));
}

TEST_F(NotifierTest, AStallIsToldWhenItIsDueAndAgainAfterTheNextReport) {
  const JobId job = submit(kAll);
  run(job);
  report(job);
  EXPECT_EQ(notifier->due(), world.now() + span("30m") + span("5s"))
      << "a report comes that late at the most";
  world.advance(span("31m"));
  notifier->step(world.now());
  notifier->step(world.now());
  EXPECT_THAT(kinds(), ElementsAre("1 stalled", "1 started"));
  open();
  world.advance(span("40m"));
  notifier->step(world.now());
  EXPECT_THAT(kinds(), SizeIs(2));
  report(job);
  world.advance(span("31m"));
  notifier->step(world.now());
  EXPECT_THAT(kinds(), ElementsAre("1 stalled", "1 stalled", "1 started"));
}

TEST_F(NotifierTest, OwnerAndOperatorAreEachToldOfAStallAfterTheirOwnSpan) {
  options.hooks = {{"https://ops/x", {MessageKind::stalled}, {}}};
  options.limits.progress_interval = 0;
  open();
  const JobId patient = submit({{"https://h/x"}, {MessageKind::stalled}, span("2h")});
  const JobId hasty = submit({{"https://h/x"}, {MessageKind::stalled}, span("1m")});
  run(patient);
  run(hasty);
  report(patient);
  report(hasty);
  const auto told_to = [&] {
    std::vector<std::string> found;
    for (const auto& message : waiting())
      found.push_back(fmt::format("{} {}", message.job.value, message.to));
    std::ranges::sort(found);
    return found;
  };
  const auto after = [&](const char* time) {
    world.advance(span(time));
    notifier->step(world.now());
    return told_to();
  };
  EXPECT_THAT(after("1m"), ElementsAre("2 https://h/x"));
  EXPECT_THAT(after("29m"), ElementsAre("1 https://ops/x", "2 https://h/x", "2 https://ops/x"));
  open();
  EXPECT_THAT(after("119m"), SizeIs(3)) << "nobody is told twice, over a restart too";
  EXPECT_THAT(after("1m"), SizeIs(4));
  EXPECT_THAT(told_to(), ::testing::Contains("1 https://h/x"));
  EXPECT_EQ(notifier->due(), std::nullopt);
}

TEST_F(NotifierTest, WhatReportsAllTheTimeHasNotStalled) {
  options.limits.progress_interval = 60;
  open();
  const JobId job = submit({{"https://h/x"}, {MessageKind::stalled}, span("3s")});
  run(job);
  for (int i = 0; i < 5; ++i) {
    report(job);  // one of many, of which the journal has one a minute
    world.advance(span("1m"));
    notifier->step(world.now());
  }
  EXPECT_THAT(kinds(), IsEmpty());
  world.advance(span("4s"));
  notifier->step(world.now());
  EXPECT_THAT(kinds(), ElementsAre("1 stalled"));
}

TEST_F(NotifierTest, WhatIsOverALimitIsLeftOutForGood) {
  options.limits.messages_per_user = 3;
  options.limits.waiting_messages_per_user = 2;
  open();
  for (int i = 0; i < 4; ++i) {
    const JobId job = submit(kAll);
    run(job);
    world.ended(job);
    tell();
  }
  EXPECT_THAT(waiting(), SizeIs(2));
  open();
  EXPECT_THAT(waiting(), SizeIs(2));
  auto outbox = MessageOutbox::open(scratch.dir() / "messages.db");
  for (const auto& message : waiting()) ASSERT_TRUE((*outbox)->sent(message));
  for (int i = 0; i < 2; ++i) {
    const JobId job = submit(kAll);
    run(job);
  }
  EXPECT_THAT(waiting(), SizeIs(1)) << "three in a day";
}

TEST(Outbox, KeepsWhatIsPutOffAndWhatIsGivenUpUntilItsJobIsForgotten) {
  const Scratch scratch;
  auto outbox = std::move(*MessageOutbox::open(scratch.dir() / "messages.db"));
  const Outgoing message{"id", "https://h", JobId{7}, MessageKind::failed, 1000, Time{}, "{}", 0};
  Told ended;
  ended.ended = true;
  ASSERT_TRUE(outbox->add({.messages = {message, message}, .told = {{JobId{7}, ended}}}));
  ASSERT_THAT(outbox->due(Time{}, 9, 9), SizeIs(1));
  ASSERT_TRUE(outbox->put_off(message, Time{} + span("30s"), "the answer was 500"));
  EXPECT_THAT(outbox->due(Time{}, 9, 9), IsEmpty());
  EXPECT_EQ(outbox->next_due(), Time{} + span("30s"));
  outbox = std::move(*MessageOutbox::open(scratch.dir() / "messages.db"));
  const auto due = outbox->due(Time{} + span("1m"), 9, 9);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].tries, 1U);
  EXPECT_EQ(due[0].payload, "{}");
  ASSERT_TRUE(outbox->given_up(due[0], "the answer was 410"));
  EXPECT_EQ(outbox->sums(JobId{7}).given_up, 1U);
  EXPECT_EQ(outbox->sums(JobId{7}).problem, "the answer was 410");
  ASSERT_TRUE(outbox->add({.forgotten = {JobId{7}}}));
  EXPECT_EQ(outbox->sums(JobId{7}).given_up, 0U);
  EXPECT_THAT(*outbox->told(), IsEmpty());
}

TEST(Outbox, AnAddressThatTakesNothingLeavesRoomForTheOthers) {
  const Scratch scratch;
  auto outbox = std::move(*MessageOutbox::open(scratch.dir() / "messages.db"));
  OutboxBatch batch;
  for (int i = 0; i < 100; ++i)
    batch.messages.push_back({fmt::format("{}", i), i < 99 ? "https://dead" : "https://well",
                              JobId{7}, MessageKind::ended, Sender(), Time{} + Duration{i}, "{}",
                              0});
  ASSERT_TRUE(outbox->add(batch));
  const auto due = outbox->due(Time{} + span("1m"), 32, 1);
  ASSERT_THAT(due, SizeIs(2));
  EXPECT_EQ(due[0].id, "0");
  EXPECT_EQ(due[1].to, "https://well");
}

}  // namespace
}  // namespace paceline
