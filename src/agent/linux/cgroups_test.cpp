#include "agent/linux/cgroups.hpp"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

using ::testing::HasSubstr;

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

TEST(CgroupMounts, OfV2AloneIsWhereThisProcessIs) {
  constexpr std::string_view v2 =
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(find_cgroup_mount(v2, "0::/user.slice/user-1000.slice/run.scope\n", "").own,
            "/sys/fs/cgroup/user.slice/user-1000.slice/run.scope");
  EXPECT_EQ(find_cgroup_mount(v2, "0::/\n", "").own, "/sys/fs/cgroup");
  EXPECT_EQ(find_cgroup_mount(v2, "0::/\n", "cpu").mount_point, "");
}

TEST(CgroupMounts, AGroupWithALongerNameLiesNotBelow) {
  EXPECT_EQ(find_cgroup_mount(kHybrid, "4:memory:/docker/abcdef/job\n", "memory").own,
            "/sys/fs/cgroup/memory");
}

// A tree of groups as the kernel would show it to a process, and where that may make some.
class DiscoveryTest : public ::testing::Test {
 protected:
  void mount(const std::string& name, const std::string& type, const std::string& options) {
    view_.mountinfo += "30 23 0:26 / " + (directory_ / name) + " rw,nosuid shared:4 - " + type +
                       " cgroup " + options + "\n";
  }
  void mount_v2() { mount("v2", "cgroup2", "rw,nsdelegate"); }
  void mount_v1(const std::string& controllers) {
    mount(controllers, "cgroup", "rw," + controllers);
    std::filesystem::create_directories(directory_ / controllers);
  }
  // A group of v2 that hands down what the groups below it are to have.
  void group(const std::string& name, std::string_view controllers, std::string_view handed_down) {
    std::filesystem::create_directories(directory_ / name);
    put(name + "/cgroup.controllers", controllers);
    put(name + "/cgroup.subtree_control", handed_down);
    put(name + "/cgroup.procs", "17\n4711\n");
  }
  // The kernel refuses to let a group with members hand anything down.
  void full_group(const std::string& name, std::string_view controllers) {
    group(name, controllers, "");
    std::filesystem::remove(directory_ / (name + "/cgroup.subtree_control"));
  }
  void put(const std::string& name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::trunc) << text;
  }
  CgroupPlan plan() {
    return Cgroups::discover("paceline-1", view_).plan("7.2.0", {1, 1 << 30, {"c 1:1 rwm"}, 10});
  }
  std::size_t not_enforced() {
    return Cgroups::discover("paceline-1", view_).not_enforced().size();
  }
  std::string worker_in(const std::string& name) {
    return directory_ / (name + "/paceline-1/7.2.0");
  }

  TempDirectory directory_;
  std::set<std::string> mine_;
  CgroupView view_{"", "0::/user.slice/run.scope\n",
                   [this](const std::string& directory) { return mine_.contains(directory); }};
};

TEST_F(DiscoveryTest, TheLeastBoundOfMemoryAboveWorkersHolds) {
  const auto bound = [&] { return Cgroups::discover("paceline-1", view_).memory_bound(); };
  EXPECT_EQ(bound(), std::nullopt);
  mount_v2();
  group("v2", "cpu memory pids\n", "cpu memory pids\n");
  group("v2/user.slice/run.scope", "cpu memory pids\n", "cpu memory pids\n");
  EXPECT_EQ(bound(), std::nullopt);
  put("v2/user.slice/run.scope/memory.max", "max\n");
  EXPECT_EQ(bound(), std::nullopt);
  put("v2/user.slice/memory.max", "8589934592\n");
  EXPECT_EQ(bound(), 8ULL << 30);
  put("v2/user.slice/run.scope/memory.max", "1073741824\n");
  EXPECT_EQ(bound(), 1ULL << 30);
  mine_ = {directory_ / "v2"};
  EXPECT_EQ(bound(), std::nullopt) << "workers are elsewhere";
}

TEST_F(DiscoveryTest, TheBoundOfMemoryOfVersionOneHolds) {
  mount_v1("memory");
  view_.cgroup = "4:memory:/slurm/job_7\n";
  std::filesystem::create_directories(directory_ / "memory/slurm/job_7");
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("memory/slurm/job_7/memory.limit_in_bytes", "4294967296\n");
  EXPECT_EQ(Cgroups::discover("paceline-1", view_).memory_bound(), 4ULL << 30);
}

TEST_F(DiscoveryTest, ADelegatedGroupOfV2IsTheBestPlace) {
  mount_v2();
  group("v2", "cpu memory pids\n", "cpu memory pids\n");
  group("v2/user.slice/run.scope", "cpu memory pids\n", "cpu memory pids\n");
  mine_ = {directory_ / "v2", directory_ / "v2/user.slice/run.scope"};
  EXPECT_EQ(plan().unified, worker_in("v2/user.slice/run.scope"));
  EXPECT_EQ(plan().freezer, "");
  EXPECT_EQ(not_enforced(), 0U);
}

// Of a server that root starts in a shell.
TEST_F(DiscoveryTest, WhereOthersAreMembersTheTopIsThePlace) {
  mount_v2();
  group("v2", "cpu memory pids\n", "cpu memory pids\n");
  full_group("v2/user.slice/run.scope", "cpu memory pids\n");
  mine_ = {directory_ / "v2", directory_ / "v2/user.slice/run.scope"};
  EXPECT_EQ(plan().unified, worker_in("v2"));
}

TEST_F(DiscoveryTest, WhereTheControllersAreNotHandedDownTheTopIsThePlace) {
  mount_v2();
  group("v2", "cpu memory pids\n", "cpu memory\n");
  group("v2/user.slice/run.scope", "memory pids\n", "");
  mine_ = {directory_ / "v2", directory_ / "v2/user.slice/run.scope"};
  EXPECT_EQ(plan().unified, worker_in("v2"));
  EXPECT_EQ(not_enforced(), 1U) << "processes are not counted there";
}

// That the group can hand controllers down once its one member has left for a leaf, a link says here.
TEST_F(DiscoveryTest, TheOnlyMemberOfAGroupMakesRoomForWorkers) {
  mount_v2();
  const std::string own = "v2/user.slice/run.scope";
  full_group(own, "cpu memory pids\n");
  put(own + "/cgroup.procs", std::to_string(::getpid()) + "\n");
  put(own + "/handed_down", "");
  std::filesystem::create_symlink("paceline-server/../handed_down",
                                  directory_ / (own + "/cgroup.subtree_control"));
  mine_ = {directory_ / own};
  EXPECT_EQ(plan().unified, worker_in(own));
}

// Whom its service manager keeps there leaves for a leaf, as a link says here.
TEST_F(DiscoveryTest, WhatWasSetAsideForWorkersIsTheFirstPlace) {
  mount_v2();
  group("v2/user.slice/run.scope", "cpu memory pids\n", "cpu memory pids\n");
  const std::string jobs = "v2/system.slice/jobs.service";
  full_group(jobs, "cpu memory pids\n");
  put(jobs + "/cgroup.procs", "4711\n");
  put(jobs + "/handed_down", "");
  std::filesystem::create_symlink("paceline-server/../handed_down",
                                  directory_ / (jobs + "/cgroup.subtree_control"));
  mine_ = {directory_ / "v2/user.slice/run.scope", directory_ / jobs};
  view_.set_aside = "system.slice/jobs.service";
  EXPECT_EQ(plan().unified, worker_in(jobs));
  EXPECT_TRUE(std::filesystem::exists(directory_ / (jobs + "/paceline-server")));
  view_.set_aside = "system.slice/none.service";
  EXPECT_EQ(plan().unified, worker_in("v2/user.slice/run.scope"));
}

TEST_F(DiscoveryTest, WhereNothingIsDelegatedNothingIsHeld) {
  mount_v2();
  group("v2", "cpu memory pids\n", "cpu memory pids\n");
  group("v2/user.slice/run.scope", "cpu memory pids\n", "cpu memory pids\n");
  EXPECT_FALSE(WorkerGroup(plan()).tracks());
  EXPECT_EQ(not_enforced(), 4U);
}

TEST_F(DiscoveryTest, OneByOneTheControllersOfV1AreFound) {
  for (const char* controllers : {"freezer", "cpu,cpuacct", "memory"}) mount_v1(controllers);
  view_.cgroup = "3:memory:/job\n2:cpu,cpuacct:/job\n1:freezer:/\n0::/\n";
  mine_ = {directory_ / "freezer", directory_ / "cpu,cpuacct", directory_ / "cpu,cpuacct/job"};
  EXPECT_EQ(plan().unified, "");
  EXPECT_EQ(plan().freezer, worker_in("freezer"));
  EXPECT_EQ(plan().cpu, worker_in("cpu,cpuacct/job"));
  EXPECT_EQ(plan().memory, "") << "it is not ours";
  EXPECT_EQ(plan().devices, "") << "it is not mounted";
  EXPECT_EQ(not_enforced(), 2U) << "memory and processes";
}

// Beside v1 the tree of v2 has no controllers, or not those that hold limits.
TEST_F(DiscoveryTest, AHybridMachineIsUsedAsV1) {
  mount_v2();
  for (const char* controllers : {"freezer", "cpu", "memory", "devices", "pids"})
    mount_v1(controllers);
  view_.cgroup = "5:pids:/\n4:devices:/\n3:memory:/\n2:cpu:/\n1:freezer:/\n0::/\n";
  for (const char* handed : {"", "pids\n", "memory pids\n"}) {
    group("v2", handed, handed);
    for (const char* name : {"v2", "freezer", "cpu", "memory", "devices", "pids"})
      mine_.insert(directory_ / name);
    EXPECT_EQ(plan().unified, "") << handed;
    EXPECT_EQ(plan().freezer, worker_in("freezer"));
    EXPECT_EQ(plan().pids, worker_in("pids"));
    EXPECT_EQ(not_enforced(), 0U);
  }
}

TEST_F(DiscoveryTest, AMachineWithoutGroupsHasNone) {
  EXPECT_FALSE(WorkerGroup(plan()).tracks());
  EXPECT_EQ(not_enforced(), 4U);
  view_.mountinfo = "no such line\n\n - cgroup2\n30 23 0:26 / /sys/fs/cgroup rw -\n";
  EXPECT_FALSE(WorkerGroup(plan()).tracks());
}

// Runs it in a process in the group.
pid_t fork_into(const WorkerGroup& group, void (*run)()) {
  bool entered = false;
  const pid_t pid = group.fork(entered);
  if (pid != 0) return pid;
  if (!entered) ::_exit(99);
  run();
  ::_exit(0);
}

void wait_for_ever() {
  while (true) ::pause();
}

int exit_code(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WEXITSTATUS(status);
}

// What is written where in a group of v2: its files lie in a directory as the kernel would show them.
class UnifiedGroupTest : public ::testing::Test {
 protected:
  UnifiedGroupTest() {
    std::filesystem::create_directories(plan_.unified);
    put("../cgroup.subtree_control", "cpu memory pids\n");
    for (const char* name :
         {"cgroup.procs", "cgroup.freeze", "cpu.max", "memory.max", "memory.swap.max", "pids.max"})
      put(name, "");
  }
  void put(const std::string& name, std::string_view text) {
    std::ofstream(plan_.unified + "/" + name, std::ios::trunc) << text;
  }
  std::string in(const std::string& name) { return contents(plan_.unified + "/" + name); }
  void without(const std::string& name) { std::filesystem::remove(plan_.unified + "/" + name); }

  TempDirectory directory_;
  CgroupPlan plan_{.unified = directory_ / "paceline/7.2.0",
                   .freezer = {},
                   .cpu = {},
                   .memory = {},
                   .devices = {},
                   .pids = {},
                   .limits = {1.5, std::uint64_t{1} << 30, {}, 64}};
};

TEST_F(UnifiedGroupTest, HoldsProcessorMemorySwapAndProcesses) {
  ASSERT_TRUE(WorkerGroup(plan_).create());
  EXPECT_EQ(in("cpu.max"), "150000 100000");
  EXPECT_EQ(in("memory.max"), "1073741824");
  EXPECT_EQ(in("memory.swap.max"), "0");
  EXPECT_EQ(in("pids.max"), "64");
  EXPECT_EQ(in("../cgroup.subtree_control"), "cpu memory pids\n") << "they are handed down";
  EXPECT_TRUE(WorkerGroup(plan_).counts_processes());
}

// What is written last lies over what was written before it, as in no kernel.
TEST_F(UnifiedGroupTest, HasItsParentHandTheControllersDown) {
  put("../cgroup.subtree_control", "");
  ASSERT_TRUE(WorkerGroup(plan_).create());
  EXPECT_EQ(in("../cgroup.subtree_control"), "+pids+memory") << "+cpu +memory, then +pids";
}

TEST_F(UnifiedGroupTest, SetsNoLimitThatNobodyAskedFor) {
  plan_.limits = {};
  ASSERT_TRUE(WorkerGroup(plan_).create());
  for (const char* name : {"cpu.max", "memory.max", "memory.swap.max", "pids.max"})
    EXPECT_EQ(in(name), "") << name;
}

TEST_F(UnifiedGroupTest, SaysWhichLimitCannotBeHeld) {
  without("memory.swap.max");  // a kernel that doesn't account for it
  ASSERT_TRUE(WorkerGroup(plan_).create());
  without("pids.max");  // a parent that doesn't hand it down
  ASSERT_TRUE(WorkerGroup(plan_).create());
  EXPECT_FALSE(WorkerGroup(plan_).counts_processes());
  without("memory.max");
  EXPECT_THAT(WorkerGroup(plan_).create().error().message, HasSubstr("memory limit"));
  without("cpu.max");
  EXPECT_THAT(WorkerGroup(plan_).create().error().message, HasSubstr("CPU limit"));
}

TEST_F(UnifiedGroupTest, IsEnteredFrozenAndThawed) {
  const WorkerGroup group(plan_);
  EXPECT_EQ(exit_code(fork_into(group, [] {})), 0);
  EXPECT_EQ(in("cgroup.procs"), "0");
  put("cgroup.procs", "17\n4711\n");
  EXPECT_EQ(group.members(), (std::vector<pid_t>{17, 4711}));
  put("cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_FALSE(group.freeze()) << "somebody moves still";
  put("cgroup.events", "populated 1\nfrozen 1\n");
  EXPECT_TRUE(group.freeze());
  EXPECT_EQ(in("cgroup.freeze"), "1");
  group.thaw();
  EXPECT_EQ(in("cgroup.freeze"), "0");
}

TEST_F(UnifiedGroupTest, KnowsWhetherItsMemoryWasTooSmall) {
  EXPECT_FALSE(WorkerGroup(plan_).out_of_memory());
  put("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE(WorkerGroup(plan_).out_of_memory());
  put("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 0\n");
  EXPECT_TRUE(WorkerGroup(plan_).out_of_memory());
}

// The kernel's groups of v2, wherever else this machine shows them.
class MountedUnifiedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mounted_ = ::mount("none", mount_point().c_str(), "cgroup2", 0, nullptr) == 0;
    if (!mounted_) GTEST_SKIP() << "cgroup2 can't be mounted here";
  }
  void TearDown() override {
    if (mounted_) ::umount(mount_point().c_str());
  }
  [[nodiscard]] const std::string& mount_point() const { return directory_.path(); }

  TempDirectory directory_;
  bool mounted_ = false;
};

TEST_F(MountedUnifiedTest, AProcessIsBornInItsGroup) {
  CgroupPlan plan;
  plan.unified = mount_point() + "/paceline-test-" + std::to_string(::getpid()) + "/7.2.0";
  const WorkerGroup group(plan);
  ASSERT_TRUE(group.create());
  const pid_t pid = fork_into(group, wait_for_ever);
  EXPECT_EQ(group.members(), std::vector<pid_t>{pid}) << "from its first moment on";
  EXPECT_FALSE(group.remove());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(eventually([&] { return group.remove(); }));
}

// A process of its own in a group of its own.
class GroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WorkerGroup(cgroups_.plan("probe", {})).tracks()) GTEST_SKIP() << "no control groups here";
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

TEST_F(GroupTest, GoesWithWhatItsWorkerMadeInside) {
  const CgroupPlan plan = cgroups_.plan("1.1.0", {});
  const WorkerGroup group(plan);
  ASSERT_TRUE(group.create());
  const std::string box = plan.freezer + "/box";
  if (plan.freezer.empty()) GTEST_SKIP() << "not the first version of control groups";
  for (const std::string& made : {box, box + "/inner", plan.freezer + "/other"})
    ASSERT_EQ(::mkdir(made.c_str(), 0755), 0);
  const pid_t pid = fork_into(group, wait_for_ever);
  EXPECT_TRUE(eventually([&] {
    std::ofstream(box + "/inner/cgroup.procs") << pid << std::flush;
    std::ifstream inner(box + "/inner/cgroup.procs");
    pid_t inside = 0;
    return inner >> inside && inside == pid;
  }));
  EXPECT_EQ(group.members(), std::vector<pid_t>{pid}) << "it has not left";
  EXPECT_FALSE(group.remove());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(eventually([&] { return group.remove(); }));
  EXPECT_NE(::access(plan.freezer.c_str(), F_OK), 0);
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
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has threads of its own";
#endif
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
  EXPECT_EQ(exit_code(pid), 2);
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
