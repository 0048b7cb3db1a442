#include "agent/linux/devices.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "agent/linux/files.hpp"
#include "agent/linux/memory_files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// A management library that reads its GPUs from the file $FAKE_GPUS: per line a bus id, "gpu" or
// "mig" (a slice of the GPU before it), a UUID, and the pids that compute on it. The file
// $FAKE_LINKS says which are joined: per line "nvlink" or "switch" and two UUIDs. The file
// $FAKE_FAULTS holds a line for each fault: "xid", "ecc" or "remap", the number of a GPU, and the Xid or
// how many errors; each Xid is told once. Compiled with -DOLD it is of a driver that can't tell.
constexpr const char* kFakeLibrary = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct dev { char bus[32], kind[8], uuid[64]; int mig, parent; unsigned minor, n, pids[8]; } d[16];
static int count;
static int find(int parent, unsigned index) {
  for (int i = 0; i < count; ++i)
    if (d[i].mig == (parent >= 0) && (parent < 0 || d[i].parent == parent) && index-- == 0) return i;
  return -1;
}
static void load(void) {
  FILE* f = fopen(getenv("FAKE_GPUS"), "r"); char line[256]; int gpu = -1; unsigned minor = 0;
  for (count = 0; f && fgets(line, sizeof line, f); ++count) {
    struct dev* x = &d[count]; memset(x, 0, sizeof *x);
    int at = 0, more = 0; sscanf(line, "%31s %7s %63s%n", x->bus, x->kind, x->uuid, &at);
    while (sscanf(line + at, "%u%n", &x->pids[x->n], &more) == 1) { ++x->n; at += more; }
    x->mig = strcmp(x->kind, "mig") == 0;
    if (!x->mig) { gpu = count; x->minor = minor++; }
    x->parent = x->mig ? gpu : -1;
  }
  if (f) fclose(f);
}
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { load(); for (*n = 0; find(-1, *n) >= 0; ++*n); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct dev** h) { int at = find(-1, i); *h = &d[at]; return at < 0; }
int nvmlDeviceGetUUID(struct dev* h, char* s, unsigned n) { snprintf(s, n, "%s", h->uuid); return 0; }
int nvmlDeviceGetName(struct dev* h, char* s, unsigned n) { snprintf(s, n, "NVIDIA Fake"); return 0; }
int nvmlDeviceGetMemoryInfo(struct dev* h, unsigned long long* m) { m[0] = 80ULL << 30; return 0; }
int nvmlDeviceGetMinorNumber(struct dev* h, unsigned* n) { *n = h->minor; return 0; }
int nvmlDeviceGetPciInfo_v3(struct dev* h, char* p) { strcpy(p + 16 + 20, h->bus); return 0; }
int nvmlDeviceGetMigMode(struct dev* h, unsigned* a, unsigned* b) { *a = *b = find((int)(h - d), 0) >= 0; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(struct dev* h, unsigned* n) { *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(struct dev* h, unsigned i, struct dev** m) {
  int at = find((int)(h - d), i); if (at < 0) return 6; *m = &d[at]; return 0; }
struct process { unsigned pid; unsigned long long used; unsigned g, c; };
int nvmlDeviceGetComputeRunningProcesses_v3(struct dev* h, unsigned* n, struct process* p) {
  for (unsigned i = 0; i < h->n; ++i) p[i].pid = h->pids[i];
  *n = h->n; return 0; }
#ifndef OLD
static int joined(const char* how, struct dev* a, struct dev* b) {
  FILE* f = fopen(getenv("FAKE_LINKS"), "r"); char by[16], x[64], y[64]; int found = 0;
  while (f && !found && fscanf(f, "%15s %63s %63s", by, x, y) == 3)
    found = !strcmp(by, how) && ((!strcmp(x, a->uuid) && !strcmp(y, b->uuid)) ||
                                 (!strcmp(x, b->uuid) && !strcmp(y, a->uuid)));
  if (f) fclose(f);
  return found;
}
int nvmlDeviceGetP2PStatus(struct dev* a, struct dev* b, int capability, int* status) {
  *status = capability == 2 && joined("nvlink", a, b) ? 0 : 5; return 0; }
int nvmlDeviceGetTopologyCommonAncestor(struct dev* a, struct dev* b, int* level) {
  *level = joined("switch", a, b) ? 10 : 50; return 0; }
static int told;
static int fault(const char* kind, int gpu, int skip, unsigned* of, unsigned long long* value) {
  FILE* f = fopen(getenv("FAKE_FAULTS"), "r"); char is[16]; int found = 0;
  while (f && !found && fscanf(f, "%15s %u %llu", is, of, value) == 3)
    found = !strcmp(is, kind) && (gpu < 0 || *of == gpu) && skip-- == 0;
  if (f) fclose(f);
  return found;
}
struct event { struct dev* d; unsigned long long type, data; unsigned g, c; };
static int index_of(struct dev* h) { int n = 0; for (struct dev* x = d; x < h; ++x) n += !x->mig; return n; }
int nvmlDeviceGetIndex(struct dev* h, unsigned* n) { *n = index_of(h); return 0; }
int nvmlDeviceGetTotalEccErrors(struct dev* h, int kind, int since, unsigned long long* n) {
  unsigned of; *n = 0; fault("ecc", index_of(h), 0, &of, n); return kind != 1 || since != 0; }
int nvmlDeviceGetRemappedRows(struct dev* h, unsigned* a, unsigned* b, unsigned* pending, unsigned* failed) {
  unsigned of; unsigned long long n; *pending = fault("remap", index_of(h), 0, &of, &n); *failed = 0; return 0; }
int nvmlEventSetCreate(void** set) { *set = &told; return 0; }
int nvmlEventSetFree(void* set) { return set != &told; }
int nvmlDeviceRegisterEvents(struct dev* h, unsigned long long types, void* set) { return types != 8 || set != &told; }
int nvmlEventSetWait_v2(void* set, struct event* e, unsigned ms) {
  unsigned of; if (ms != 0 || !fault("xid", -1, told, &of, &e->data)) return 10;
  ++told; e->d = &d[find(-1, of)]; e->type = 8; return 0; }
#endif
)";

class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("fake.c", kFakeLibrary);
    if (!compile("")) GTEST_SKIP() << "no C compiler to make the library with";
    ::setenv("PACELINE_NVML", library().c_str(), 1);
    ::setenv("FAKE_GPUS", (directory_ / "gpus").c_str(), 1);
    ::setenv("FAKE_LINKS", (directory_ / "links").c_str(), 1);
    ::setenv("FAKE_FAULTS", (directory_ / "faults").c_str(), 1);
    faults("");
  }
  [[nodiscard]] bool compile(const std::string& flags) const {
    const std::string command = "cc -shared -fPIC -w " + flags + " -o " + library() + " " +
                                (directory_ / "fake.c") + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
  }
  void TearDown() override { ::unsetenv("PACELINE_NVML"); }

  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(replace_file(AT_FDCWD, (directory_ / name).c_str(), text));
  }
  void gpus(const std::string& text) { write("gpus", text); }
  void faults(const std::string& text) { write("faults", text); }
  // Four GPUs, and what joins them.
  void linked(const std::string& links) {
    gpus(
        "0000:10:00.0 gpu GPU-a\n0000:20:00.0 gpu GPU-b\n0000:30:00.0 gpu GPU-c\n0000:40:00.0 gpu "
        "GPU-d\n");
    write("links", links);
  }
  [[nodiscard]] std::vector<std::int32_t> islands() const {
    std::vector<std::int32_t> islands;
    for (const SlotSpec& slot : devices().look({})) islands.push_back(slot.island);
    return islands;
  }
  [[nodiscard]] std::string library() const { return directory_ / "libfake.so"; }
  [[nodiscard]] LockDirectories lock_directories() const {
    return {directory_ / "root", {directory_ / "shared"}, directory_ / "own"};
  }
  [[nodiscard]] DeviceLocks locks(const std::string& owner) const {
    return DeviceLocks(owner, lock_directories());
  }
  [[nodiscard]] Devices devices() const {
    return Devices(directory_ / "agent/workers", {}, locks("/srv/a"));
  }
  HostOptions options() {
    HostOptions options;
    options.lock_directories = lock_directories();
    return options;
  }

  TempDirectory directory_;
};

TEST_F(DevicesTest, AreInTheOrderOfTheirBus) {
  gpus("0000:80:00.0 gpu GPU-b\n0000:10:00.0 gpu GPU-a\n");
  const std::vector<SlotSpec> slots = devices().look({});
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_EQ(slots[0].uuid, "GPU-a");
  EXPECT_EQ(slots[0].kind, SlotKind::gpu);
  EXPECT_EQ(slots[0].model, "NVIDIA Fake");
  EXPECT_EQ(slots[0].memory_bytes, 80ULL << 30);
  EXPECT_TRUE(slots[0].usable);
  EXPECT_EQ(slots[1].uuid, "GPU-b");
}

TEST_F(DevicesTest, OnlyThoseThatAreLentAreThere) {
  linked("");
  const auto lent = [&](const std::string& visible) {
    std::vector<std::string> uuids;
    Devices devices(directory_ / "agent/workers", 2, locks("/srv/a"), std::string(kPciDirectory),
                    visible);
    for (const SlotSpec& slot : devices.look({})) uuids.push_back(slot.uuid);
    return uuids;
  };
  EXPECT_THAT(lent("1,3"), ElementsAre("GPU-b", "GPU-d"));
  EXPECT_THAT(lent("GPU-c"), ElementsAre("GPU-c"));
  EXPECT_THAT(lent("9"), ElementsAre("", "")) << "the driver knows none of them: CPU slots";
}

TEST_F(DevicesTest, ADividedGpuIsItsSlices) {
  gpus(
      "0000:10:00.0 gpu GPU-a\n0000:10:00.0 mig MIG-1\n0000:10:00.0 mig MIG-2\n0000:20:00.0 gpu "
      "GPU-b\n");
  const std::vector<SlotSpec> slots = devices().look({});
  EXPECT_THAT(slots, ElementsAre(Field(&SlotSpec::uuid, "MIG-1"), Field(&SlotSpec::uuid, "MIG-2"),
                                 Field(&SlotSpec::uuid, "GPU-b")));
  EXPECT_EQ(slots[0].kind, SlotKind::mig);
}

TEST_F(DevicesTest, NvlinkMakesIslandsAlsoThroughOthers) {
  linked("nvlink GPU-b GPU-d\nnvlink GPU-d GPU-a\nswitch GPU-a GPU-c\n");
  EXPECT_THAT(islands(), ElementsAre(0, 0, 1, 0));
  linked("nvlink GPU-a GPU-c\nnvlink GPU-b GPU-d\n");
  EXPECT_THAT(islands(), ElementsAre(0, 1, 0, 1));
}

TEST_F(DevicesTest, WithoutNvlinkOnePcieSwitchMakesAnIsland) {
  linked("switch GPU-a GPU-b\nswitch GPU-c GPU-d\n");
  EXPECT_THAT(islands(), ElementsAre(0, 0, 1, 1));
  linked("");
  EXPECT_THAT(islands(), ElementsAre(0, 1, 2, 3));
}

TEST_F(DevicesTest, AnOldDriverTellsOfNoIslands) {
  linked("nvlink GPU-a GPU-b\n");
  ASSERT_TRUE(compile("-DOLD"));
  EXPECT_THAT(islands(), ElementsAre(0, 0, 0, 0));
}

TEST_F(DevicesTest, SlicesOfOneGpuShareItsIsland) {
  gpus(
      "0000:10:00.0 gpu GPU-a\n0000:10:00.0 mig MIG-1\n0000:10:00.0 mig MIG-2\n0000:20:00.0 gpu "
      "GPU-b\n");
  EXPECT_THAT(islands(), ElementsAre(0, 0, 1));
}

TEST_F(DevicesTest, TheKernelSaysWhichNumaDomainTheyAreIn) {
  gpus("00000000:1A:00.0 gpu GPU-a\n00000000:20:00.0 gpu GPU-b\n00000000:30:00.0 gpu GPU-c\n");
  for (const auto* bus : {"0000:1a:00.0", "0000:20:00.0"})
    std::filesystem::create_directories(directory_ / "pci/" + bus);
  write("pci/0000:1a:00.0/numa_node", "1\n");
  write("pci/0000:20:00.0/numa_node", "-1\n");
  Devices devices(directory_ / "agent/workers", {}, locks("/srv/a"), directory_ / "pci");
  EXPECT_THAT(devices.look({}), ElementsAre(Field(&SlotSpec::numa, 1), Field(&SlotSpec::numa, 0),
                                            Field(&SlotSpec::numa, 0)));
}

TEST_F(DevicesTest, AForeignProcessMakesASlotUnusable) {
  const std::string pid = std::to_string(::getpid());
  gpus("0000:10:00.0 gpu GPU-a " + pid + "\n0000:20:00.0 gpu GPU-b\n");
  Devices devices = this->devices();
  const std::vector<SlotSpec> slots = devices.look({});
  EXPECT_FALSE(slots[0].usable);
  EXPECT_THAT(slots[0].note, StartsWith("in use by process " + pid + " of "));

  EXPECT_TRUE(slots[1].usable);
  EXPECT_TRUE(devices.look({0})[0].usable);
}

TEST_F(DevicesTest, AProcessThatDoesNotAnswerIsForeignAndAskedOnce) {
  ASSERT_TRUE(make_directories(directory_ / "proc/7", 0700));
  write("proc/7/stat", "7 (python3) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98 1\n");
  for (const char* name : {"proc/7/environ", "proc/7/cmdline"})
    ASSERT_EQ(::mkfifo((directory_ / name).c_str(), 0600), 0);
  gpus("0000:10:00.0 gpu GPU-a 7\n0000:20:00.0 gpu GPU-b\n");
  Devices devices(directory_ / "agent/workers", {}, locks("/srv/a"), std::string(kPciDirectory), {},
                  directory_ / "proc");
  const auto slots = devices.look({});
  EXPECT_THAT(slots[0].note, MatchesRegex("in use by process 7 of .+: \\(it doesn't answer\\)"));
  EXPECT_TRUE(slots[1].usable);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(devices.look({}), slots);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 100 * kMemoryPatience / 2);
}

TEST_F(DevicesTest, AVanishedDeviceKeepsItsPlace) {
  gpus("0000:10:00.0 gpu GPU-a\n0000:20:00.0 gpu GPU-b\n");
  Devices devices = this->devices();
  gpus("0000:20:00.0 gpu GPU-b\n");
  const std::vector<SlotSpec> slots = devices.look({});
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_FALSE(slots[0].usable);
  EXPECT_EQ(slots[0].note, "the driver no longer answers for it");
  EXPECT_EQ(slots[1].uuid, "GPU-b");
}

TEST_F(DevicesTest, TwoServersNeverHaveOneDevice) {
  gpus("0000:10:00.0 gpu GPU-a\n0000:20:00.0 gpu GPU-b\n");
  Devices first = devices();
  Devices second(directory_ / "other", {}, locks("/srv/b"));
  auto taken = first.take({0}, {0});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_THAT(taken->uuids, ElementsAre("GPU-a"));
  EXPECT_THAT(taken->denied_devices, ElementsAre("c 195:1 rwm"));
  EXPECT_EQ(second.take({0}, {0}).error().message,
            "The device GPU-a is in use by another Paceline server (/srv/a).");
  EXPECT_EQ(second.look({})[0].note, "in use by another Paceline server (/srv/a)");
  EXPECT_TRUE(second.take({1}, {1}));
  taken->locks.clear();
  EXPECT_TRUE(second.look({})[0].usable);
  EXPECT_TRUE(second.take({0}, {0}));
}

// What `act` answers in a process of another user's.
int as_another(const std::function<int()>& act) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(::setresuid(65534, 65534, 65534) == 0 ? act() : 255);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(DevicesTest, OfRootsServerAreInNobodysWay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has a directory of root's";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  const std::string file = directory_ / "root/GPU-a.lock";
  const auto held = locks("/srv/a").take("GPU-a");
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(as_another([&] { return ::open(file.c_str(), O_RDONLY) < 0 ? errno : 0; }), EACCES);
  EXPECT_EQ(as_another([&] {
              const auto seen = locks("/srv/b").holder("GPU-a");
              const auto taken = locks("/srv/b").take("GPU-a");
              return seen == "root's" && !taken && locks("/srv/b").take("GPU-b") ? 0 : 1;
            }),
            0)
      << "others see what root's server has";
}

TEST_F(DevicesTest, CantBeKeptFromRootByALock) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has a directory of root's";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  ASSERT_EQ(::mkdir((directory_ / "shared").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((directory_ / "shared").c_str(), 01777), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const bool mine = ::setresuid(65534, 65534, 65534) == 0;
    const auto held = locks("/srv/b").take("GPU-a");
    static_cast<void>(::write(ends[1], mine && held ? "y" : "n", 1));
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_TRUE(locks("/srv/a").take("GPU-a"));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(DevicesTest, AreNotLockedInADirectoryOfAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  ASSERT_EQ(::mkdir((directory_ / "shared").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((directory_ / "shared").c_str(), 01777), 0);
  ASSERT_EQ(::chown((directory_ / "shared").c_str(), 40001, 40001), 0);
  EXPECT_EQ(as_another([&] { return locks("/srv/b").take("GPU-a") ? 0 : 1; }), 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "shared/GPU-a.lock"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "own-65534/GPU-a.lock"));
}

TEST(DeviceLockList, IsKnownByDeviceAndInode) {
  const std::string_view locks =
      "1: FLOCK  ADVISORY  WRITE 25002 fe:00:9977950 0 EOF\n"
      "2: OFDLCK ADVISORY  WRITE -1 00:1a:12345 0 EOF\n";
  EXPECT_TRUE(lists_lock(locks, ::gnu_dev_makedev(0, 0x1a), 12345));
  EXPECT_FALSE(lists_lock(locks, ::gnu_dev_makedev(0, 0x1a), 2345));
  EXPECT_FALSE(lists_lock(locks, ::gnu_dev_makedev(0, 0x1b), 12345));
  EXPECT_TRUE(lists_lock(locks, ::gnu_dev_makedev(0xfe, 0), 9977950));
}

TEST_F(DevicesTest, WithoutAnyThereAreCpuSlots) {
  gpus("");
  EXPECT_EQ(devices().look({}).size(), usable_cores());
  ::setenv("PACELINE_NVML", "/nowhere/libnvidia-ml.so", 1);
  EXPECT_EQ(devices().look({}).size(), usable_cores());
  EXPECT_TRUE(devices().take({0}, {})->uuids.empty());
}

TEST_F(DevicesTest, AskedForCpuSlotsNoDeviceIsTouched) {
  gpus("0000:10:00.0 gpu GPU-a\n");
  Devices devices(directory_ / "agent/workers", 3, locks("/srv/a"));
  EXPECT_EQ(devices.look({}).size(), 3U);
  EXPECT_FALSE(devices.has_devices());
  EXPECT_EQ(devices.take({3}, {}).error().message, "This node has 3 slots, but no slot 3.");
}

TEST_F(DevicesTest, AWorkerSeesItsDevicesAndItsSupervisorHoldsThem) {
  gpus("0000:10:00.0 gpu GPU-a\n0000:20:00.0 gpu GPU-b\n");
  TestHost host(directory_.path(), options());
  EXPECT_EQ(host->describe().slots.size(), 2U);
  WorkerLaunch launch = shell_worker(key(1), "echo see $CUDA_VISIBLE_DEVICES; exec sleep 1000");
  launch.slots = {1};
  host.start(launch);
  const pid_t pid = host.running(key(1));
  EXPECT_TRUE(host.until(
      [&] { return contents(directory_ / "logs/1/rank0.log").ends_with("see GPU-b\n"); }));
  gpus("0000:10:00.0 gpu GPU-a\n0000:20:00.0 gpu GPU-b " + std::to_string(pid) + "\n");
  host.crash();
  EXPECT_TRUE(locks("/srv/b").holder("GPU-b").has_value());
  TestHost again(directory_.path(), options());
  again->claims();
  EXPECT_TRUE(again->describe().slots[1].usable);
  again->perform(Kill{key(1)});
  again.gone(key(1));
  EXPECT_FALSE(locks("/srv/b").holder("GPU-b").has_value());
}

TEST_F(DevicesTest, AFaultyDeviceIsSetAsideAlsoWhileItIsLeasedAndTheRestServeOn) {
  linked("");
  Devices all = devices();
  for (const SlotSpec& slot : all.look({})) EXPECT_TRUE(slot.usable);
  faults("xid 0 31\nxid 1 79\necc 2 3\nremap 3 0\n");
  const auto slots = all.look({1});
  EXPECT_TRUE(slots[0].usable) << "a program's error";
  EXPECT_FALSE(slots[1].usable);
  EXPECT_EQ(slots[1].note, "faulty: Xid 79, it has fallen off the bus");
  EXPECT_EQ(slots[2].note, "faulty: 3 uncorrectable memory errors");
  EXPECT_EQ(slots[3].note, "faulty: rows of its memory wait to be remapped; reset it");
  faults("");
  EXPECT_FALSE(all.look({})[1].usable) << "until the agent starts anew";
  EXPECT_TRUE(all.look({})[2].usable) << "it was reset";
}

TEST_F(DevicesTest, ADriverThatCanNotTellOfFaultsHasNone) {
  ASSERT_TRUE(compile("-DOLD"));
  linked("");
  faults("xid 1 79\n");
  for (const SlotSpec& slot : devices().look({})) EXPECT_TRUE(slot.usable);
}

TEST_F(DevicesTest, AWorkerIsShownItsGangsDevicesByLocalRankAndDeniedTheOthers) {
  linked("");
  const auto taken = devices().take({0}, {2, 0});
  EXPECT_THAT(taken->uuids, ElementsAre("GPU-a"));
  EXPECT_THAT(taken->visible, ElementsAre("GPU-c", "GPU-a")) << "its own is number 1";
  EXPECT_THAT(taken->denied_devices, ElementsAre("c 195:1 rwm", "c 195:3 rwm"));
  EXPECT_EQ(taken->locks.size(), devices().take({2}, {2, 0})->locks.size());
  EXPECT_TRUE(devices().take({2}, {2, 0})) << "the other worker takes its own";
  EXPECT_EQ(devices().take({0}, {0, 4}).error().message, "This node has 4 slots, but no slot 4.");
}

TEST_F(DevicesTest, AWorkerWithSeveralDevicesOrOneOfAnOlderServerIsShownItsOwn) {
  linked("");
  const auto of_two = devices().take({2, 3}, {0, 1, 2, 3});
  EXPECT_THAT(of_two->visible, ElementsAre("GPU-c", "GPU-d"));
  EXPECT_THAT(of_two->denied_devices, IsEmpty());
  const auto alone = devices().take({1}, {});
  EXPECT_THAT(alone->visible, ElementsAre("GPU-b"));
  EXPECT_EQ(alone->denied_devices.size(), 3U);
}

TEST_F(DevicesTest, AWorkerOnASliceIsShownItAlone) {
  gpus("0000:10:00.0 gpu GPU-a\n0000:10:00.0 mig MIG-1\n0000:10:00.0 mig MIG-2\n");
  EXPECT_THAT(devices().take({1}, {0, 1})->visible, ElementsAre("MIG-2"));
}

TEST_F(DevicesTest, AWorkerOnADeviceThatAnotherServerHasGoesBack) {
  gpus("0000:10:00.0 gpu GPU-a\n");
  const auto theirs = locks("/srv/b").take("GPU-a");
  TestHost host(directory_.path(), options());
  bool changed = false;
  host->on_devices_changed([&] { changed = true; });
  host.start(shell_worker(key(1), "true"));
  EXPECT_EQ(host.gone(key(1)).cause, Cause::refused);
  EXPECT_THAT(host.gone(key(1)).message, HasSubstr("in use by another Paceline server (/srv/b)"));
  EXPECT_TRUE(host.until([&] { return changed; }));
  EXPECT_FALSE(host->describe().slots[0].usable);
}

}  // namespace
}  // namespace paceline::agent
