// The simulated and the real host side by side, story by story. The real one goes through every system
// call of a start and an end, failing at each in turn with each error that the kernel may give it;
// the simulated one is put in every want. Whatever course the real one takes, the simulated one must be
// able to take: the same is heard of the worker and of its node, step by step. And nothing is left behind.
//
// Of every call the first, and then ever fewer, each with one of its errors; all of them with all where
// PACELINE_CONFORMANCE is "all".
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "agent/linux/supervisor.hpp"
#include "agent/wants.hpp"
#include "conformance/real_stage.hpp"
#include "conformance/simulated_stage.hpp"
#include "conformance/syscall_faults.hpp"

// The leak sanitizer traces the process that it looks at, and what this test looks at is traced.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace paceline::conformance {
namespace {

using ::testing::Contains;

const Course kWell{"runs", "exited with 0"};
const Course kKilled{"runs", "ended by signal 9"};
const Course kItsOwnFault{"failed to start"};
const Course kRefused{"the node is held back", "refused"};

SyscallFaults& faults() {
  static auto& all = *new SyscallFaults;
  return all;
}

bool every_one() {
  const char* wanted = std::getenv("PACELINE_CONFORMANCE");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

// Which of so many calls fail: the first, and each time three times as far as before.
std::vector<int> chosen(int count) {
  std::vector<int> all;
  for (int nth = 1; nth <= count; nth = every_one() ? nth + 1 : 3 * nth) all.push_back(nth);
  return all;
}

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string problem = faults().begin();
    if (!problem.empty()) GTEST_SKIP() << "system calls can't be made to fail here: " << problem;
    if (::getpid() == 1 || !processes().empty()) GTEST_SKIP() << "no pid namespace of its own";
    std::string name = "/tmp/paceline-conformance-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    machine_.emplace(directory_);
    launch_.slots = {0};
    launch_.job_name = "job";
    launch_.uid = ::geteuid();
    launch_.launch.directory = "/";
    launch_.launch.shared_shm = true;
    set_command("true");
  }
  void TearDown() override {
    machine_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void set_command(std::string_view script) {
    launch_.launch.command = {"/bin/sh", "-c", std::string(script)};
  }
  void waits_at_the_gate() { set_command("read line < " + machine_->gate()); }

  // Plays it once on the real host. What came out, and what was left.
  Course run(const Story& story, SyscallFault fault) {
    launch_.key.job.value += 1;
    launch_.key.born = Generation{1};
    RealStage stage(*machine_, launch_);
    const std::string what =
        fmt::format("'{}' at call {}", std::strerror(fault.error_number), fault.nth);
    faults().arm(std::move(fault));
    const Course course = play(story, stage);
    const auto hit = faults().disarm();
    where_ = fmt::format("{}, {}: {} ({})", what, hit.value_or("none"), to_text(course),
                         stage.server.message());
    EXPECT_EQ(stage.lived_on(), "") << where_;
    EXPECT_EQ(machine_->leftover(), "") << where_;
    return course;
  }

  void go_through(const Story& story) {
    const std::set<Course> may_be = simulated_courses(story);
    ASSERT_THAT(may_be, Contains(story.plain));
    ASSERT_EQ(run(story, {}), story.plain);
    const auto counted = faults().counted();
    std::set<Course> seen;
    for (const auto& [name, count] : counted)
      for (const int nth : chosen(count))
        for (const int error : errors_of(name)) {
          const Course course = run(story, {.calls = {name}, .nth = nth, .error_number = error});
          EXPECT_THAT(may_be, Contains(course)) << where_;
          seen.insert(course);
          ASSERT_FALSE(HasFatalFailure());
        }
    EXPECT_THAT(seen, Contains(kRefused));
  }

  // One of them, each time the next.
  std::vector<int> errors_of(std::string_view name) {
    const auto errors = find_call(name).errors;
    if (every_one()) return {errors.begin(), errors.end()};
    return {errors[turn_++ % errors.size()]};
  }

  // What every start in want of it says, wherever it is the server's own. `owners`: the error that says
  // what the job's owner did; its start alone is refused.
  void expect_refused(const Story& story, std::set<std::string_view> calls, const std::string& on,
                      int owners = 0) {
    for (const auto& want : agent::wants()) {
      const Course course =
          run(story, {.calls = calls, .nth = 0, .error_number = want.error_number, .on = on});
      EXPECT_EQ(course, want.error_number == owners ? Course{"refused"} : kRefused) << where_;
    }
  }

  std::string directory_;
  std::optional<RealMachine> machine_;
  WorkerLaunch launch_;
  std::size_t turn_ = 0;
  std::string where_;
};

TEST_F(Conformance, AStartAndAnEnd) { go_through({"ends by itself", kWell, ends_by_itself}); }

TEST_F(Conformance, AStartWithAllThatOneMayTake) {
  launch_.launch.setup = "true";
  launch_.pty = true;
  launch_.cpus = 1;
  launch_.memory_bytes = 256U << 20;
  go_through({"ends by itself", kWell, ends_by_itself});
}

TEST_F(Conformance, AStartInSharedMemoryOfItsOwn) {
  launch_.launch.shared_shm = false;
  go_through({"ends by itself", kWell, ends_by_itself});
}

TEST_F(Conformance, ASetupThatFails) {
  launch_.launch.setup = "exit 3";
  go_through({"its setup fails", kItsOwnFault, ends_by_itself});
}

TEST_F(Conformance, AKillAtTheGrace) {
  set_command("trap '' TERM; : > " + machine_->bell() + "; while :; do read line < " +
              machine_->gate() + "; done");
  go_through({"is killed at its grace", kKilled, is_killed_at_its_grace});
}

TEST_F(Conformance, AnAgentThatComesBackWhileItRuns) {
  waits_at_the_gate();
  go_through({"outlives its agent", kWell, outlives_its_agent});
}

TEST_F(Conformance, AnAgentThatComesBackAfterItsEnd) {
  waits_at_the_gate();
  go_through({"ends without an agent", kWell, ends_without_an_agent});
}

TEST_F(Conformance, AClaimThatCantBeWritten) {
  const Story story{"no claim", kWell, ends_by_itself};
  ASSERT_THAT(simulated_courses(story), Contains(kRefused));
  for (const char* call : {"openat", "write", "flock"})
    expect_refused(story, {call}, "/agent/workers/");
}

TEST_F(Conformance, ALogThatCantBeWritten) {
  const Story story{"no log", kWell, ends_by_itself};
  ASSERT_THAT(simulated_courses(story), Contains(kRefused));
  for (const char* call : {"mkdir", "write"}) expect_refused(story, {call}, "/logs/");
  expect_refused(story, {"openat"}, "/logs/", EWOULDBLOCK);  // a lease of its owner's
}

// Whichever time it is read: one that began is not taken for one that never did.
TEST_F(Conformance, AClaimThatCantBeReadOnce) {
  waits_at_the_gate();
  const Story story{"ends without an agent", kWell, ends_without_an_agent};
  const std::set<Course> may_be = simulated_courses(story);
  constexpr int kReadsMax = 40;
  for (int nth = 1; nth <= kReadsMax; ++nth) {
    const Course course = run(
        story, {.calls = {"pread64"}, .nth = nth, .error_number = EIO, .on = "/agent/workers/"});
    ASSERT_THAT(may_be, Contains(course)) << where_;
  }
}

// A claim that names nobody would be taken for one that never began.
TEST_F(Conformance, ASupervisorThatCantLookAtItself) {
  expect_refused({"no look at itself", kWell, ends_by_itself}, {"openat"}, "/stat");
}

TEST_F(Conformance, WhatIsTheJobsOwnIsFatal) {
  const Story story{"its own", kWell, ends_by_itself};
  for (const int error : {ENOENT, EACCES, ENOTDIR, ENOEXEC, E2BIG, ELOOP}) {
    ASSERT_EQ(agent::blame(agent::StartStep::job, error), Cause::launch_failed);
    for (const char* call : {"execve", "chdir"})
      EXPECT_EQ(run(story, {.calls = {call}, .nth = 0, .error_number = error}), kItsOwnFault)
          << where_;
  }
}

// A pid namespace, a /proc, a /tmp and a /dev/shm of its own, so that the test harms nobody and sees
// what it leaves. Where that is not permitted the tests are skipped.
void go_apart() {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return;
  const pid_t first = ::fork();
  if (first > 0) {
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  ::mount("proc", "/proc", "proc", 0, nullptr);
  for (const char* place : {"/tmp", "/dev/shm"}) ::mount("tmpfs", place, "tmpfs", 0, "size=64m");
  const pid_t tests = ::fork();
  if (tests == 0) return;
  int status = 0;  // the first process buries everybody
  while (::waitpid(-1, &status, 0) != tests) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace
}  // namespace paceline::conformance

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise")
    return paceline::agent::supervise_main(argc, argv);
  paceline::conformance::go_apart();
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
