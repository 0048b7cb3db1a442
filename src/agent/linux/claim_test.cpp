#include "agent/linux/claim.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "agent/linux/control.hpp"
#include "agent/linux/fields.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
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
  order.cgroups.pids = "/sys/fs/cgroup/pids/p/7.2.3";
  order.cgroups.limits = {1.5, 1ULL << 33, {"c 195:1 rwm"}, 4096};
  order.limit = RunLimit{Duration{7'200'000'000}, 10, Duration{120'000'000}};
  order.lease_us = 900'000'000;
  order.lease_signal = 10;
  order.lease_grace_us = 120'000'000;
  order.shm = "/dev/shm/p/7.2";
  order.port = 20008;
  order.groups = {1000, 27};
  order.status_port = 20000;
  order.status_token = "0123456789abcdef";
  order.log_limit_bytes = 1U << 20;
  order.rank = 1;
  order.submitted_us = 1'763'636'112'123'456;
  return order;
}

TEST(Claim, AnOrderSurvivesItsText) {
  const auto read = parse_order(to_text(order()));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(order()));
  EXPECT_EQ(read->command, order().command);
  EXPECT_EQ(read->cgroups.limits.cpus, 1.5);
  EXPECT_EQ(read->slots, order().slots);
  EXPECT_EQ(read->limit, order().limit);
  EXPECT_EQ(read->lease_us, order().lease_us);
  EXPECT_EQ(read->lease_signal, order().lease_signal);
  EXPECT_EQ(read->lease_grace_us, order().lease_grace_us);
  EXPECT_EQ(read->groups, order().groups);
  EXPECT_EQ(read->status_port, order().status_port);
  EXPECT_EQ(read->status_token, order().status_token);
  EXPECT_EQ(read->rank, order().rank);
  EXPECT_EQ(read->log_limit_bytes, order().log_limit_bytes);
  EXPECT_EQ(read->submitted_us, order().submitted_us);
}

// So a claim of the version before is exactly what that wrote.
TEST(Claim, AnOrderNamesOnlyWhatItHasOfItsOwn) {
  WorkerOrder without = order();
  without.groups = {};
  without.status_port = 0;
  without.status_token = {};
  without.log_limit_bytes = 0;
  without.submitted_us = 0;
  without.lease_us = without.lease_grace_us = 0;
  without.lease_signal = 15;
  without.rank = without.key.number;
  const std::string text = to_text(without);
  for (const char* name : {"group", "status_port", "status_token", "rank", "log_limit",
                           "submitted_us", "lease_us", "lease_signal", "lease_grace_us"})
    EXPECT_EQ(text.find(std::string(1, '\0') + name + '\0'), std::string::npos) << name;
  ASSERT_TRUE(parse_order(text));
  EXPECT_EQ(parse_order(text)->rank, without.key.number);
}

TEST(Claim, AnOrderThatWasCutOffIsNone) {
  const std::string text = to_text(order());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_order(std::string_view(text).substr(0, size))) << size;
}

// What one turned bit makes of it is no order.
TEST(Claim, EveryBitOfAnOrderCounts) {
  const std::string text = to_text(order());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_order(damaged)) << bit;
  }
  EXPECT_FALSE(parse_order(text + text));
  EXPECT_FALSE(parse_order(text + std::string(2, '\0')));
}

TEST(Claim, AnOrderOfTheFormatWithoutDigestsIsReadWhole) {
  const std::string text = to_text(order(), ClaimFormat::plain);
  EXPECT_TRUE(
      text.starts_with(std::string("key\0"
                                   "7.2.3",
                                   9)));
  const auto read = parse_order(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read, ClaimFormat::plain), text);
  std::string renamed = text;
  renamed.replace(renamed.find("marker"), 6, "larker");
  EXPECT_FALSE(parse_order(renamed));
}

TEST(Claim, EveryBitOfAClaimCounts) {
  TempDirectory directory;
  const std::string path = directory / "7.2.3";
  auto made = ClaimFile::create(path, order());
  ASSERT_TRUE(made);
  made->write(WorkerProcesses{{10, 100}, {11, 110}});
  made->write_notice();
  made->write(TailPosition{5, 6, 7});
  made->write(WorkerEnding{Cause::exited, 3, 0, 12, {}});
  const std::string text = contents(path);
  ASSERT_EQ(ClaimFile::open(path).state(), ClaimState::exact);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    const char damaged = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(::pwrite(file.get(), &damaged, 1, static_cast<off_t>(bit / 8)), 1);
    EXPECT_EQ(ClaimFile::open(path).state(), ClaimState::damaged) << bit;
    ASSERT_EQ(::pwrite(file.get(), &text[bit / 8], 1, static_cast<off_t>(bit / 8)), 1);
  }
  EXPECT_EQ(ClaimFile::open(path).state(), ClaimState::exact);
}

TEST(Claim, IsNobodyElses) {
  TempDirectory directory;
  ASSERT_TRUE(ClaimFile::create(directory / "7.2.3", order()));
  ASSERT_EQ(::rename((directory / "7.2.3").c_str(), (directory / "7.2.4").c_str()), 0);
  EXPECT_EQ(ClaimFile::open(directory / "7.2.4").state(), ClaimState::damaged);
}

TEST(Claim, WhoseWriterDiedOverItIsUnfinished) {
  TempDirectory directory;
  ASSERT_TRUE(ClaimFile::create(directory / "7.2.3", order()));
  ASSERT_EQ(::truncate((directory / "7.2.3").c_str(), 4200), 0);
  const ClaimFile claim = ClaimFile::open(directory / "7.2.3");
  EXPECT_EQ(claim.state(), ClaimState::unfinished);
  claim.write(WorkerProcesses{{10, 100}, {}});
  EXPECT_EQ(claim.state(), ClaimState::damaged);
}

TEST(Claim, AnUnknownCauseIsNoOther) {
  TextWriter text;
  text.add("cause", "preempted");
  text.add("end", "");
  EXPECT_FALSE(parse_ending(text.text()));
  EXPECT_DEATH(static_cast<void>(to_text(WorkerEnding{Cause::cancelled, {}, 0, 1, {}})),
               "cause of its own");
}

// What a newer version wrote reads as nothing here, field by field.
TEST(Claim, AnEndingWithAFieldOfAnotherVersionIsNone) {
  const std::string known = to_text(WorkerEnding{Cause::exited, 3, 0, 12, "so"});
  ASSERT_TRUE(parse_ending(known + std::string(100, '\0')));
  for (const char* name : {"cause", "exit_code", "signal", "at_us", "message", "end"}) {
    std::string other = known;
    other.insert(other.find(name), std::string("core\0001\0", 7));
    EXPECT_FALSE(parse_ending(other)) << name;
  }
}

TEST(Claim, WithAnEndingThatThisVersionDoesNotKnowIsDamaged) {
  TempDirectory directory;
  const auto claim = ClaimFile::create(directory / "7.2.3", order());
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->has_unknown_ending());
  claim->write(WorkerEnding{Cause::exited, 3, 0, 12, {}});
  EXPECT_FALSE(claim->has_unknown_ending());
  write_unknown_ending(directory / "7.2.3", key(7, 2, 3));
  EXPECT_TRUE(claim->has_unknown_ending());
  EXPECT_FALSE(claim->ending());
  EXPECT_EQ(claim->state(), ClaimState::damaged);
}

constexpr std::array kGroups = {&CgroupPlan::unified, &CgroupPlan::freezer, &CgroupPlan::cpu,
                                &CgroupPlan::memory,  &CgroupPlan::devices, &CgroupPlan::pids};

TEST(Marks, AreOnAnOrderOnlyWhereAllOfItIsTheWorkersOwn) {
  TempDirectory directory;
  ASSERT_TRUE(make_directories(directory / "agent/workers", 0700));
  const Marks marks(directory.path());
  for (const ClaimFormat format : {ClaimFormat::plain, ClaimFormat::sealed}) {
    WorkerOrder own = order();
    own.marker = marks.marker(own.key, format);
    for (const auto group : kGroups)
      own.cgroups.*group = "/sys/fs/cgroup/x/" + marks.group(format) + "/7.2.3";
    EXPECT_TRUE(is_marker(own.marker));
    EXPECT_TRUE(marks.are_on(own, format));
    for (const std::string& foreign :
         {std::string("/sys/fs/cgroup/freezer/user.slice"),
          "/sys/fs/cgroup/freezer/" + marks.group(format) + "/7.2.33",
          "/sys/../x/" + marks.group(format) + "/7.2.3", marks.group(format) + "/7.2.3"}) {
      for (const auto group : kGroups) {
        WorkerOrder other = own;
        other.cgroups.*group = foreign;
        EXPECT_FALSE(marks.are_on(other, format)) << foreign;
      }
    }
    for (const std::string& marker :
         {std::string(), own.marker + "0", marks.marker(key(7, 2, 4))}) {
      WorkerOrder other = own;
      other.marker = marker;
      EXPECT_FALSE(marks.are_on(other, format)) << marker;
    }
  }
}

// Two servers may stand at one path of different mounts.
TEST(Marks, OfTwoDirectoriesAtOnePathDiffer) {
  TempDirectory directory;
  ASSERT_TRUE(make_directories(directory / "a/agent/workers", 0700));
  ASSERT_TRUE(make_directories(directory / "b/agent/workers", 0700));
  const Marks first(directory / "a");
  ASSERT_EQ(::rename((directory / "a").c_str(), (directory / "c").c_str()), 0);
  ASSERT_EQ(::rename((directory / "b").c_str(), (directory / "a").c_str()), 0);
  const Marks second(directory / "a");
  EXPECT_NE(first.marker(key(1)), second.marker(key(1)));
  EXPECT_NE(first.group(), second.group());
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

// Between the claim and its supervisor's first word only the lock tells that there is one.
TEST(Claim, IsBegunWhileSomebodyHoldsItsLock) {
  TempDirectory directory;
  auto claim = ClaimFile::create(directory / "7.2.3", order());
  const ClaimFile other = ClaimFile::open(directory / "7.2.3");
  EXPECT_TRUE(other.begun());
  claim->release().reset();
  EXPECT_FALSE(other.begun());
  other.write(WorkerProcesses{{10, 100}, {}});
  EXPECT_TRUE(other.begun());
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
  EXPECT_FALSE(parse_ended_line("ended cause=exited exit_code=x signal=0 at_us=1 message="));
  EXPECT_FALSE(parse_ended_line("ended cause=cancelled signal=0 at_us=1 message="));
  for (const char* bad : {"running", "running 0", "running -1", "running x", "running 99999999999"})
    EXPECT_FALSE(parse_running_line(bad)) << bad;
}

}  // namespace
}  // namespace paceline::agent
