// The simulated and the real host side by side: the real one goes through every system call of a
// start and an end, failing at each in turn with each error of agent/wants.hpp; the simulated one is
// put in the same want. Both must blame the same, and the real one must leave nothing behind.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "agent/linux/cgroups.hpp"
#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/host.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/supervisor.hpp"
#include "agent/wants.hpp"
#include "base/digest.hpp"
#include "clock/system/system_clock.hpp"
#include "conformance/syscall_faults.hpp"
#include "sim/event_queue.hpp"
#include "sim/ledger.hpp"
#include "sim/set_clock.hpp"
#include "sim/sim_host.hpp"

// The leak sanitizer traces the process that it looks at, and what this test looks at is traced.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace paceline {
namespace {

using agent::LinuxHost;

constexpr auto kPatience = std::chrono::seconds{60};

// What becomes of the job.
enum class Outcome { well, requeued, failed };

std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  constexpr const char* kNames[] = {"well", "requeued", "failed"};
  return out << kNames[static_cast<int>(outcome)];
}

Outcome outcome_of(const WorkerGone& gone) {
  if (gone.cause == Cause::refused || gone.cause == Cause::node_lost) return Outcome::requeued;
  return gone.cause == Cause::exited && gone.exit_code == 0 ? Outcome::well : Outcome::failed;
}

WorkerKey key_of(std::uint32_t job) { return {JobId{job}, Generation{1}, 0}; }

testing::SyscallFaults& faults() {
  static auto& all = *new testing::SyscallFaults;
  return all;
}

// ---- the simulated host ----

// Of many starts while it lacks something.
std::set<Outcome> simulated(int error_number) {
  sim::EventQueue queue(time_from_us(1'700'000'000'000'000));
  const sim::MakeClock make = [](ClockSources sources) {
    return std::make_unique<SystemClock>(std::move(sources));
  };
  sim::SetClock clock(queue, make, "box");
  sim::Ledger ledger;
  NodeSpec node;
  node.name = "box";
  node.slots.resize(1);
  sim::SimHost host(queue, clock, ledger, Rng(7), node);
  std::set<Outcome> outcomes;
  host.on_observation([&](const agent::Observation& seen) {
    if (const auto* gone = std::get_if<WorkerGone>(&seen)) outcomes.insert(outcome_of(*gone));
  });
  host.set_want(error_number);
  for (std::uint32_t job = 1; job <= 100; ++job) {
    WorkerLaunch launch;
    launch.key = key_of(job);
    launch.slots = {0};
    host.perform(agent::Start{launch});
  }
  while (queue.run_next()) {
  }
  return outcomes;
}

// ---- the real host ----

std::size_t open_descriptors() { return agent::list_directory("/proc/self/fd").size(); }

// Of the whole machine, as far as this test's pid namespace goes: but for the first process and this
// one, and for the dead.
std::vector<std::string> processes() {
  std::vector<std::string> all;
  for (const std::string& name : agent::list_directory("/proc")) {
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
    const pid_t pid = std::stoi(name);
    const auto stat = agent::read_stat(pid);
    if (pid == 1 || pid == ::getpid() || !stat || stat->state == 'Z' || stat->state == 'X')
      continue;
    all.push_back(name + " " + agent::read_file("/proc/" + name + "/comm").value_or(""));
  }
  return all;
}

class RealHost {
 public:
  explicit RealHost(std::string directory) : directory_(std::move(directory)) { open(); }

  // Nothing: it never ended.
  std::optional<WorkerGone> run(const WorkerLaunch& launch) {
    gone_.reset();
    host_->perform(agent::Start{launch});
    turn_until([&] { return gone_.has_value(); });
    host_->perform(agent::Discard{launch.key});
    return gone_;
  }

  // What is left of a worker that was forgotten; empty: nothing. What could not be removed, an agent
  // that starts anew finds and forgets.
  std::string leftover() {
    if (turn_until([&] { return remains().empty(); }, std::chrono::seconds{1})) return {};
    host_.reset();
    open();
    const std::vector<Claim> left = host_->claims();
    turn_until([&] {
      // A worker that is not over yet is not forgotten.
      for (const Claim& claim : left) host_->perform(agent::Discard{claim.key});
      return remains().empty();
    });
    return remains();
  }

 private:
  void open() {
    agent::HostOptions options;
    options.directory = directory_;
    options.cpu_slots = 4;
    auto opened = LinuxHost::open(io_, clock_, std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    host_ = std::move(*opened);
    host_->on_observation([this](const agent::Observation& seen) {
      if (const auto* gone = std::get_if<WorkerGone>(&seen)) gone_ = *gone;
    });
    static_cast<void>(host_->claims());
    turn_until([this] { return processes().size() == 1; });  // the nursery
    descriptors_ = open_descriptors();
  }

  template <class Condition>
  bool turn_until(Condition condition, std::chrono::milliseconds patience = kPatience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds{2});
      io_.poll();
    }
    return true;
  }

  std::string remains() {
    std::string text;
    for (const char* name : {"workers", "setups", "terminals"})
      for (const auto& file : agent::list_directory(directory_ + "/agent/" + name))
        text += file + " ";
    for (const auto& file : agent::list_directory(directory_ + "/run"))
      if (agent::parse_claim_name(file.substr(0, file.rfind(".sock")))) text += file + " ";
    for (const auto& group : groups_)
      for (const auto& file : agent::list_directory(group))
        if (agent::parse_claim_name(file)) text += group + "/" + file + " ";
    if (processes().size() > 1) text += fmt::format("{} processes ", processes().size());
    if (const auto now = open_descriptors(); descriptors_ > 0 && now > descriptors_)
      text += fmt::format("{} descriptors more than before", now - descriptors_);
    return text;
  }

  // Where the control groups of this directory's workers lie.
  std::vector<std::string> groups() const {
    const auto name =
        fmt::format("paceline-{:016x}", Digest().add(std::string_view(directory_)).value());
    const auto plan = agent::Cgroups::discover(name).plan("x", {1, 1 << 30, {}});
    std::vector<std::string> all;
    for (const auto& path : {plan.unified, plan.freezer, plan.cpu, plan.memory})
      if (!path.empty()) all.push_back(path.substr(0, path.rfind('/')));
    return all;
  }

  std::string directory_;
  boost::asio::io_context io_;
  SystemClock clock_;
  std::unique_ptr<LinuxHost> host_;
  std::optional<WorkerGone> gone_;
  std::vector<std::string> groups_ = groups();
  std::size_t descriptors_ = 0;
};

WorkerLaunch plain_worker() {
  WorkerLaunch launch;
  launch.slots = {0};
  launch.job_name = "job";
  launch.uid = ::geteuid();
  launch.launch.command = {"/bin/true"};
  launch.launch.directory = "/";
  return launch;
}

// With all that a start may take.
WorkerLaunch rich_worker() {
  WorkerLaunch launch = plain_worker();
  launch.launch.setup = "true";
  launch.pty = true;
  launch.cpus = 1;
  launch.memory_bytes = 256U << 20;
  return launch;
}

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string problem = faults().begin();
    if (!problem.empty()) GTEST_SKIP() << "system calls can't be made to fail here: " << problem;
    if (::getpid() == 1 || processes().size() > 0) GTEST_SKIP() << "no pid namespace of its own";
    std::string name = "/tmp/paceline-conformance-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    host_ = std::make_unique<RealHost>(directory_);
  }
  void TearDown() override {
    host_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // Every call in turn. Answers what came out, and how often.
  std::map<Outcome, int> go_through(const WorkerLaunch& like, testing::SyscallFault fault) {
    std::map<Outcome, int> outcomes;
    const std::string error = std::strerror(fault.error_number);
    for (fault.nth = 1;; ++fault.nth) {
      WorkerLaunch launch = like;
      launch.key = key_of(++jobs_);
      faults().arm(fault);
      const auto gone = host_->run(launch);
      const auto hit = faults().disarm();
      const std::string where =
          fmt::format("{} in call {} ({})", error, fault.nth, hit.value_or("none"));
      EXPECT_TRUE(gone) << where << ": it never ended";
      EXPECT_EQ(host_->leftover(), "") << where;
      if (!hit || !gone || HasFailure()) return outcomes;
      ++outcomes[outcome_of(*gone)];
      seen_[outcome_of(*gone)] = where + ": " + gone->message;
    }
  }

  // Whoever is refused is requeued, on both hosts, and nobody fails.
  void expect_requeued(const WorkerLaunch& like) {
    for (const auto& want : agent::wants()) {
      SCOPED_TRACE(std::strerror(want.error_number));
      EXPECT_EQ(simulated(want.error_number), std::set{Outcome::requeued});
      const auto outcomes = go_through(like, {.error_number = want.error_number});
      EXPECT_TRUE(outcomes.contains(Outcome::requeued));
      // Else the job's own directory or program may be what lacks it.
      EXPECT_FALSE(want.of_the_job && outcomes.contains(Outcome::failed)) << seen_[Outcome::failed];
      if (HasFailure()) return;
    }
  }

  std::string directory_;
  std::unique_ptr<RealHost> host_;
  std::uint32_t jobs_ = 0;
  std::map<Outcome, std::string> seen_;
};

TEST_F(Conformance, AWantOfTheMachineIsNeverTheJobs) { expect_requeued(plain_worker()); }

TEST_F(Conformance, NorWhereAStartTakesMore) { expect_requeued(rich_worker()); }

TEST_F(Conformance, WhatIsTheJobsOwnIsFatal) {
  for (const int error : {ENOENT, EACCES, ENOTDIR, ENOEXEC, E2BIG, ELOOP}) {
    ASSERT_EQ(agent::blame(agent::StartStep::job, error), Cause::launch_failed);
    for (const char* call : {"execve", "chdir"}) {
      SCOPED_TRACE(fmt::format("{} of {}", std::strerror(error), call));
      const auto outcomes = go_through(plain_worker(), {.error_number = error, .only = {call}});
      EXPECT_THAT(outcomes, ::testing::ElementsAre(::testing::Key(Outcome::failed)));
    }
  }
}

// A pid namespace, a /proc and a /tmp of its own, so that the test harms nobody and sees what it
// leaves. Where that is not permitted the tests are skipped.
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
  ::mount("tmpfs", "/tmp", "tmpfs", 0, "size=64m");
  const pid_t tests = ::fork();
  if (tests == 0) return;
  int status = 0;  // the first process buries everybody
  while (::waitpid(-1, &status, 0) != tests) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise")
    return paceline::agent::supervise_main(argc, argv);
  paceline::go_apart();
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
