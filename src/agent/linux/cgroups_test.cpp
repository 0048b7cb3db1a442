#include "agent/linux/cgroups.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kHybrid =
    "31 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "32 23 0:30 /docker/abc /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup rw,memory\n"
    "41 23 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr std::string_view kOwn =
    "4:memory:/docker/abc/job\n3:cpu,cpuacct:/user.slice\n0::/system.slice/x.service\n";

TEST(CgroupMounts, FindsThePlaceOfAController) {
  EXPECT_EQ(find_cgroup_mount(kHybrid, kOwn, "cpu").own, "/sys/fs/cgroup/cpu,cpuacct/user.slice");
  EXPECT_EQ(find_cgroup_mount(kHybrid, kOwn, "").own,
            "/sys/fs/cgroup/unified/system.slice/x.service");
  EXPECT_EQ(find_cgroup_mount(kHybrid, kOwn, "freezer").mount_point, "");
}

TEST(CgroupMounts, InAContainerTheMountShowsApartOfTheHierarchy) {
  EXPECT_EQ(find_cgroup_mount(kHybrid, kOwn, "memory").own, "/sys/fs/cgroup/memory/job");
}

TEST(CgroupMembers, OnesThatCannotBeSeenAreLeftOut) {
  EXPECT_EQ(parse_members("17\n0\n4711\n"), (std::vector<pid_t>{17, 4711}));
  EXPECT_EQ(parse_members("0\n-1\n\nabc\n12x\n99999999999\n"), std::vector<pid_t>{});
}

// A process of its own in a group of its own.
class GroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WorkerGroup(cgroups_.plan("probe", {})).tracks()) GTEST_SKIP() << "no control groups here";
  }
  pid_t fork_into(const WorkerGroup& group, void (*run)()) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (!group.enter()) ::_exit(99);
    run();
    ::_exit(0);
  }
  static void wait_for_ever() {
    while (true) ::pause();
  }

  std::string name_ = "paceline-test-" + std::to_string(::getpid());
  Cgroups cgroups_ = Cgroups::discover(name_);
};

TEST_F(GroupTest, HoldsFreezesAndLetsGo) {
  const CgroupPlan plan = cgroups_.plan("1.1.0", {1.5, 1 << 30, {}});
  const WorkerGroup group(plan);
  ASSERT_TRUE(group.create());
  const pid_t pid = fork_into(group, wait_for_ever);
  EXPECT_TRUE(eventually([&] { return group.members() == std::vector<pid_t>{pid}; }));
  EXPECT_FALSE(group.remove());
  EXPECT_TRUE(eventually([&] { return group.freeze(); }));
  ::kill(pid, SIGKILL);
  group.thaw();
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(eventually([&] { return group.remove(); }));
  EXPECT_NE(::access(plan.freezer.substr(0, plan.freezer.rfind('/')).c_str(), F_OK), 0);
}

TEST_F(GroupTest, WritesTheLimits) {
  const CgroupPlan plan = cgroups_.plan("1.1.0", {1.5, 1 << 30, {}});
  if (plan.cpu.empty() || plan.memory.empty())
    GTEST_SKIP() << "not the first version of control groups";
  const WorkerGroup group(plan);
  ASSERT_TRUE(group.create());
  EXPECT_EQ(contents(plan.cpu + "/cpu.cfs_quota_us"), "150000\n");
  EXPECT_EQ(contents(plan.memory + "/memory.limit_in_bytes"), "1073741824\n");
  EXPECT_TRUE(group.remove());
}

TEST_F(GroupTest, HasOnlySoManyProcesses) {
  const CgroupPlan plan = cgroups_.plan("1.1.0", {0, 0, {}, 3});
  const WorkerGroup group(plan);
  ASSERT_TRUE(group.create());
  if (!group.counts_processes()) {
    EXPECT_TRUE(group.remove());
    GTEST_SKIP() << "no writable pids control group here";
  }
  const pid_t pid = fork_into(group, [] {
    int made = 0;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = ::fork();
      if (child == 0) wait_for_ever();
      made += child > 0 ? 1 : 0;
    }
    ::_exit(made);
  });
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  for (const pid_t member : group.members()) ::kill(member, SIGKILL);
  EXPECT_TRUE(eventually([&] { return group.remove(); }));
}

TEST_F(GroupTest, UsesOnlyTheControllersThatAreNeeded) {
  const CgroupPlan plan = cgroups_.plan("1.1.0", {});
  EXPECT_TRUE(plan.cpu.empty());
  EXPECT_TRUE(plan.memory.empty());
  EXPECT_TRUE(plan.pids.empty());
}

}  // namespace
}  // namespace paceline::agent
