#include "agent/linux/claim.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/linux/control.hpp"
#include "agent/linux/fields.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

WorkerOrder order() {
  WorkerOrder order;
  order.key = key(7, 2, 3);
  order.boot_id = "boot";
  order.command = {"python3", "", "a b\n\"c\""};
  order.environment = {"A=1", "B=x=y\n"};
  order.directory = "/home/ann";
  order.umask = 027;
  order.uid = 1000;
  order.shell = true;
  order.setup = "pip install .";
  order.runs_setup = true;
  order.log_offset = 1L << 40;
  order.slots = {4, 5};
  order.cgroups.freezer = "/sys/fs/cgroup/freezer/p/7.2.3";
  order.cgroups.limits = {1.5, 1ULL << 33, {"c 195:1 rwm"}};
  order.port = 20008;
  return order;
}

TEST(Claim, AnOrderSurvivesItsText) {
  const auto read = parse_order(to_text(order()));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(order()));
  EXPECT_EQ(read->command, order().command);
  EXPECT_EQ(read->cgroups.limits.cpus, 1.5);
  EXPECT_EQ(read->slots, order().slots);
}

TEST(Claim, AnOrderThatWasCutOffIsNone) {
  const std::string text = to_text(order());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_order(std::string_view(text).substr(0, size))) << size;
}

TEST(Claim, NamesAreKeys) {
  EXPECT_EQ(claim_name(key(7, 2, 3)), "7.2.3");
  EXPECT_EQ(parse_claim_name("7.2.3"), key(7, 2, 3));
  for (const char* name :
       {"", "7", "7.2", "7.2.", "7.2.3.4", "7.2.-1", "a.b.c", "7.2.3 ", "99999999999.1.1"})
    EXPECT_FALSE(parse_claim_name(name)) << name;
}

TEST(Claim, IsMadeOnce) {
  TempDirectory directory;
  const auto first = ClaimFile::create(directory / "7.2.3", order());
  ASSERT_TRUE(first);
  EXPECT_FALSE(ClaimFile::create(directory / "7.2.3", order()));
}

TEST(Claim, ItsLockLastsAsLongAsAnyCopy) {
  TempDirectory directory;
  auto claim = ClaimFile::create(directory / "7.2.3", order());
  UniqueFd copy(::dup(claim->release().get()));
  const ClaimFile other = ClaimFile::open(directory / "7.2.3");
  EXPECT_FALSE(other.lock());
  copy.reset();
  EXPECT_TRUE(other.lock());
}

TEST(Claim, HoldsWhatBecomesOfTheWorker) {
  TempDirectory directory;
  ASSERT_TRUE(ClaimFile::create(directory / "7.2.3", order()));
  const ClaimFile claim = ClaimFile::open(directory / "7.2.3");
  EXPECT_FALSE(claim.ending());
  EXPECT_FALSE(claim.noticed());
  EXPECT_EQ(claim.processes().main.pid, 0);
  claim.write(WorkerProcesses{{10, 100}, {11, 110}});
  claim.write_notice();
  claim.write(TailPosition{5, 6, 7, 8});
  claim.write(WorkerEnding{Cause::launch_failed, {}, 0, 12, std::string(5000, 'x')});
  EXPECT_EQ(claim.processes().main, (ProcessId{11, 110}));
  EXPECT_TRUE(claim.noticed());
  EXPECT_EQ(claim.tail().other, 6U);
  EXPECT_EQ(claim.ending()->cause, Cause::launch_failed);
  EXPECT_EQ(claim.ending()->message.size(), 2048U);
  EXPECT_EQ(to_text(*claim.order()), to_text(order()));
}

TEST(Control, LinesSurviveTheWire) {
  EXPECT_EQ(to_line({ControlCommand::Kind::notice, 10}), "notice 10\n");
  EXPECT_EQ(parse_command("notice 10")->signal, 10);
  EXPECT_EQ(parse_command("kill")->kind, ControlCommand::Kind::kill);
  EXPECT_FALSE(parse_command("killall"));
  EXPECT_EQ(parse_running_line("running 4711"), 4711);
  const WorkerEnding ending{Cause::exited, 3, 0, 99, "It is = so: a b."};
  const std::string line = ended_line(ending);
  const auto read = parse_ended_line(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(ending));
  EXPECT_FALSE(parse_ended_line("ended cause=exited"));
}

}  // namespace
}  // namespace paceline::agent
