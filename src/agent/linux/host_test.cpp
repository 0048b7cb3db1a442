#include "agent/linux/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>

#include "agent/linux/claim.hpp"
#include "agent/linux/control.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/gang_reach.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/nursery.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/shm.hpp"
#include "agent/linux/stopped_watch.hpp"
#include "agent/linux/testing.hpp"
#include "files/witnesses.hpp"
#include "files/write_all.hpp"
#include "http/tcp_socket.hpp"
#include "ship/store.hpp"
#include "trust/sha256.hpp"

namespace paceline::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

class HostTest : public ::testing::Test {
 protected:
  // A number that a script writes into a file of the test's directory.
  pid_t written_pid(TestHost& host, const std::string& name) {
    EXPECT_TRUE(host.until([&] { return contents(directory_ / name).ends_with("\n"); }));
    return std::atoi(contents(directory_ / name).c_str());
  }
  std::string claim_path(const ProcessKey& key) {
    return directory_ / ("agent/workers/" + claim_name(key));
  }
  WorkerProcesses processes(const ProcessKey& key) {
    return ClaimFile::open(claim_path(key)).processes();
  }
  std::string log(std::uint32_t job, int rank = 0) {
    return contents(directory_ /
                    ("logs/" + std::to_string(job) + "/rank" + std::to_string(rank) + ".log"));
  }

  TempDirectory directory_;
};

TEST_F(HostTest, RunsAWorkerAndTellsItsExitCodeAndLog) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(7, 2), "echo out; echo err >&2; exit 3"));
  const WorkerGone gone = host.gone(key(7, 2));
  EXPECT_EQ(gone.cause, Cause::exited);
  EXPECT_EQ(gone.exit_code, 3);
  EXPECT_EQ(host.seen<WorkerRuns>().size(), 1U);
  EXPECT_THAT(log(7), StartsWith("--- attempt 1, generation 2, rank 0 of 1, 20"));
  EXPECT_THAT(log(7), EndsWith("Z ---\nout\nerr\n"));
}

TEST_F(HostTest, AppendsToTheLogOverGenerations) {
  TestHost host(directory_.path());
  for (std::uint32_t generation : {1U, 2U}) {
    host.start(shell_worker(key(7, generation), "printf 'no newline'"));
    host.gone(key(7, generation));
  }
  EXPECT_THAT(log(7), HasSubstr("---\nno newline\n--- attempt 1, generation 2, rank 0 of 1, "));
}

constexpr const char* kTellsItsTime = R"(
import http.client, os, socket
def post(body):
    connection = http.client.HTTPConnection("paceline")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(os.environ["PACELINE_SOCKET"])
    connection.request("POST", "/v1/timeline", body)
    answer = connection.getresponse()
    print(answer.status, answer.read().decode())
place = '"rank": 0, "size": 1, "generation": 2, "from_us": 5'
post('{%s, "spans": [["compute", 1, 0, 9]]}' % place)
post('{%s, "spans": [["compute", 1, 0]]}' % place)
post('{%s, "open": [["data", 2, 9]]}' % place)
)";

TEST_F(HostTest, KeepsTheTimelineThatAWorkerTells) {
  HostOptions options;
  options.node_name = "gpu-3";
  TestHost host(directory_.path(), options);
  WorkerLaunch worker = shell_worker(key(7, 2), "");
  worker.attempt = 3;
  worker.launch.command = {"python3", "-c", kTellsItsTime};
  host.start(worker);
  EXPECT_EQ(host.gone(key(7, 2)).exit_code, 0);
  EXPECT_THAT(log(7), AllOf(HasSubstr("200 {}\n400 "), HasSubstr("'spans' in timeline must be")));
  const std::string path = directory_ / "logs/7/rank0.timeline";
  EXPECT_EQ(contents(path),
            R"({"attempt":3,"born":2,"node":"gpu-3","pid":0,"rank":0,"size":1,"generation":2,)"
            R"("clock":{"offset_us":0,"uncertainty_us":0,"wall_us":0},"from_us":5,"at_us":0,)"
            R"("ended":false,"open":[],"spans":[["compute",1,0,9]],"beside":[]})"
            "\n"
            R"({"attempt":3,"born":2,"node":"gpu-3","pid":0,"rank":0,"size":1,"generation":2,)"
            R"("clock":{"offset_us":0,"uncertainty_us":0,"wall_us":0},"from_us":5,"at_us":0,)"
            R"("ended":false,"open":[["data",2,9]],"spans":[],"beside":[]})"
            "\n");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// On a server: of jobs that run elsewhere.
TEST_F(HostTest, HoldsLogsThatOthersWriteToTheLimits) {
  HostOptions options;
  options.logs_per_job = 1 << 20;
  TestHost host(directory_.path(), options);
  const std::string path = log_path(directory_.path(), JobId{9}, 2);
  ASSERT_TRUE(make_directories(directory_ / "logs/9", 0700));
  ASSERT_TRUE(replace_file(AT_FDCWD, path.c_str(), std::string(4 << 20, 'x')));
  host->hold_logs_of_others({{{JobId{9}, 2}, 0}});
  EXPECT_TRUE(host.until([&] {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && info.st_blocks * 512 <= (1 << 20) + 4096;
  }));
}

TEST_F(HostTest, TellsTheSignalThatEndedAWorker) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "kill -SEGV $$"));
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::signalled);
  EXPECT_EQ(gone.signal, SIGSEGV);
  EXPECT_FALSE(gone.exit_code);
}

TEST_F(HostTest, SaysWhyAProgramCannotStart) {
  TestHost host(directory_.path());
  WorkerLaunch missing = shell_worker(key(1), "");
  missing.launch.command = {"no-such-program", "x"};
  host.start(missing);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::missing);
  EXPECT_EQ(host.gone(key(1)).message,
            "There is no program 'no-such-program' in the job's PATH; check the command.");

  WorkerLaunch nowhere = shell_worker(key(2), "true");
  nowhere.launch.directory = directory_ / "nowhere";
  host.start(nowhere);
  EXPECT_EQ(host.gone(key(2)).cause, Cause::missing);
  EXPECT_THAT(host.gone(key(2)).message,
              AllOf(HasSubstr("nowhere' can't be entered: No such file or directory. "),
                    EndsWith("submit with --ship.")));

  WorkerLaunch plain = shell_worker(key(3), "");
  plain.launch.command = {directory_ / "logs/../agent/plain"};
  ASSERT_TRUE(replace_file(open_directory(directory_ / "agent")->get(), "plain", "x"));
  host.start(plain);
  EXPECT_THAT(host.gone(key(3)).message,
              HasSubstr("may not be executed; make it executable with chmod +x"));
  EXPECT_TRUE(host.seen<WorkerRuns>().empty());
}

// What a program of the job's own brings execve() to say is no want of this machine's for other jobs.
TEST_F(HostTest, AProgramWithABrokenInterpreterIsRefusedAlone) {
  const std::string program = directory_ / "program", interpreter = directory_ / "e";
  std::string bytes = contents("/bin/sh");
  const std::string usual = "/lib64/ld-linux-x86-64.so.2";
  const std::size_t at = bytes.find(usual);
  if (at == std::string::npos || interpreter.size() > usual.size()) GTEST_SKIP() << "another ELF";
  bytes.replace(at, interpreter.size() + 1, interpreter + '\0');
  ASSERT_TRUE(replace_file(AT_FDCWD, program.c_str(), bytes));
  ASSERT_TRUE(replace_file(AT_FDCWD, interpreter.c_str(), ""));
  for (const auto& path : {program, interpreter}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "");
  launch.launch.command = {program};
  host.start(launch);
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::refused) << gone.message;
  EXPECT_TRUE(gone.alone);
}

TEST_F(HostTest, RunsInTheDirectoryWithUmaskAndEnvironment) {
  TestHost host(directory_.path());
  WorkerLaunch launch =
      shell_worker(key(9, 4), "pwd; umask; echo $RANK/$WORLD_SIZE $COLOR $PACELINE_JOB_ID");
  launch.launch.directory = "/usr";
  launch.launch.umask = 027;
  launch.launch.environment["COLOR"] = "light blue";
  host.start(launch);
  host.gone(key(9, 4));
  EXPECT_THAT(log(9), EndsWith("---\n/usr\n0027\n0/1 light blue 9\n"));
}

TEST_F(HostTest, StartsAWorkerOnceHoweverOftenItIsAsked) {
  TestHost host(directory_.path());
  const WorkerLaunch launch =
      shell_worker(key(1), "echo once; read line < /dev/null; exec sleep 1000");
  host.start(launch);
  host.start(launch);
  const pid_t pid = host.running(key(1));
  host.start(launch);
  host.crash();
  TestHost again(directory_.path());
  again.start(launch);
  EXPECT_EQ(again->claims()[0].pid, pid);
  EXPECT_TRUE(again.until([&] { return log(1).ends_with("once\n"); }));
  again->perform(Kill{key(1)});
  again.gone(key(1));
  EXPECT_THAT(log(1), EndsWith("---\nonce\n"));
}

TEST_F(HostTest, KillsEscapeesTooBeforeAWorkerIsGone) {
  TestHost host(directory_.path());
  const std::string escape = "(setsid sh -c 'echo $$ > " + (directory_ / "escaped") +
                             "; trap \"\" TERM; while :; do sleep 0.01; done' &) ; ";
  host.start(shell_worker(key(1), escape + "exec sleep 1000"));
  const pid_t escaped = written_pid(host, "escaped");
  EXPECT_TRUE(runs(escaped));
  host->perform(Kill{key(1)});
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::signalled);
  EXPECT_EQ(gone.signal, SIGKILL);
  EXPECT_FALSE(runs(escaped));
}

TEST_F(HostTest, KillsWhatTheMainProcessLeavesBehind) {
  TestHost host(directory_.path());
  host.start(
      shell_worker(key(1), "setsid sleep 1000 & echo $! > " + (directory_ / "left") + "; exit 0"));
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.exit_code, 0);
  EXPECT_FALSE(runs(written_pid(host, "left")));
}

TEST_F(HostTest, NoticesAKilledSupervisorAndCleansUpBehindIt) {
  TestHost host(directory_.path());
  host.start(shell_worker(
      key(1), "(setsid sleep 1000 & echo $! > " + (directory_ / "left") + "); exec sleep 1000"));
  const pid_t left = written_pid(host, "left");
  const pid_t main = host.running(key(1));
  ::kill(processes(key(1)).supervisor.pid, SIGKILL);
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::node_lost);
  EXPECT_EQ(gone.message, "The supervisor of the worker was killed.");
  EXPECT_FALSE(runs(main));
  EXPECT_FALSE(runs(left));
}

TEST_F(HostTest, AdoptsWhatRunsAndFindsWhatEnded) {
  TestHost first(directory_.path());
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  first.start(shell_worker(key(1), "read x < " + (directory_ / "go") + "; exit 4"));
  first.start(shell_worker(key(2), "exec sleep 1000"));
  first.start(shell_worker(key(3), "exec sleep 1000"));
  const pid_t runs_on = first.running(key(2));
  const pid_t unlucky = first.running(key(3));
  first.running(key(1));
  const WorkerProcesses orphaned = processes(key(3));
  first.crash();

  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  ASSERT_TRUE(eventually([&] { return ClaimFile::open(claim_path(key(1))).ending().has_value(); }));
  ::kill(orphaned.supervisor.pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !runs(orphaned.supervisor.pid); }));

  TestHost second(directory_.path());
  const std::vector<Claim> claims = second->claims();
  ASSERT_EQ(claims.size(), 3U);
  EXPECT_EQ(second.gone(key(1)).exit_code, 4);
  EXPECT_FALSE(claims[1].gone);
  EXPECT_EQ(claims[1].pid, runs_on);
  EXPECT_THAT(claims[1].slots, ElementsAre(0));
  EXPECT_EQ(second.gone(key(3)).cause, Cause::node_lost);
  EXPECT_FALSE(runs(unlucky));
  EXPECT_TRUE(runs(runs_on));
  second->perform(Kill{key(2)});
  EXPECT_EQ(second.gone(key(2)).signal, SIGKILL);
}

TEST_F(HostTest, TheSocketOfATerminalGoesWithAWorkerWhoseSupervisorWasKilled) {
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "exec sleep 1000");
  launch.pty = true;
  host.start(launch);
  host.running(key(1));
  ASSERT_TRUE(exists(directory_ / "agent/terminals/1.1.0.sock"));
  ::kill(processes(key(1)).supervisor.pid, SIGKILL);
  host.gone(key(1));
  host->perform(Discard{key(1)});
  EXPECT_TRUE(eventually([&] { return !exists(directory_ / "agent/terminals/1.1.0.sock"); }));
}

TEST_F(HostTest, AWorkerWhoseClaimIsRemovedIsEndedAndLost) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  const pid_t main = host.running(key(1));
  ASSERT_EQ(::unlink(claim_path(key(1)).c_str()), 0);
  const WorkerGone gone = host.gone(key(1));
  EXPECT_FALSE(runs(main));
  EXPECT_EQ(gone.cause, Cause::node_lost);
  EXPECT_EQ(gone.message, "The file of the worker's claim was removed.");
}

// The agent that started it died before anybody heard of it.
TEST_F(HostTest, AWorkerWhoseClaimIsRemovedIsKnownToTheNextAgentUntilItEnds) {
  pid_t main = 0;
  {
    TestHost first(directory_.path());
    first.start(shell_worker(key(1), "exec sleep 1000"));
    main = first.running(key(1));
    first.crash();
  }
  ASSERT_EQ(::unlink(claim_path(key(1)).c_str()), 0);
  TestHost next(directory_.path());
  const std::vector<Claim> claims = next->claims();
  if (claims.empty()) {  // its supervisor was faster
    EXPECT_FALSE(runs(main));
    return;
  }
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].key, key(1));
  EXPECT_THAT(claims[0].slots, ElementsAre(0));
  next.start(shell_worker(key(1), "echo twice"));
  EXPECT_EQ(next.gone(key(1)).cause, Cause::node_lost);
  EXPECT_FALSE(runs(main));
  EXPECT_THAT(log(1), Not(HasSubstr("twice")));
  next->perform(Discard{key(1)});
  EXPECT_TRUE(next->claims().empty());
}

TEST_F(HostTest, WhatIsLeftOfAWorkerWithoutClaimAndSupervisorIsEndedFirst) {
  pid_t left = 0;
  {
    TestHost first(directory_.path());
    first.start(shell_worker(
        key(1), "(setsid sleep 1000 & echo $! > " + (directory_ / "left") + "); exec sleep 1000"));
    left = written_pid(first, "left");
    first.running(key(1));
    const WorkerProcesses known = processes(key(1));
    first.crash();
    ::kill(known.supervisor.pid, SIGKILL);
    ASSERT_TRUE(eventually([&] { return !runs(known.supervisor.pid); }));
    ASSERT_EQ(::unlink(claim_path(key(1)).c_str()), 0);
  }
  ASSERT_TRUE(runs(left));
  TestHost next(directory_.path());
  const std::vector<Claim> claims = next->claims();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_FALSE(claims[0].gone);
  EXPECT_EQ(next.gone(key(1)).cause, Cause::node_lost);
  EXPECT_FALSE(runs(left));
  next->perform(Discard{key(1)});
  EXPECT_TRUE(next->claims().empty());
}

// A process of generation 1 goes on as rank 1 of generation 2, where rank 0 is new.
TEST_F(HostTest, AProcessThatGoesOnKeepsClaimLogAndPidBesideThoseBornLater) {
  const ProcessKey survivor = key(7, 1, 0), newcomer = key(7, 2, 1), leaver = key(7, 1, 1);
  pid_t first_pid = 0, second_pid = 0;
  {
    TestHost first(directory_.path());
    first.start(shell_worker(survivor, "echo '{\"paceline\": {\"step\": 1}}'; exec sleep 1000"));
    first.start(shell_worker(leaver, "exit 0"));
    first.gone(leaver);
    first->perform(Discard{leaver});
    WorkerLaunch launch = shell_worker(newcomer, "echo I am $RANK; exec sleep 1000");
    launch.rank = 0;
    launch.world_size = 2;
    first.start(launch);
    first_pid = first.running(survivor);
    second_pid = first.running(newcomer);
    first->perform(SetMembership{survivor, {Generation{2}, 1, 2}, {}});
    ASSERT_TRUE(first.until([&] { return log(7, 1).ends_with("I am 0\n"); }));
    first.crash();
  }
  EXPECT_THAT(log(7, 0), ::testing::Not(HasSubstr("I am")));
  TestHost second(directory_.path());
  const std::vector<Claim> claims = second->claims();
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].key, survivor);
  EXPECT_EQ(claims[0].pid, first_pid);
  EXPECT_EQ(claims[1].key, newcomer);
  EXPECT_EQ(claims[1].pid, second_pid);
  ASSERT_TRUE(second.until([&] { return !second.seen<WorkerReport>().empty(); }));
  EXPECT_EQ(second.seen<WorkerReport>()[0].key, survivor);
  second->perform(Kill{newcomer});
  second.gone(newcomer);
  second->perform(Discard{newcomer});
  EXPECT_TRUE(runs(first_pid)) << "its generation ends without it";
  EXPECT_TRUE(exists(directory_ / "run/7.1.0.sock"));
}

// Between the claim and the supervisor of one rank an agent may die while the other ranks run.
TEST_F(HostTest, AClaimThatNoSupervisorTookOnIsForgottenAndCanBeMadeAgain) {
  WorkerOrder order;
  order.key = key(1);
  order.command = {"true"};
  {
    TestHost first(directory_.path());
    order.boot_id = first->boot_id();
  }
  order.marker = Marks(directory_.path()).marker(key(1));
  ASSERT_TRUE(ClaimFile::create(claim_path(key(1)), order));

  TestHost second(directory_.path());
  EXPECT_TRUE(second->claims().empty());
  second.start(shell_worker(key(1), "exit 3"));
  EXPECT_EQ(second.gone(key(1)).exit_code, 3);
}

TEST_F(HostTest, ForgetsAnEndedWorkerOnly) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  host.running(key(1));
  host->perform(Discard{key(1)});
  EXPECT_EQ(host->claims().size(), 1U);
  host->perform(Kill{key(1)});
  host.gone(key(1));
  host->perform(Discard{key(1)});
  EXPECT_TRUE(host->claims().empty());
  EXPECT_TRUE(eventually([&] { return list_directory(directory_ / "agent/workers").empty(); }));
  EXPECT_FALSE(exists(directory_ / "run/1.1.0.sock"));
}

TEST_F(HostTest, ASupervisorThatNoLongerAnswersIsKilledWithItsTree) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  const pid_t main = host.running(key(1));
  // Whoever stops it again at once is stronger than a SIGCONT. It may have answered before.
  const pid_t supervisor = processes(key(1)).supervisor.pid;
  host->perform(Kill{key(1)});
  ASSERT_TRUE(host.until([&] {
    ::kill(supervisor, SIGSTOP);
    return !runs(supervisor);
  }));
  host.gone(key(1));
  EXPECT_FALSE(runs(main));
}

TEST_F(HostTest, AStoppedSupervisorGoesOnForAKill) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  host.running(key(1));
  const pid_t supervisor = processes(key(1)).supervisor.pid;
  ::kill(supervisor, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return read_stat(supervisor)->state == 'T'; }));
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).cause, Cause::signalled);
}

TEST_F(HostTest, AStoppedNurseryGoesOnForAStart) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  host.running(key(1));
  for (const pid_t child : children(::getpid()))
    if (contents("/proc/" + std::to_string(child) + "/cmdline").find("supervise") !=
        std::string::npos)
      ::kill(child, SIGSTOP);
  host.start(shell_worker(key(2), "exec sleep 1000"));
  host->perform(Kill{key(2)});
  host.gone(key(2));
  host.start(shell_worker(key(3), "exit 3"));
  EXPECT_EQ(host.gone(key(3)).exit_code, 3);
}

TEST_F(HostTest, ManyConnectionsToASupervisorEndNobody) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  const pid_t main = host.running(key(1));
  const std::string channel = ClaimFile::open(claim_path(key(1))).order()->control;
  // Some say nothing, some say what an agent would.
  for (const char* said : {"", "ping\n"}) {
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 12; ++i) {
      ASSERT_TRUE(host.until([&] {
        UniqueFd fd = connect_control(channel);
        if (fd) strangers.push_back(std::move(fd));
        return strangers.size() > static_cast<std::size_t>(i);
      }));
      write_all(strangers.back().get(), said);
    }
    // The agent is still heard, over whatever connection.
    host->perform(Freeze{key(1)});
    host->perform(Thaw{key(1)});
    EXPECT_TRUE(runs(main));
    EXPECT_TRUE(host.seen<WorkerGone>().empty());
  }
  host->perform(GiveNotice{key(1), SIGTERM});
  EXPECT_EQ(host.gone(key(1)).signal, SIGTERM);
}

// Downgraded servers meet such claims. What really was the end stays to be read in the file.
TEST_F(HostTest, AnEndingOfANewerVersionIsNeverToldAsAnother) {
  {
    TestHost host(directory_.path());
    host.start(shell_worker(key(1), "exit 0"));
    host.running(key(1));
    host.crash();
    ASSERT_TRUE(
        eventually([&] { return ClaimFile::open(claim_path(key(1))).ending().has_value(); }));
  }
  write_unknown_ending(claim_path(key(1)), key(1));
  const std::string written = contents(claim_path(key(1)));
  TestHost next(directory_.path());
  ASSERT_EQ(next->claims().size(), 1U);
  EXPECT_EQ(next.gone(key(1)).cause, Cause::node_lost);
  EXPECT_THAT(next.gone(key(1)).message, HasSubstr("that only another version of Paceline knows"));
  next->perform(Discard{key(1)});
  EXPECT_EQ(contents(directory_ / "agent/damaged/1.1.0.over"), written);
}

// A supervisor of another version that is followed to its end.
TEST_F(HostTest, AnEndingOfANewerVersionIsNotTakenForALostSupervisor) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  host.running(key(1));
  const pid_t supervisor = processes(key(1)).supervisor.pid;
  ::kill(supervisor, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !runs(supervisor); }));
  write_unknown_ending(claim_path(key(1)), key(1));
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
  EXPECT_THAT(host.gone(key(1)).message, HasSubstr("by another version of Paceline"));
}

// Connections to a supervisor that are each heard before the next one comes: so many that there is no
// room for those that came before them.
std::vector<UniqueFd> crowd(const std::string& channel) {
  constexpr int kConnectionsMax = 8;
  std::vector<UniqueFd> all;
  for (int i = 0; i < kConnectionsMax; ++i) {
    all.push_back(connect_control(channel));
    write_all(all.back().get(), "ping\n");
    std::string heard;
    EXPECT_TRUE(eventually([&] {
      char byte = 0;
      while (::recv(all.back().get(), &byte, 1, MSG_DONTWAIT) == 1) heard += byte;
      return heard.ends_with("pong\n");
    }));
  }
  return all;
}

TEST_F(HostTest, WhatASupervisorNoLongerHeardIsSaidAgain) {
  TestHost host(directory_.path());
  const std::string ticks = directory_ / "ticks";
  const auto size = [&] { return contents(ticks).size(); };
  host.start(shell_worker(key(1), "while :; do printf x >> " + ticks + "; sleep 0.001; done"));
  host.running(key(1));
  const std::string channel = ClaimFile::open(claim_path(key(1))).order()->control;
  ASSERT_TRUE(host.until([&] { return size() > 3; }));
  host->perform(Freeze{key(1)});
  const auto strangers = crowd(channel);
  const std::size_t frozen = size();
  host->perform(Thaw{key(1)});
  EXPECT_TRUE(host.until([&] { return size() > frozen + 3; }));
}

// A job that may signal its supervisor, and is in no group.
TEST_F(HostTest, AJobThatKillsItsSupervisorAgainAndAgainFails) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a mount namespace";
  const auto causes = in_pid_namespace([&] {
    ::umount2("/sys/fs/cgroup", MNT_DETACH);
    std::string told;
    TestHost host(directory_.path());
    for (std::uint32_t generation = 1; generation <= 5; ++generation) {
      host.start(shell_worker(key(1, generation), "kill -9 $PPID; exec sleep 1000"));
      told += std::string(to_string(host.gone(key(1, generation)).cause)) + " ";
    }
    return told;
  });
  if (!causes) GTEST_SKIP() << "no pid namespace here";
  EXPECT_EQ(*causes, "node_lost node_lost node_lost signalled signalled ");
}

// ---- the time limit ----

constexpr Duration kShort = std::chrono::milliseconds{100};

TEST_F(HostTest, ATimeLimitIsHeldWhileNoAgentIsThere) {
  pid_t main = 0;
  {
    TestHost host(directory_.path());
    WorkerLaunch stubborn =
        shell_worker(key(1), "trap 'echo heard' TERM; while :; do sleep 0.02; done");
    stubborn.limit = RunLimit{kShort, SIGTERM, std::chrono::seconds{2}};
    host.start(stubborn);
    main = host.running(key(1));
    WorkerLaunch saves = shell_worker(key(2), "trap 'exit 0' TERM; while :; do sleep 0.1; done");
    saves.limit = RunLimit{kShort, SIGTERM, std::chrono::hours{1}};
    host.start(saves);
    host.running(key(2));
    host.crash();
    EXPECT_TRUE(eventually([&] { return !runs(main); }));
  }
  TestHost next(directory_.path());
  next->claims();
  EXPECT_EQ(next.gone(key(1)).cause, Cause::timed_out);
  EXPECT_EQ(next.gone(key(1)).signal, SIGKILL);
  EXPECT_EQ(next.gone(key(2)).cause, Cause::timed_out);
  EXPECT_EQ(next.gone(key(2)).exit_code, 0);
  EXPECT_THAT(log(1), HasSubstr("heard"));
}

TEST_F(HostTest, WhereAnAgentIsThereTheTimeLimitIsTheServers) {
  TestHost host(directory_.path());
  WorkerLaunch over = shell_worker(key(1), "exec sleep 1000");
  over.limit = RunLimit{Duration::zero(), SIGTERM, Duration::zero()};
  host.start(over);
  const pid_t main = host.running(key(1));
  host.start(shell_worker(key(2), "sleep 2; exit 0"));
  host.gone(key(2));
  EXPECT_TRUE(runs(main));
}

TEST_F(HostTest, WhatIsFrozenSpendsNoTime) {
  TestHost host(directory_.path());
  for (const std::uint32_t job : {1U, 2U}) {
    host.start(shell_worker(key(job), "exec sleep 1000"));
    host.running(key(job));
    host->perform(SetLimit{key(job), {kShort, SIGTERM, kShort}});
  }
  const pid_t frozen = host.running(key(1)), other = host.running(key(2));
  host->perform(Freeze{key(1)});
  host.crash();
  EXPECT_TRUE(eventually([&] { return !runs(other); }));
  EXPECT_TRUE(runs(frozen));
  TestHost next(directory_.path());
  next->claims();
  next->perform(Thaw{key(1)});
  EXPECT_EQ(next.gone(key(2)).cause, Cause::timed_out);
  next.crash();
  EXPECT_TRUE(eventually([&] { return !runs(frozen); }));
}

TEST_F(HostTest, ATimeLimitThatASupervisorDidNotHearIsSaidAgain) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "trap 'echo noticed' USR1; while :; do sleep 0.01; done"));
  const pid_t main = host.running(key(1));
  auto strangers = crowd(ClaimFile::open(claim_path(key(1))).order()->control);
  host->perform(SetLimit{key(1), {kShort, SIGTERM, kShort}});
  host->perform(GiveNotice{key(1), SIGUSR1});
  ASSERT_TRUE(host.until([&] { return log(1).ends_with("noticed\n"); }));
  host.crash();
  strangers.clear();
  EXPECT_TRUE(eventually([&] { return !runs(main); }));
}

// ---- the lease ----

WorkerLaunch leased(WorkerLaunch worker, Duration lease, Duration grace = {}) {
  worker.lease = RunLimit{lease, SIGTERM, grace};
  return worker;
}

TEST_F(HostTest, WorkersAreEndedOnceTheirLeaseIsOver) {
  const Duration lease = std::chrono::milliseconds{500};
  TestHost host(directory_.path());
  host.start(leased(shell_worker(key(1), "exec sleep 1000"), lease));
  host.start(leased(shell_worker(key(2), "exec sleep 1000"), std::chrono::hours{1}));
  host.start(shell_worker(key(3), "exec sleep 1000"));
  const pid_t of_long_lease = host.running(key(2)), of_none = host.running(key(3));
  const WorkerGone end = host.gone(key(1));
  EXPECT_EQ(end.cause, Cause::node_lost);
  EXPECT_EQ(end.message, "Its machine heard of no server for 0 s, so it was ended there.");
  EXPECT_TRUE(runs(of_long_lease));
  EXPECT_TRUE(runs(of_none));
}

TEST_F(HostTest, ALeaseEndsWithoutAnAgentAndOfAFrozenWorker) {
  const Duration lease = std::chrono::seconds{1};
  TestHost host(directory_.path());
  for (const std::uint32_t job : {1U, 2U})
    host.start(leased(shell_worker(key(job), "exec sleep 1000"), lease));
  const pid_t first = host.running(key(1)), frozen = host.running(key(2));
  host->perform(Freeze{key(2)});
  host.crash();
  EXPECT_TRUE(eventually([&] { return !runs(first) && !runs(frozen); }));
  TestHost next(directory_.path());
  next->claims();
  EXPECT_EQ(next.gone(key(1)).cause, Cause::node_lost);
  EXPECT_EQ(next.gone(key(2)).cause, Cause::node_lost);
}

TEST_F(HostTest, AWorkerIsToldBeforeItsLeaseEndsAndMayGoByItself) {
  TestHost host(directory_.path());
  host.start(
      leased(shell_worker(key(1), "trap 'echo heard; exit 0' TERM; while :; do sleep 0.02; done"),
             std::chrono::seconds{61}, std::chrono::minutes{1}));
  const WorkerGone end = host.gone(key(1));
  EXPECT_EQ(end.cause, Cause::node_lost) << "it is not done";
  EXPECT_THAT(log(1), HasSubstr("heard"));
}

TEST_F(HostTest, AFrozenWorkerIsToldBeforeItsLeaseEndsAndGoesOnToSave) {
  TestHost host(directory_.path());
  host.start(leased(
      shell_worker(key(1), "trap 'echo heard; exit 0' TERM; echo up; while :; do sleep 0.02; done"),
      std::chrono::seconds{62}, std::chrono::minutes{1}));
  EXPECT_TRUE(eventually([&] { return log(1).find("up") != std::string::npos; }));
  host->perform(Freeze{key(1)});
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
  EXPECT_THAT(log(1), HasSubstr("heard"));
}

TEST_F(HostTest, ALeaseThatIsRenewedDoesNotEnd) {
  const Duration lease = std::chrono::seconds{2};
  TestHost host(directory_.path());
  host.start(leased(shell_worker(key(1), "exec sleep 1000"), lease));
  host.start(leased(shell_worker(key(2), "exec sleep 1000"), lease));
  const pid_t main = host.running(key(1));
  host.running(key(2));
  host->perform(RenewLeases{std::chrono::hours{1}});
  host.start(leased(shell_worker(key(3), "exec sleep 1000"), lease));
  EXPECT_EQ(host.gone(key(3)).cause, Cause::node_lost) << "it began after that";
  EXPECT_TRUE(runs(main));
  host->perform(RenewLeases{Duration::zero()});
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
  EXPECT_EQ(host.gone(key(2)).cause, Cause::node_lost);
}

// ---- what hangs ----

// A directory whose file system never answers.
TEST_F(HostTest, AWorkerThatHangsBeforeItsExecIsEndedLikeAnyOther) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  const auto ends = in_pid_namespace([&]() -> std::string {
    const int fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    const std::string hung = directory_ / "hung";
    ::mkdir(hung.c_str(), 0755);
    const std::string options =
        "fd=" + std::to_string(fuse) + ",rootmode=40000,user_id=0,group_id=0";
    if (fuse < 0 || ::mount("hung", hung.c_str(), "fuse", 0, options.c_str()) != 0) return "none";
    TestHost host(directory_.path());
    WorkerLaunch worker = shell_worker(key(1), "true");
    worker.launch.directory = hung;
    host.start(worker);
    const std::string claim = directory_ / "agent/workers/1.1.0";
    host.until([&] { return ClaimFile::open(claim).processes().supervisor.pid != 0; });
    host->perform(Kill{key(1)});
    const WorkerGone gone = host.gone(key(1));
    ::umount2(hung.c_str(), MNT_DETACH);
    return std::string(to_string(gone.cause)) + " " + std::to_string(gone.signal);
  });
  if (!ends || *ends == "none") GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(*ends, "signalled 9");
}

constexpr const char* kForkBomb = R"(exec python3 -uc '
import os, time
while True:
    try:
        os.fork()
    except OSError:
        print("no more")
        time.sleep(0.1)
')";

TEST_F(HostTest, AForkBombHarmsNobodyAndIsEnded) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a pid namespace";
  const auto told = in_pid_namespace([&]() -> std::string {
    HostOptions options;
    options.worker_processes = 100;
    TestHost host(directory_.path(), options);
    for (const std::string& sentence : host->not_enforced())
      if (sentence.find("pids") != std::string::npos) return "none";
    host.start(shell_worker(key(1), kForkBomb));
    host.running(key(1));
    host.until([&] { return log(1).find("no more") != std::string::npos; });
    const std::size_t most = all_pids().size();
    host.start(shell_worker(key(2), "sleep 0; exit 7"));
    const auto other = host.gone(key(2)).exit_code;
    host->perform(Kill{key(1)});
    host.gone(key(1));
    return std::to_string(other.value_or(-1)) + (most < 150 ? " few" : " many");
  });
  if (!told || *told == "none") GTEST_SKIP() << "no writable pids control group here";
  EXPECT_EQ(*told, "7 few");
}

constexpr std::uint32_t kNobody = 65534;

bool is_of(std::uint32_t uid, pid_t pid) {
  struct stat info {};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &info) == 0 && info.st_uid == uid;
}

TEST_F(HostTest, AForkBombOfAUserKeepsToTheirLimitWhereProcessesAreNotCounted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a pid namespace";
  const auto told = in_pid_namespace([&]() -> std::string {
    ::umount2("/sys/fs/cgroup", MNT_DETACH);
    HostOptions options;
    options.worker_processes = 100;
    TestHost host(directory_.path(), options);
    const auto theirs = [] {
      const auto pids = all_pids();
      return std::ranges::count_if(pids, [](pid_t pid) { return is_of(kNobody, pid); });
    };
    WorkerLaunch bomb = shell_worker(key(1), kForkBomb);
    bomb.uid = kNobody;
    host.start(bomb);
    host.running(key(1));
    host.until([&] { return log(1).find("no more") != std::string::npos; });
    const auto most = theirs();
    host.start(shell_worker(key(2), "sleep 0; exit 7"));
    const auto other = host.gone(key(2)).exit_code;
    host->perform(Kill{key(1)});
    host.gone(key(1));
    return std::to_string(other.value_or(-1)) + (most > 10 && most <= 100 ? " few, " : " many, ") +
           std::to_string(theirs()) + " left";
  });
  if (!told) GTEST_SKIP() << "no pid namespace here";
  EXPECT_EQ(*told, "7 few, 0 left");
}

// ---- shared memory ----

// The server is a user's, so its jobs have no memory of their own.
TEST_F(HostTest, ASegmentThatAJobMadeInTheMachinesMemoryGoesWithIt) {
  const auto told = in_pid_namespace([&]() -> std::string {
    const bool changed = ::chown(directory_.path().c_str(), kNobody, kNobody) == 0 &&
                         ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                         ::setresuid(kNobody, kNobody, kNobody) == 0 &&
                         ::prctl(PR_SET_DUMPABLE, 1) == 0;
    if (!changed) return "none";
    TestHost host(directory_.path());
    const std::string makes =
        "exec python3 -uc 'import ctypes, time; print(ctypes.CDLL(None).shmget(0, 4096, 0o600)); "
        "time.sleep(1000)'";
    const auto made_by = [&](std::uint32_t job) {
      host.until([&] { return log(job).find("---\n") + 4 < log(job).size(); });
      return std::atoi(log(job).substr(log(job).find("---\n") + 4).c_str());
    };
    const auto exists = [](int id) {
      shmid_ds info{};
      return ::shmctl(id, IPC_STAT, &info) == 0;
    };
    std::vector<int> made;
    for (const std::uint32_t job : {1U, 2U}) {
      WorkerLaunch launch = shell_worker(key(job), makes);
      launch.uid = kNobody;
      launch.launch.shared_shm = job == 2;
      host.start(launch);
      made.push_back(made_by(job));
    }
    made.push_back(::shmget(IPC_PRIVATE, 4096, 0600));
    for (const std::uint32_t job : {1U, 2U}) {
      host->perform(Kill{key(job)});
      host.gone(key(job));
      host->perform(Discard{key(job)});
    }
    std::string left;
    for (const int id : made) {
      left += exists(id) ? "there " : "gone ";
      ::shmctl(id, IPC_RMID, nullptr);
    }
    return left;
  });
  if (!told || *told == "none") GTEST_SKIP() << "no pid namespace, or no other user here";
  EXPECT_EQ(*told, "gone there there ");
}

class MemoryTest : public HostTest {
 protected:
  void SetUp() override {
    if (!GangMemory("paceline-test").permitted()) GTEST_SKIP() << "no namespaces here";
  }
  static WorkerLaunch one_of_two(std::int32_t rank, const std::string& script) {
    WorkerLaunch launch = shell_worker(key(1, 1, rank), script);
    launch.local_rank = rank;
    launch.world_size = launch.local_world_size = 2;
    return launch;
  }
  std::string base() { return "/dev/shm/" + Marks(directory_.path()).group(); }
  const std::string name_ = "paceline-test-" + std::to_string(::getpid());
};

TEST_F(MemoryTest, AGangSharesWhatIsNobodyElsesAndGoesWithIt) {
  TestHost host(directory_.path());
  const std::string file = "/dev/shm/" + name_;
  host.start(one_of_two(
      0, "ipcmk -M 4096 -p 600 >/dev/null && echo hello > " + file + "; exec sleep 1000"));
  host.start(one_of_two(1, "until test -s " + file + "; do sleep 0.1; done; cat " + file +
                               "; ipcs -m | grep -c 4096; df --output=fstype /dev/shm | tail -1"));
  EXPECT_EQ(host.gone(key(1, 1, 1)).exit_code, 0);
  EXPECT_THAT(log(1, 1), EndsWith("---\nhello\n1\ntmpfs\n"));
  EXPECT_FALSE(exists(file));
  host.start(shell_worker(key(2), "test ! -e " + file));
  EXPECT_EQ(host.gone(key(2)).exit_code, 0);
  host->perform(Discard{key(1, 1, 1)});
  EXPECT_TRUE(exists(base() + "/1.1/" + name_));
  host->perform(Kill{key(1)});
  host.gone(key(1));
  host->perform(Discard{key(1)});
  EXPECT_TRUE(
      eventually([&] { return list_directory(base()) == std::vector<std::string>{"2.1"}; }));
}

TEST_F(MemoryTest, WhatCannotBeEmptiedForWantOfDescriptorsIsEmptiedOnceThereAreSome) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "touch /dev/shm/left"));
  host.gone(key(1));
  ASSERT_TRUE(exists(base() + "/1.1/left"));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  host->perform(Discard{key(1)});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(list_directory(base()).empty());
  EXPECT_TRUE(host.until([&] { return list_directory(base()).empty(); }));
}

TEST_F(MemoryTest, AWorkerThatStartsWhileItsGangsMemoryIsEmptiedGetsItsOwn) {
  { TestHost first(directory_.path()); }
  ASSERT_EQ(::mkdir(base().c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((base() + "/1.1").c_str(), 0700), 0);
  for (int i = 0; i < 20'000; ++i)
    UniqueFd(::open(fmt::format("{}/1.1/{}", base(), i).c_str(), O_CREAT | O_CLOEXEC, 0600));
  TestHost host(directory_.path());
  host->claims();
  host.start(
      shell_worker(key(1), "ls /dev/shm | wc -l && touch /dev/shm/mine && sleep 1 && ls /dev/shm"));
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_THAT(log(1, 0), EndsWith("---\n0\nmine\n"));
}

TEST_F(MemoryTest, AnAgentThatLeavesKeepsOnlyWhatIsInUse) {
  {
    TestHost host(directory_.path());
    host.start(shell_worker(key(1), "touch /dev/shm/used; exec sleep 1000"));
    host.start(shell_worker(key(2), "touch /dev/shm/left"));
    host.gone(key(2));
    ASSERT_TRUE(host.until([&] { return exists(base() + "/1.1/used"); }));
    host.crash();
    EXPECT_TRUE(exists(base() + "/1.1/used"));
    EXPECT_FALSE(exists(base() + "/2.1"));
  }
  TestHost next(directory_.path());
  next->claims();
  EXPECT_TRUE(exists(base() + "/1.1/used"));
}

TEST_F(MemoryTest, WhoAsksForTheMachinesSeesIt) {
  TestHost host(directory_.path());
  const std::string file = "/dev/shm/" + name_;
  WorkerLaunch shares = shell_worker(key(1), "echo hello > " + file);
  shares.launch.shared_shm = true;
  host.start(shares);
  host.gone(key(1));
  EXPECT_EQ(contents(file), "hello\n");
  ::unlink(file.c_str());
}

TEST_F(MemoryTest, WhatAWorkerMountsIsNotSeenOutside) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "mount -t tmpfs none " + directory_.path() + "/logs && touch " +
                                      directory_.path() + "/logs/seen"));
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_FALSE(exists(directory_ / "logs/seen"));
}

TEST_F(MemoryTest, WhatGangsLeftThatNobodyKnowsIsRemovedHoweverDeep) {
  { TestHost first(directory_.path()); }
  const std::string stray = base() + "/7.3";
  ASSERT_EQ(::mkdir(base().c_str(), 0700), 0);
  ASSERT_EQ(::mkdir(stray.c_str(), 0700), 0);
  UniqueFd at(::open(stray.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
    ASSERT_EQ(::symlinkat("/", at.get(), ".paceline-1"), 0);
    at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY));
  }
  TestHost host(directory_.path());
  host->claims();
  EXPECT_TRUE(eventually([&] { return list_directory(base()).empty(); }));
  EXPECT_TRUE(exists("/dev/shm"));
}

TEST_F(MemoryTest, ANameThatSomebodyElseTookIsMovedAway) {
  ::mkdir((directory_ / "agent").c_str(), 0700);
  ::mkdir((directory_ / "agent/workers").c_str(), 0700);
  ASSERT_EQ(::symlink("/etc", base().c_str()), 0);
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "touch /dev/shm/mine"));
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_TRUE(exists(base() + "/1.1/mine"));
  for (const std::string& name : list_directory("/dev/shm"))
    if (("/dev/shm/" + name).starts_with(base() + ".")) ::unlink(("/dev/shm/" + name).c_str());
}

TEST_F(HostTest, ADamagedClaimKeepsItsWorkerUntilThatEnds) {
  TestHost first(directory_.path());
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  first.start(shell_worker(key(1), "read x < " + (directory_ / "go") + "; exit 4"));
  first.start(shell_worker(key(2), "exec sleep 1000"));
  first.running(key(1));
  const pid_t unwatched = first.running(key(2));
  first.crash();
  for (std::uint32_t job : {1U, 2U}) {
    std::string order = contents(claim_path(key(job)));
    const std::size_t marker = order.find("marker");
    const UniqueFd file(::open(claim_path(key(job)).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), "l", 1, static_cast<off_t>(marker)), 1);
  }

  HostOptions three_slots;
  three_slots.cpu_slots = 3;
  TestHost second(directory_.path(), std::move(three_slots));
  EXPECT_EQ(second->claims().size(), 2U);
  for (const Claim& claim : second->claims()) {
    EXPECT_FALSE(claim.gone);
    EXPECT_THAT(claim.slots, ElementsAre(0, 1, 2)) << "nobody knows which it has";
    EXPECT_FALSE(exists(claim_path(claim.key)));
    EXPECT_TRUE(exists(directory_ / ("agent/damaged/" + claim_name(claim.key))));
  }
  EXPECT_EQ(
      second->describe().slots[0].note,
      "a worker of job 1 (and 1 more) runs here unwatched: its claim is damaged or was removed");
  EXPECT_TRUE(second->describe().slots[0].usable);
  second.start(shell_worker(key(2), "exit 0"));
  EXPECT_TRUE(runs(unwatched));
  // Its supervisor still writes how it ended, under a digest of its own.
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  EXPECT_EQ(second.gone(key(1)).exit_code, 4);
  second->perform(Discard{key(1)});
  EXPECT_TRUE(exists(directory_ / "agent/damaged/1.1.0.over"));
  second.crash();

  TestHost third(directory_.path());
  ASSERT_EQ(third->claims().size(), 1U);
  third->perform(Kill{key(2)});
  EXPECT_EQ(third.gone(key(2)).cause, Cause::node_lost);
  EXPECT_EQ(third.gone(key(2)).message,
            "The claim of worker 2.1.0 is damaged and was set aside as '" +
                (directory_ / "agent/damaged/2.1.0") + "'.");
  EXPECT_FALSE(runs(unwatched));
  bool told = false;
  third->on_devices_changed([&] { told = true; });
  third->perform(Discard{key(2)});
  EXPECT_TRUE(told);
  EXPECT_EQ(third->describe().slots[0].note, "");
}

// Whole, but of another server: nobody is looked for by what it says.
TEST_F(HostTest, AClaimWithTheMarksOfAnotherServerIsSetAside) {
  { const TestHost host(directory_.path()); }
  WorkerOrder order;
  order.key = key(1);
  order.boot_id = read_boot_id().value();
  order.command = {"true"};
  order.marker = Marks(directory_ / "elsewhere").marker(key(1));
  auto held = ClaimFile::create(claim_path(key(1)), order);
  ASSERT_TRUE(held);
  TestHost host(directory_.path());
  ASSERT_EQ(host->claims().size(), 1U);
  EXPECT_FALSE(exists(claim_path(key(1))));
  EXPECT_TRUE(exists(directory_ / "agent/damaged/1.1.0"));
  EXPECT_FALSE(host->claims().front().gone);
  held->release().reset();
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
}

TEST_F(HostTest, AWorkerWhoseClaimIsRemovedEnds) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "setsid sleep 1000 & exec sleep 1000"));
  const pid_t pid = host.running(key(1));
  ASSERT_EQ(::unlink((directory_ / "agent/workers/1.1.0").c_str()), 0);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
  EXPECT_THAT(host.gone(key(1)).message, HasSubstr("was removed"));
  EXPECT_NE(::kill(pid, 0), 0);
}

// A claim of the version before, by which nobody is signalled.
struct PlainClaim {
  UniqueFd file;
  std::string marker;
};
WorkerOrder plain_order(const std::string& directory, const ProcessKey& key) {
  WorkerOrder order;
  order.key = key;
  order.boot_id = read_boot_id().value();
  order.command = {"true"};
  order.marker = Marks(directory).marker(key, ClaimFormat::plain);
  return order;
}
UniqueFd write_plain_claim(const std::string& path, const WorkerOrder& order,
                           const WorkerProcesses& processes) {
  std::string text(4096, '\0');
  std::memcpy(&text[64], &processes, sizeof processes);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_TRUE(write_all(file.get(), text + to_text(order, ClaimFormat::plain)));
  return file;
}
PlainClaim make_plain_claim(const std::string& directory, const std::string& path,
                            const ProcessKey& key) {
  const WorkerOrder order = plain_order(directory, key);
  const WorkerProcesses strangers{identify(::getppid()), identify(::getppid())};
  return {write_plain_claim(path, order, strangers), order.marker};
}

// A worker whose supervisor knows no other claim.
void raise_by_plain_claim(Nursery& nursery, const std::string& directory, const std::string& path,
                          const ProcessKey& key, const std::string& script) {
  WorkerOrder order = plain_order(directory, key);
  order.command = {"/bin/sh", "-c", script};
  order.environment = {order.marker, "PATH=/usr/bin:/bin"};
  order.directory = directory;
  order.uid = ::geteuid();
  order.log = directory + "/log";
  order.control = path.substr(1);
  order.socket = directory + "/" + claim_name(key) + ".sock";
  ASSERT_TRUE(replace_file(AT_FDCWD, order.log.c_str(), ""));
  UniqueFd file = write_plain_claim(path, order, {});
  ASSERT_EQ(::flock(file.get(), LOCK_EX), 0);
  nursery.raise({std::move(file), listen_control(order.control), {}});
}

// Somebody with these in his environment.
pid_t sleep_with(std::vector<std::string> markers) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> environment;
    for (std::string& marker : markers) environment.push_back(marker.data());
    environment.push_back(nullptr);
    ::execle("/bin/sleep", "sleep", "1000", nullptr, environment.data());
    ::_exit(1);
  }
  EXPECT_TRUE(eventually(
      [&] { return marked_processes(markers.back()).pids == std::vector<pid_t>{child}; }));
  return child;
}

TEST_F(HostTest, OrphansThatTakeLongToEndHoldUpNoStart) {
  constexpr std::uint32_t kOrphans = 40;
  { TestHost host(directory_.path()); }
  std::vector<std::string> markers;
  for (std::uint32_t job = 1; job <= kOrphans; ++job)
    markers.push_back(make_plain_claim(directory_.path(), claim_path(key(job)), key(job)).marker);
  const pid_t left = sleep_with(markers);

  TestHost host(directory_.path());
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Claim> claims = host->claims();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{60});
  ASSERT_EQ(claims.size(), kOrphans);
  for (const Claim& claim : claims) EXPECT_FALSE(claim.gone);
  EXPECT_TRUE(runs(left));
  ::kill(left, SIGKILL);
  ::waitpid(left, nullptr, 0);
  for (std::uint32_t job = 1; job <= kOrphans; ++job)
    EXPECT_EQ(host.gone(key(job)).cause, Cause::node_lost);
}

TEST_F(HostTest, AClaimWithoutDigestsIsFollowedAndKillsNobody) {
  { TestHost host(directory_.path()); }
  const auto [file, marker] = make_plain_claim(directory_.path(), claim_path(key(1)), key(1));
  ASSERT_EQ(::flock(file.get(), LOCK_EX), 0);
  const pid_t left = sleep_with({marker});

  TestHost host(directory_.path());
  ASSERT_EQ(host->claims().size(), 1U);
  host->perform(Kill{key(1)});
  EXPECT_FALSE(host->claims()[0].gone);
  ::flock(file.get(), LOCK_UN);
  for (int i = 0; i < 100; ++i) host.turn();
  EXPECT_FALSE(host->claims()[0].gone);
  EXPECT_TRUE(runs(left));
  ::kill(left, SIGKILL);
  ::waitpid(left, nullptr, 0);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
}

TEST_F(HostTest, AWorkerOfAClaimWithoutDigestsEndsAsItsSupervisorSaysAndIsKilledByIt) {
  { TestHost host(directory_.path()); }
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  Nursery nursery({"/proc/self/exe", "supervise"}, 1'024);
  ASSERT_TRUE(nursery.open());
  const std::string waits = "read x < " + (directory_ / "go") + "; exit 4";
  for (const auto& [job, script] :
       std::map<std::uint32_t, std::string>{{1, waits}, {2, "exec sleep 1000"}, {3, "exit 5"}})
    raise_by_plain_claim(nursery, directory_.path(), claim_path(key(job)), key(job), script);
  ASSERT_TRUE(eventually([&] { return ClaimFile::open(claim_path(key(3))).lock(); }));

  TestHost host(directory_.path());
  ASSERT_EQ(host->claims().size(), 3U);
  EXPECT_EQ(host.gone(key(3)).exit_code, 5) << "it ended while nobody was there";
  ASSERT_TRUE(host.until([&] { return processes(key(2)).main.pid != 0; }));
  const pid_t sleeps = processes(key(2)).main.pid;
  EXPECT_EQ(ClaimFile::open(claim_path(key(1))).format(), ClaimFormat::plain);
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  const WorkerGone ended = host.gone(key(1));
  EXPECT_EQ(ended.cause, Cause::exited);
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_TRUE(runs(sleeps));
  host->perform(Kill{key(2)});
  EXPECT_EQ(host.gone(key(2)).cause, Cause::signalled);
  EXPECT_FALSE(runs(sleeps));
}

TEST_F(HostTest, SweepsUpWhatAForgottenWorkerLeft) {
  { TestHost host(directory_.path()); }
  for (const char* stray : {"run/9.1.0.sock", "agent/setups/9.1", "agent/terminals/9.1.0.sock"})
    ASSERT_TRUE(replace_file(AT_FDCWD, (directory_ / stray).c_str(), "x"));
  TestHost host(directory_.path());
  host->claims();
  for (const char* stray : {"run/9.1.0.sock", "agent/setups/9.1", "agent/terminals/9.1.0.sock"})
    EXPECT_FALSE(exists(directory_ / stray)) << stray;
}

TEST_F(HostTest, WorkersKeepTheLimitOfOpenFilesThatWasThere) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{777, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "ulimit -n"));
  host.gone(key(1));
  EXPECT_THAT(log(1), EndsWith("---\n777\n"));
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(HostTest, AKillOfAnUnknownWorkerIsObservedAsLost) {
  TestHost host(directory_.path());
  host->perform(Kill{key(5)});
  EXPECT_EQ(host.gone(key(5)).cause, Cause::node_lost);
}

TEST_F(HostTest, GivesNoticeToTheMainProcess) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "trap 'echo saved; exit 0' USR1; echo up > " +
                                      (directory_ / "up") + "; while :; do sleep 0.01; done"));
  ASSERT_TRUE(host.until([&] { return !contents(directory_ / "up").empty(); }));
  host->perform(GiveNotice{key(1), SIGUSR1});
  EXPECT_TRUE(host->claims()[0].noticed);
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_THAT(log(1), EndsWith("saved\n"));
}

TEST_F(HostTest, GivesNoticeToTheChildrenOfOurShell) {
  TestHost host(directory_.path());
  const std::string child =
      "trap 'exit 9' TERM; echo up > " + (directory_ / "up") + "; while :; do sleep 0.01; done";
  WorkerLaunch launch =
      shell_worker(key(1), "sh -c \"" + child + "\"; code=$?; echo shell saw $code; exit $code");
  launch.launch.shell = true;
  host.start(launch);
  ASSERT_TRUE(host.until([&] { return !contents(directory_ / "up").empty(); }));
  host->perform(GiveNotice{key(1), SIGTERM});
  EXPECT_EQ(host.gone(key(1)).exit_code, 9);
  EXPECT_THAT(log(1), EndsWith("shell saw 9\n"));
}

TEST_F(HostTest, FreezesAndThaws) {
  TestHost host(directory_.path());
  const std::string ticks = directory_ / "ticks";
  const auto size = [&] { return contents(ticks).size(); };
  host.start(shell_worker(key(1), "while :; do printf x >> " + ticks + "; sleep 0.001; done"));
  ASSERT_TRUE(host.until([&] { return size() > 3; }));
  host->perform(Freeze{key(1)});
  std::size_t last = 0;
  int unchanged = 0;
  ASSERT_TRUE(host.until([&] {
    const std::size_t before = std::exchange(last, size());
    unchanged = before == last ? unchanged + 1 : 0;
    return unchanged == 50;
  }));
  host->perform(Thaw{key(1)});
  EXPECT_TRUE(host.until([&] { return size() > last; }));
}

// Asks for news of its gang once, as the runtime does all the time.
constexpr const char* kAsksOfItsGang = R"(exec python3 -c '
import http.client, os, socket, time
connection = http.client.HTTPConnection("paceline")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(os.environ["PACELINE_SOCKET"])
connection.request("GET", "/v1/gang?after=0")
print("asked", connection.getresponse().status, flush=True)
time.sleep(1000)'
)";

void turn_for(TestHost& host, std::chrono::milliseconds span) {
  const auto end = std::chrono::steady_clock::now() + span;
  host.until([&] { return std::chrono::steady_clock::now() > end; });
}

TEST_F(HostTest, AWorkerThatASignalStoppedIsEndedForItsGang) {
  TestHost host(directory_.path());
  for (const std::uint32_t job : {1U, 2U}) {
    WorkerLaunch member = shell_worker(key(job), kAsksOfItsGang);
    member.world_size = job == 1 ? 2 : 1;
    host.start(member);
    ASSERT_TRUE(host.until([&] { return log(job).ends_with("asked 200\n"); }));
    ::kill(host.running(key(job)), SIGSTOP);
  }
  const auto gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::signalled);
  EXPECT_EQ(gone.signal, SIGKILL);
  EXPECT_THAT(gone.message, ::testing::StartsWith("A signal had stopped it while the others"));
  turn_for(host, 2 * kStoppedMax);
  EXPECT_EQ(host.seen<WorkerGone>().size(), 1U) << "nobody waits for the other one";
}

TEST_F(HostTest, AFrozenWorkerIsNotTakenForAStoppedOne) {
  TestHost host(directory_.path());
  WorkerLaunch member = shell_worker(key(1), kAsksOfItsGang);
  member.world_size = 2;
  host.start(member);
  ASSERT_TRUE(host.until([&] { return log(1).ends_with("asked 200\n"); }));
  ::kill(host.running(key(1)), SIGSTOP);  // as it is frozen without control groups
  host->perform(Freeze{key(1)});
  turn_for(host, 2 * kStoppedMax);
  EXPECT_TRUE(host.seen<WorkerGone>().empty());
}

TEST_F(HostTest, AFrozenWorkerCanBeKilled) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "exec sleep 1000"));
  host.running(key(1));
  host->perform(Freeze{key(1)});
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).signal, SIGKILL);
}

TEST_F(HostTest, RunsTheSetupOncePerNodeBeforeTheGang) {
  TestHost host(directory_.path());
  for (int rank : {1, 0}) {
    WorkerLaunch launch = shell_worker(key(1, 1, rank), "cat " + (directory_ / "made"));
    launch.local_rank = rank;
    launch.world_size = launch.local_world_size = 2;
    launch.launch.setup = "echo ready >> " + (directory_ / "made");
    host.start(launch);
  }
  for (int rank : {0, 1}) {
    EXPECT_EQ(host.gone(key(1, 1, rank)).exit_code, 0);
    EXPECT_THAT(log(1, rank), EndsWith("---\nready\n"));
  }
}

TEST_F(HostTest, AFailingSetupFailsTheGang) {
  TestHost host(directory_.path());
  for (int rank : {0, 1}) {
    WorkerLaunch launch = shell_worker(key(1, 1, rank), "true");
    launch.local_rank = rank;
    launch.world_size = launch.local_world_size = 2;
    launch.launch.setup = "echo no such wheel; exit 5";
    host.start(launch);
  }
  for (int rank : {0, 1}) {
    EXPECT_EQ(host.gone(key(1, 1, rank)).cause, Cause::setup_failed);
    EXPECT_EQ(host.gone(key(1, 1, rank)).message,
              "The setup ended with exit code 5; see the log of rank 0.");
    host->perform(Discard{key(1, 1, rank)});
  }
  EXPECT_THAT(log(1), EndsWith("no such wheel\n"));
  EXPECT_TRUE(eventually([&] { return list_directory(directory_ / "agent/setups").empty(); }));
}

TEST_F(HostTest, ReadsReportsFromTheLogBeforeTheEnd) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), R"(echo hello; echo '{"paceline": {"step": 1, "loss": 0.5}}'
      echo '{"paceline": {"checkpoint": "/a.pt", "step": 1}}'
      echo '{"paceline": {"model": "/m.pt", "bytes": 12, "step": 1}}'; printf '{"paceline": {"step": 2}}')"));
  host.gone(key(1));
  const auto reports = host.seen<WorkerReport>();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].step, 1U);
  EXPECT_EQ(reports[0].metrics.at("loss"), 0.5);
  EXPECT_EQ(reports[1].step, 2U);
  EXPECT_LT(reports[0].report, reports[1].report);
  ASSERT_EQ(host.seen<CheckpointSeen>().size(), 1U);
  EXPECT_EQ(host.seen<CheckpointSeen>()[0].path, "/a.pt");
  ASSERT_EQ(host.seen<ModelSeen>().size(), 1U);
  const ModelSeen model = host.seen<ModelSeen>()[0];
  EXPECT_EQ(model, (ModelSeen{key(1), model.report, model.at, "/m.pt", "", 12, 1, {}}));
}

// What is not stored waits in the log, however much that is, and so does the end behind it.
TEST_F(HostTest, ABurstOfReportsIsToldAsFastAsItIsStoredAndCompletely) {
  constexpr std::size_t kReports = 100'000;
  TestHost host(directory_.path());
  host.start(shell_worker(
      key(1), "seq " + std::to_string(kReports) + R"( | sed 's/.*/{"paceline": {"step": &}}/')"));
  ASSERT_TRUE(eventually([&] { return ClaimFile::open(claim_path(key(1))).ending().has_value(); }));
  std::vector<Observation> told;
  const auto take = [&] {
    for (Observation& one : host.take()) told.push_back(std::move(one));
    return told.size();
  };
  ASSERT_TRUE(host.until([&] { return take() > kUnstoredMax / 2; }));
  for (int i = 0; i < 200; ++i) host.turn();
  EXPECT_LE(take(), kUnstoredMax);

  std::uint64_t steps = 0;
  std::size_t looked_at = 0;
  ASSERT_TRUE(host.until([&] {
    for (take(); looked_at < told.size(); ++looked_at) {
      const auto* report = std::get_if<WorkerReport>(&told[looked_at]);
      if (report == nullptr) continue;
      EXPECT_EQ(report->step, ++steps);
      host->stored(report->key, report->report);
    }
    return std::holds_alternative<WorkerGone>(told.back());
  }));
  EXPECT_EQ(steps, kReports);
}

TEST_F(HostTest, ReportsThatNobodyStoredAreToldToTheNextAgent) {
  TestHost first(directory_.path());
  first.start(shell_worker(key(1), R"(echo '{"paceline": {"step": 1}}'
      echo '{"paceline": {"step": 2}}'; exec sleep 1000)"));
  ASSERT_TRUE(first.until([&] { return first.seen<WorkerReport>().size() == 2; }));
  const auto reports = first.seen<WorkerReport>();
  first->stored(key(1), reports[0].report);
  const auto stored_to = [&] { return ClaimFile::open(claim_path(key(1))).tail().offset; };
  const auto begin = stored_to();
  ASSERT_TRUE(first.until([&] { return stored_to() > begin; }));
  first.crash();
  TestHost second(directory_.path());
  second->claims();
  ASSERT_TRUE(second.until([&] { return !second.seen<WorkerReport>().empty(); }));
  EXPECT_EQ(second.seen<WorkerReport>()[0].report, reports[1].report);
}

// As any user can do it to the log, which is his own.
TEST_F(HostTest, ALogOfEightTerabytesHoldsUpNeitherAnEndNorAStart) {
  const std::string longer =
      "python3 -c \"import os; os.ftruncate(os.open('/proc/self/fd/1', "
      "os.O_RDWR), 8 << 40)\"; echo '{\"paceline\": {\"step\": 1}}'";
  {
    TestHost host(directory_.path());
    host.start(shell_worker(key(1), longer));
    EXPECT_EQ(host.gone(key(1)).exit_code, 0);
    ASSERT_EQ(host.seen<WorkerReport>().size(), 1U);
    EXPECT_EQ(host.seen<WorkerReport>()[0].step, 1U);
  }
  TestHost again(directory_.path());
  EXPECT_FALSE(again->claims()[0].gone) << "it is read after the start";
  EXPECT_EQ(again.gone(key(1)).exit_code, 0);
}

TEST_F(HostTest, AReportReadAgainAfterARestartHasItsNumberAgain) {
  TestHost first(directory_.path());
  first.start(shell_worker(key(1), R"(echo '{"paceline": {"step": 1}}'; exec sleep 1000)"));
  ASSERT_TRUE(first.until([&] { return first.seen<WorkerReport>().size() == 1; }));
  first.crash();
  TestHost second(directory_.path());
  second->claims();
  ASSERT_TRUE(second.until([&] { return second.seen<WorkerReport>().size() == 1; }));
  EXPECT_EQ(second.seen<WorkerReport>()[0].report, first.seen<WorkerReport>()[0].report);
}

TEST_F(HostTest, TellsWhereACheckpointIsInADirectoryThatTravelled) {
  TestHost host(directory_.path());
  const std::string here = directory_ / "jobs/1-a";
  ASSERT_TRUE(make_directories(here, 0700));
  WorkerLaunch launch = shell_worker(key(1),
                                     "for path in a.pt src/../b.pt /c.pt ../d.pt; do echo '"
                                     R"({"paceline": {"checkpoint": ")" +
                                         here + R"(/'$path'"}}'; done)");
  launch.launch.directory = here;
  host.start(launch);
  host.gone(key(1));
  std::vector<std::string> inside;
  for (const CheckpointSeen& seen : host.seen<CheckpointSeen>()) inside.push_back(seen.inside);
  EXPECT_EQ(inside, (std::vector<std::string>{"a.pt", "b.pt", "c.pt", ""}));
}

TEST_F(HostTest, ACheckpointFileIsAcknowledgedAndTheLastOneBeforeTheEnd) {
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "echo 1 > a.pt; read x < go; echo 2 > b.pt");
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  launch.launch.directory = directory_.path();
  launch.checkpoint_glob = "*.pt";
  host.start(launch);
  ASSERT_TRUE(host.until([&] { return host.seen<CheckpointSeen>().size() == 1; }));
  EXPECT_EQ(host.seen<CheckpointSeen>()[0].path, directory_ / "a.pt");
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  host.gone(key(1));
  ASSERT_EQ(host.seen<CheckpointSeen>().size(), 2U);
  EXPECT_EQ(host.seen<CheckpointSeen>()[1].path, directory_ / "b.pt");
}

TEST_F(HostTest, WhoComesFirstOnItsNodeLooksForCheckpointFiles) {
  TestHost host(directory_.path());
  WorkerLaunch launch =
      shell_worker(key(1), "echo 1 > a.pt; read x < go; echo 2 > b.pt; exec sleep 1000");
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  launch.launch.directory = directory_.path();
  launch.checkpoint_glob = "*.pt";
  launch.local_rank = 1;
  host.start(launch);
  ASSERT_TRUE(host.until([&] { return contents(directory_ / "a.pt") == "1\n"; }));
  const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds{100};
  ASSERT_TRUE(host.until([&] { return std::chrono::steady_clock::now() > later; }));
  const Membership next{Generation{2}, 0, 1};
  GangPlace place;
  for (const std::int32_t local_rank : {1, 0}) {
    place.local_rank = local_rank;
    host->perform(SetMembership{key(1), next, place});
  }
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  ASSERT_TRUE(host.until([&] { return !host.seen<CheckpointSeen>().empty(); }));
  EXPECT_EQ(host.seen<CheckpointSeen>()[0].path, directory_ / "b.pt");
}

TEST_F(HostTest, ACheckpointFileWhoseWriterIsKilledIsNotAcknowledged) {
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "while :; do echo more >> a.pt; done");
  launch.launch.directory = directory_.path();
  launch.checkpoint_glob = "*.pt";
  host.start(launch);
  ASSERT_TRUE(host.until([&] { return exists(directory_ / "a.pt"); }));
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).signal, SIGKILL);
  EXPECT_TRUE(host.seen<CheckpointSeen>().empty());
}

TEST_F(HostTest, APatternWithoutEndHoldsUpNobodyAndItsOwnerIsTold) {
  ASSERT_EQ(::mkdir((directory_ / "g").c_str(), 0755), 0);
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(::symlink(".", (directory_ / ("g/l" + std::to_string(i))).c_str()), 0);
  TestHost host(directory_.path());
  WorkerLaunch maze = shell_worker(key(1), "exec sleep 1000");
  maze.launch.directory = directory_.path();
  maze.checkpoint_glob = "g/*/*/*/*/*";
  host.start(maze);
  host.running(key(1));
  ASSERT_TRUE(host.until([&] { return log(1).find("write a narrower one") != log(1).npos; }));
  WorkerLaunch honest = shell_worker(key(2), "echo 1 > a.pt; exec sleep 1000");
  honest.launch.directory = directory_.path();
  honest.checkpoint_glob = "*.pt";
  host.start(honest);
  ASSERT_TRUE(host.until([&] {
    const auto seen = host.seen<CheckpointSeen>();
    return std::any_of(seen.begin(), seen.end(), [](const auto& s) { return s.key == key(2); });
  }));
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).signal, SIGKILL);
}

TEST_F(HostTest, LooksThroughAsManyEntriesAsItIsTold) {
  HostOptions few;
  few.checkpoint_entries = 3;
  TestHost host(directory_.path(), few);
  WorkerLaunch launch = shell_worker(key(1), "touch a.pt b.pt c.pt d.pt; exec sleep 1000");
  launch.launch.directory = directory_.path();
  launch.checkpoint_glob = "*.pt";
  host.start(launch);
  host.running(key(1));
  EXPECT_TRUE(host.until([&] { return log(1).find("write a narrower one") != log(1).npos; }));
}

TEST_F(HostTest, ReadsAsMuchOfALogAfterTheEndAsItIsTold) {
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  HostOptions little;
  little.log_at_end = 1U << 20;
  TestHost first(directory_.path(), little);
  const std::string report = R"(echo '{"paceline": {"step": )";
  const std::string filler = "yes filler | head -c 1500000; ";
  first.start(shell_worker(key(1), "read x < " + (directory_ / "go") + "; " + report + "1}}'; " +
                                       filler + report + "2}}'; " + filler + report + "3}}'"));
  first.running(key(1));
  first.crash();
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  ASSERT_TRUE(eventually([&] { return ClaimFile::open(claim_path(key(1))).ending().has_value(); }));
  TestHost second(directory_.path(), little);
  second->claims();
  EXPECT_EQ(second.gone(key(1)).exit_code, 0);
  std::vector<std::uint64_t> steps;
  for (const WorkerReport& each : second.seen<WorkerReport>()) steps.push_back(*each.step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_THAT(log(1), HasSubstr("not looked through for reports"));
}

TEST_F(HostTest, ACheckpointWrittenWhileNoAgentWasThereIsFound) {
  TestHost first(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "read x < go; echo 2 > b.pt");
  ASSERT_EQ(::mkfifo((directory_ / "go").c_str(), 0600), 0);
  launch.launch.directory = directory_.path();
  launch.checkpoint_glob = "*.pt";
  first.start(launch);
  first.running(key(1));
  first.crash();
  ASSERT_TRUE(write_existing(directory_ / "go", "\n"));
  ASSERT_TRUE(eventually([&] { return ClaimFile::open(claim_path(key(1))).ending().has_value(); }));
  TestHost second(directory_.path());
  second->claims();
  EXPECT_EQ(second.gone(key(1)).exit_code, 0);
  EXPECT_EQ(second.seen<CheckpointSeen>().size(), 1U);
}

TEST_F(HostTest, AWorkerThatOutgrowsItsMemoryIsSaidToHave) {
  TestHost host(directory_.path());
  for (const std::string& sentence : host->not_enforced())
    if (sentence.starts_with("Memory limits")) GTEST_SKIP() << sentence;
  WorkerLaunch launch = shell_worker(key(1), "exec tail -n 1 /dev/zero");
  launch.memory_bytes = 32 << 20;
  host.start(launch);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::out_of_memory);
  EXPECT_EQ(host.gone(key(1)).message, "The worker used more than its 32 MiB of memory.");
}

TEST_F(HostTest, LeavesNoControlGroupBehind) {
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "cat /proc/self/cgroup");
  launch.cpus = 1;
  launch.memory_bytes = 64 << 20;
  host.start(launch);
  host.gone(key(1));
  const std::string groups = log(1);
  for (std::size_t at = 0; (at = groups.find("/paceline-", at)) != std::string::npos; ++at) {
    const std::string group = groups.substr(at, groups.find('\n', at) - at);
    for (const char* controller : {"freezer", "cpu", "memory", "unified"})
      EXPECT_FALSE(exists("/sys/fs/cgroup/" + std::string(controller) + group)) << group;
  }
}

TEST_F(HostTest, TheRanksOfAGangShareAPortAndAfterARestartToo) {
  TestHost first(directory_.path());
  const auto rank = [&](int number) {
    WorkerLaunch launch =
        shell_worker(key(1, 1, number), "echo port $MASTER_PORT; exec sleep 1000");
    launch.world_size = 3;
    return launch;
  };
  const auto port = [&](int number) {
    const std::string text = log(1, number);
    const std::size_t at = text.find("port ");
    return at == std::string::npos || !text.ends_with("\n") ? std::string{} : text.substr(at);
  };
  first.start(rank(0));
  first.start(rank(1));
  ASSERT_TRUE(first.until([&] { return !port(0).empty() && !port(1).empty(); }));
  first.crash();
  TestHost second(directory_.path());
  second.start(rank(2));
  ASSERT_TRUE(second.until([&] { return !port(2).empty(); }));
  EXPECT_EQ(port(0), port(1));
  EXPECT_EQ(port(0), port(2));
}

// Each of its nodes would have ports of its own otherwise.
TEST_F(HostTest, AGangOnSeveralNodesHasThePortsThatItWasGivenOrDoesNotStart) {
  TestHost host(directory_.path());
  const auto first = [&](std::uint32_t job) {
    WorkerLaunch launch = shell_worker(key(job), "echo port $MASTER_PORT; exec sleep 1000");
    launch.world_size = launch.group_world_size = 2;
    launch.port = 26'400;
    return launch;
  };
  host.start(first(1));
  ASSERT_TRUE(host.until([&] { return log(1).ends_with("port 26400\n"); }));
  host.start(first(2));
  const WorkerGone gone = host.gone(key(2));
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone) << gone.message;
  WorkerLaunch near = first(3);
  near.group_world_size = 1;
  host.start(near);
  EXPECT_TRUE(host.until(
      [&] { return log(3).ends_with("\n") && log(3).find("port ") != std::string::npos; }));
  EXPECT_THAT(log(3), ::testing::Not(EndsWith("port 26400\n"))) << "on one node others will do";
}

// ---- peers ----

// A node that this one must reach, and what becomes of a start meanwhile.
class PeersTest : public HostTest {
 protected:
  // Nobody answers there before answer().
  WorkerLaunch with_peer(const ProcessKey& key, const std::string& script) {
    WorkerLaunch launch = shell_worker(key, script);
    launch.peers = {{"gpu-1", "127.0.0.1", tcp_address_of(peer_->get()).port, "abc"}};
    return launch;
  }
  bool answer() {
    const UniqueFd visitor(::accept4(peer_->get(), nullptr, nullptr, SOCK_CLOEXEC));
    return visitor && write_all(visitor.get(), reach_line("abc"));
  }
  static HostOptions options(std::chrono::milliseconds limit) {
    HostOptions options;
    options.node_name = "gpu-2";
    options.reach_times.limit = limit;
    return options;
  }
  Result<UniqueFd> peer_ = listen_tcp({});
};

TEST_F(PeersTest, AStartWaitsUntilTheyAreReachedAndWhatIsAskedMeanwhileIsDoneThen) {
  TestHost host(directory_.path(), options(std::chrono::hours{1}));
  host.start(with_peer(key(1), "exec sleep 1000"));
  host.start(with_peer(key(1), "echo twice"));
  host.start(shell_worker(key(2), "true"));
  EXPECT_EQ(host.gone(key(2)).exit_code, 0) << "others start meanwhile";
  EXPECT_TRUE(list_directory(directory_ / "logs/1").empty());
  host->perform(Freeze{key(1)});
  host->perform(Thaw{key(1)});
  ASSERT_TRUE(host.until([&] { return answer(); }));
  EXPECT_NE(host.running(key(1)), 0);
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).signal, SIGKILL);
}

TEST_F(PeersTest, OneThatIsNotReachedRefusesThatStartAlone) {
  TestHost host(directory_.path(), options(std::chrono::milliseconds{50}));
  host.start(with_peer(key(1), "true"));
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone) << "others may start";
  EXPECT_THAT(gone.message, StartsWith("gpu-2 can't reach gpu-1 at 127.0.0.1, port "));
  EXPECT_TRUE(host->claims().empty());
}

TEST_F(PeersTest, AKillMeanwhileIsTheEnd) {
  TestHost host(directory_.path(), options(std::chrono::milliseconds{50}));
  host.start(with_peer(key(1), "true"));
  host->perform(Kill{key(1)});
  EXPECT_EQ(host.gone(key(1)).signal, SIGKILL);
  host.start(with_peer(key(1, 2), "true"));
  EXPECT_EQ(host.gone(key(1, 2)).cause, Cause::refused) << "by then the first would have been, too";
  EXPECT_EQ(host.seen<WorkerGone>().size(), 2U);
}

TEST_F(PeersTest, ANodeThatOthersReachTellsOfItsDoor) {
  TestHost host(directory_.path());
  EXPECT_EQ(host->describe().reach_port, 0U) << "this machine alone";
  EXPECT_EQ(host->describe().reach_nonce, "");
  host->reached_at("192.0.2.1");
  const NodeSpec node = host->describe();
  EXPECT_NE(node.reach_port, 0U);
  EXPECT_NE(node.reach_nonce, "");
  host->reached_at("127.0.0.1");
  EXPECT_EQ(host->describe().reach_port, 0U);
}

// ---- a machine in want ----

TEST_F(HostTest, RefusesWhereLittleRoomIsLeftAndStartsOnceThereIs) {
  if (::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "this user can't mount a small disk";
  {
    TestHost host(directory_.path());
    host.start(shell_worker(key(1), "true"));
    EXPECT_EQ(host.gone(key(1)).cause, Cause::refused);
    EXPECT_THAT(host.gone(key(1)).message, HasSubstr("make room"));
    EXPECT_TRUE(list_directory(directory_ / "agent/workers").empty());
    ::mount("tmpfs", directory_.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m");
    host.start(shell_worker(key(1, 2), "true"));
    EXPECT_EQ(host.gone(key(1, 2)).exit_code, 0);
  }
  ::umount2(directory_.path().c_str(), MNT_DETACH);
}

TEST_F(HostTest, RefusesWhereNoDescriptorIsLeftAndKeepsNothing) {
  TestHost host(directory_.path());
  host.start(shell_worker(key(1), "true"));
  host.gone(key(1));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto open = list_directory("/proc/self/fd").size();
  std::uint32_t job = 2;
  for (Cause cause = Cause::refused; cause == Cause::refused; ++job) {
    const rlimit few{open + job, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    host.start(shell_worker(key(job), "true"));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    cause = host.gone(key(job)).cause;
    EXPECT_THAT(cause, ::testing::AnyOf(Cause::refused, Cause::exited))
        << host.gone(key(job)).message;
    host->perform(Discard{key(job)});
  }
  EXPECT_GT(job, 4U) << "it was never short of one";
}

TEST_F(HostTest, RunsAWorkerAsItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may";
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "id -u; id -G");
  launch.uid = 65534;
  host.start(launch);
  host.gone(key(1));
  EXPECT_THAT(log(1), EndsWith("---\n65534\n65534\n"));
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "logs/1/rank0.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(HostTest, RunsAWorkerInTheGroupsOfWhoSubmittedIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may";
  TestHost host(directory_.path());
  const auto groups_of = [&](std::uint32_t job, std::uint32_t uid,
                             const std::vector<std::uint32_t>& groups) {
    WorkerLaunch launch = shell_worker(key(job), "id -u; id -g; id -G");
    launch.uid = uid;
    launch.launch.groups = groups;
    host.start(launch);
    host.gone(key(job));
    return log(job);
  };
  EXPECT_THAT(groups_of(1, 65534, {4242, 4243, 4244}),
              EndsWith("---\n65534\n4242\n4242 4243 4244\n"));
  EXPECT_THAT(groups_of(2, 65534, {4242}), EndsWith("---\n65534\n4242\n4242\n"));
  EXPECT_THAT(groups_of(3, 0, {0, 4243}), EndsWith("---\n0\n0\n0 4243\n"));
}

TEST_F(HostTest, KeepsTheKeysOfItsSessionToItself) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts workers of others";
  const char* name = "paceline-test";
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      ::syscall(SYS_add_key, "user", name, "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
    GTEST_SKIP() << "this machine has no keyrings";
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), std::string("grep -c ") + name + " /proc/keys");
  host.start(launch);
  host.gone(key(1));
  EXPECT_THAT(log(1), EndsWith("---\n1\n")) << "its own user's worker has them";
  launch.key = key(2);
  launch.uid = 65534;
  host.start(launch);
  host.gone(key(2));
  EXPECT_THAT(log(2), EndsWith("---\n0\n"));
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

constexpr const char* kMeetsWhenTold = R"(
while ! test -e meet; do sleep 0.1; done
exec python3 -c '
import os, socket, time
listens = socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"])))
time.sleep(1000)'
)";

TEST_F(HostTest, AGangThatDoesNotMeetIsToldUntilItDoes) {
  HostOptions options;
  options.rendezvous_patience = std::chrono::milliseconds{100};
  TestHost host(directory_.path(), options);
  host.start(shell_worker(key(1), "exec sleep 1000"));
  WorkerLaunch gang = shell_worker(key(2), kMeetsWhenTold);
  gang.world_size = 2;
  gang.launch.directory = directory_.path();
  host.start(gang);
  const auto warnings = [&] { return host.seen<WorkerWarning>(); };
  ASSERT_TRUE(host.until([&] { return !warnings().empty(); }));
  std::ofstream(directory_ / "meet").close();
  ASSERT_TRUE(host.until([&] { return warnings().size() > 1; }));
  EXPECT_EQ(warnings(), (std::vector{WorkerWarning{key(2), Warning::no_rendezvous, true},
                                     WorkerWarning{key(2), Warning::no_rendezvous, false}}))
      << "a worker without others has nobody to meet";
}

TEST_F(HostTest, StartsOneWorkerAloneWhereNoPortsCanBeHeld) {
  HostOptions options;
  options.port_lock_directories = {"/proc/nowhere"};
  TestHost host(directory_.path(), options);
  WorkerLaunch alone = shell_worker(key(1), "echo port $MASTER_PORT");
  alone.port = 26'408;
  host.start(alone);
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_THAT(log(1), EndsWith("port 26408\n"));
  WorkerLaunch gang = shell_worker(key(2), "true");
  gang.world_size = 2;
  host.start(gang);
  EXPECT_EQ(host.gone(key(2)).cause, Cause::refused) << "the machine's want";
}

TEST_F(HostTest, AnOrderWithoutACommandIsNoStart) {
  TestHost host(directory_.path());
  WorkerLaunch empty = shell_worker(key(1), "");
  empty.launch.command = {};
  host.start(empty);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::launch_failed);
  EXPECT_EQ(host.gone(key(1)).message, "There is no command to run.");
}

TEST_F(HostTest, OnANodeWhatIsMissingIsToldWithTheNodesName) {
  HostOptions options;
  options.accounts = Accounts::by_name;
  options.node_name = "gpu-3";
  TestHost host(directory_.path(), options);
  WorkerLaunch nowhere = shell_worker(key(1), "true");
  nowhere.user = find_user(::geteuid());
  nowhere.launch.directory = directory_ / "nowhere";
  if (::geteuid() == 0) nowhere.user = "nobody";
  host.start(nowhere);
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(gone.cause, Cause::missing);
  EXPECT_THAT(gone.message, StartsWith("On gpu-3: The directory '"));
  EXPECT_THAT(gone.message, HasSubstr("a file system that the nodes share"));
}

// ---- directories that travel ----

class ShippedTest : public HostTest {
 protected:
  ShippedTest() : store_({.directory = directory_ / "ships"}) {
    Manifest manifest{{{"train.sh", 0755, 5, to_hex(sha256("pwd\n#"))}}, {}, {"out"}};
    EXPECT_TRUE(tidy_manifest(manifest));
    const auto offered = store_.offer(::geteuid(), manifest);
    EXPECT_TRUE(offered && store_.take(::geteuid(), {manifest.files[0].sha256, 0, 5}, "pwd\n#"));
    ship_ = {offered->name, 1, 5};
  }
  HostOptions options() {
    HostOptions options;
    options.ships = {directory_ / "ships",
                     [this](JobId, std::uint32_t, const std::string&,
                            const std::function<void(Result<std::set<std::string>>)>& done) {
                       ++brought_;
                       if (!holds_) return done(comes_);
                       held_ = done;
                     }};
    return options;
  }
  WorkerLaunch shipped_worker(const ProcessKey& key, const std::string& script) {
    WorkerLaunch launch = shell_worker(key, script);
    launch.launch.directory = "/no/such/place";
    launch.launch.shipped = ship_;
    return launch;
  }

  ShipStore store_;
  ShippedDirectory ship_;
  int brought_ = 0;
  bool holds_ = false;
  Result<std::set<std::string>> comes_;
  std::function<void(Result<std::set<std::string>>)> held_;
};

TEST_F(ShippedTest, RunsInADirectoryOfTheJobAndFindsItAgain) {
  TestHost host(directory_.path(), options());
  host.start(shipped_worker(key(7, 1), "ls; pwd; echo x > mine"));
  host.start(shipped_worker(key(7, 1, 1), "true"));
  EXPECT_EQ(host.gone(key(7, 1)).exit_code, 0);
  EXPECT_EQ(host.gone(key(7, 1, 1)).exit_code, 0);
  EXPECT_THAT(log(7), HasSubstr("out\ntrain.sh\n" + directory_ / "jobs/7-"));
  host.start(shipped_worker(key(7, 2), "cat mine"));
  EXPECT_EQ(host.gone(key(7, 2)).exit_code, 0);
  EXPECT_EQ(brought_, 1);
  EXPECT_EQ(host->jobs_with_directories(), std::set{JobId{7}});
  host->remove_directory_of(JobId{7});
  EXPECT_TRUE(host.until([&] { return host->jobs_with_directories().empty(); }));
}

TEST_F(ShippedTest, WhatIsAskedMeanwhileIsDoneOnceItIsThere) {
  holds_ = true;
  TestHost host(directory_.path(), options());
  host.start(shipped_worker(key(7), "sleep 600"));
  host.start(shipped_worker(key(8), "true"));
  EXPECT_TRUE(host.until([&] { return brought_ == 2; }));
  host->perform(Kill{key(8)});
  const WorkerGone gone = host.gone(key(8));
  EXPECT_EQ(gone.cause, Cause::signalled);
  EXPECT_EQ(gone.signal, SIGKILL);
  brought_ = 0;
  holds_ = false;
  host.start(shipped_worker(key(9), "true"));
  EXPECT_EQ(host.gone(key(9)).exit_code, 0) << "nobody waits for others";
}

TEST_F(ShippedTest, WhatDoesNotComeHoldsThatStartBackAlone) {
  HostOptions impatient = options();
  impatient.ships.patience = {};
  TestHost host(directory_.path(), impatient);
  comes_ = fail(ErrorCode::unavailable, "It doesn't come.", "", Retry::may_help);
  host.start(shipped_worker(key(7), "true"));
  const WorkerGone gone = host.gone(key(7));
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone) << "others may start";
  EXPECT_EQ(gone.message, "It doesn't come.");
  host.start(shell_worker(key(9), "true"));
  EXPECT_EQ(host.gone(key(9)).exit_code, 0);
}

TEST_F(ShippedTest, WhatMayHelpItselfIsTriedAgain) {
  TestHost host(directory_.path(), options());
  comes_ = fail(ErrorCode::storage, "There is no room.", "", Retry::may_help);
  host.start(shipped_worker(key(7), "true"));
  EXPECT_TRUE(host.until([&] { return brought_ == 1; }));
  comes_ = std::set<std::string>();
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_EQ(brought_, 2);
}

TEST_F(ShippedTest, ItsOwnerHearsThatItTakesLong) {
  holds_ = true;
  HostOptions impatient = options();
  impatient.ships.late = {};
  TestHost host(directory_.path(), impatient);
  host.start(shipped_worker(key(7), "true"));
  const auto warnings = [&] { return host.seen<WorkerWarning>(); };
  EXPECT_TRUE(host.until([&] { return !warnings().empty(); }));
  held_({});
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_EQ(warnings(), (std::vector{WorkerWarning{key(7), Warning::no_directory, true},
                                     WorkerWarning{key(7), Warning::no_directory, false}}));
}

TEST_F(ShippedTest, WhatIsLostIsSaid) {
  TestHost host(directory_.path(), options());
  comes_ = fail(ErrorCode::not_found, "It is not there any more.", "Submit the job again.");
  host.start(shipped_worker(key(8), "true"));
  EXPECT_EQ(host.gone(key(8)).cause, Cause::missing);
  EXPECT_EQ(host.gone(key(8)).message, "It is not there any more. Submit the job again.");
  EXPECT_TRUE((*host).claims().empty());
}

class CopyTest : public ShippedTest {
 protected:
  // The server's copy of a checkpoint with that text.
  std::string copy_of(const std::string& text) {
    Manifest manifest{{{"last.txt", 0640, text.size(), to_hex(sha256(text))}}, {}, {}};
    EXPECT_TRUE(tidy_manifest(manifest));
    const auto offered = store_.offer(::geteuid(), manifest);
    EXPECT_TRUE(offered && store_.take(::geteuid(), {manifest.files[0].sha256, 0, 0}, text));
    return offered->name;
  }
  WorkerLaunch reader(const ProcessKey& key, const std::string& ship) {
    WorkerLaunch launch =
        shell_worker(key, "cat $PACELINE_CHECKPOINT; echo; echo $PACELINE_CHECKPOINT");
    launch.checkpoint = directory_ / "saved/last.txt";
    launch.copy = {"gpu-2", {}, ship};
    return launch;
  }
};

TEST_F(CopyTest, IsLaidWhereTheCheckpointWas) {
  TestHost host(directory_.path(), options());
  host.start(reader(key(7), copy_of("step 5")));
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_THAT(log(7), HasSubstr("step 5\n" + directory_ / "saved/last.txt"));
  struct stat laid {};
  ASSERT_EQ(::stat((directory_ / "saved/last.txt").c_str(), &laid), 0);
  EXPECT_EQ(laid.st_mode & 0777U, 0640U);
  EXPECT_EQ(laid.st_uid, ::geteuid());
  EXPECT_TRUE(list_directory(directory_ / "jobs").empty()) << "nothing stays beside it";
}

TEST_F(CopyTest, TakesThePlaceOfAnOlderOneAndLeavesTheSameAlone) {
  std::filesystem::create_directory(directory_ / "saved");
  std::ofstream(directory_ / "saved/last.txt") << "step 4";
  TestHost host(directory_.path(), options());
  const auto ship = copy_of("step 5");
  host.start(reader(key(7, 1), ship));
  EXPECT_EQ(host.gone(key(7, 1)).exit_code, 0);
  EXPECT_THAT(log(7), HasSubstr("step 5"));
  brought_ = 0;
  host.start(reader(key(7, 2), ship));
  EXPECT_EQ(host.gone(key(7, 2)).exit_code, 0);
  EXPECT_EQ(brought_, 0) << "it is there";
}

TEST_F(CopyTest, OfWhatThisMachineWroteIsNotWanted) {
  std::filesystem::create_directory(directory_ / "saved");
  std::ofstream(directory_ / "saved/last.txt") << "step 6, not told yet";
  HostOptions named = options();
  named.node_name = "gpu-2";
  TestHost host(directory_.path(), named);
  host.start(reader(key(7), copy_of("step 5")));
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_THAT(log(7), HasSubstr("step 6"));
  EXPECT_EQ(brought_, 0);
}

TEST_F(CopyTest, LiesInTheDirectoryThatTravelsWhereItLayThere) {
  TestHost host(directory_.path(), options());
  WorkerLaunch launch = reader(key(7), copy_of("step 5"));
  launch.launch.shipped = ship_;
  launch.launch.directory = "/no/such/place";
  launch.copy->inside = "out/last.txt";
  host.start(launch);
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_THAT(log(7), HasSubstr("step 5\n" + directory_ / "jobs/7-"));
}

TEST_F(CopyTest, ADirectoryTakesThePlaceOfADirectory) {
  const std::string text = "weights";
  Manifest manifest{{{"last.txt/w.bin", 0644, text.size(), to_hex(sha256(text))}}, {}, {}};
  ASSERT_TRUE(tidy_manifest(manifest));
  const auto offered = store_.offer(::geteuid(), manifest);
  ASSERT_TRUE(offered && store_.take(::geteuid(), {manifest.files[0].sha256, 0, 0}, text));
  std::filesystem::create_directories(directory_ / "saved/last.txt");
  std::ofstream(directory_ / "saved/last.txt/old.bin") << "old";
  TestHost host(directory_.path(), options());
  WorkerLaunch launch = reader(key(7), offered->name);
  launch.launch.command.back() = "ls $PACELINE_CHECKPOINT";
  host.start(launch);
  EXPECT_EQ(host.gone(key(7)).exit_code, 0);
  EXPECT_THAT(log(7), ::testing::EndsWith("---\nw.bin\n"));
  EXPECT_THAT(list_directory(directory_ / "saved"), ::testing::ElementsAre("last.txt"));
}

TEST_F(CopyTest, ThatCantBeHadHoldsTheStartBackAndFailsNothing) {
  HostOptions impatient = options();
  impatient.ships.patience = {};
  TestHost host(directory_.path(), impatient);
  comes_ = fail(ErrorCode::not_found, "It is not there any more.");
  host.start(reader(key(7), copy_of("step 5")));
  const WorkerGone gone = host.gone(key(7));
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone);
  EXPECT_THAT(gone.message, HasSubstr("can't be had from the server: It is not there any more."));
}

TEST_F(CopyTest, IsAskedOfTheOneWhoSendsIt) {
  std::vector<WantedCheckpoint> wanted;
  HostOptions sending = options();
  sending.keep = [&](WantedCheckpoint one) { wanted.push_back(std::move(one)); };
  TestHost host(directory_.path(), sending);
  EXPECT_TRUE(host->describe().keeps);
  host->perform(Keep{{key(7), 3, "/a.pt", "ann", 1000}});
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].uid, 1000U) << "on the server's own machine numbers are as told";
  EXPECT_FALSE(TestHost(directory_ / "other", options())->describe().keeps);
}

TEST_F(ShippedTest, AMachineThatShipsNothingSaysSo) {
  TestHost host(directory_.path());
  host.start(shipped_worker(key(7), "true"));
  EXPECT_EQ(host.gone(key(7)).cause, Cause::missing);
}

TEST_F(HostTest, OnANodeAnotherDirectoryOfThatNameIsNone) {
  const std::filesystem::path here = directory_ / "work", copy = directory_ / "copy/work";
  std::filesystem::create_directories(here / "src");
  const auto command =
      "mkdir -p '" + copy.string() + "' && cp -a '" + here.string() + "/.' '" + copy.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto witnesses = witnesses_of(here);
  std::erase_if(witnesses, [](const std::string& each) { return each.find("..") != each.npos; });
  ASSERT_FALSE(witnesses.empty());
  const auto in = [&](std::uint32_t job, const std::filesystem::path& directory) {
    WorkerLaunch launch = shell_worker(key(job), "true");
    launch.user = find_user(::geteuid());
    launch.launch.directory = directory.string();
    launch.launch.witnesses = witnesses;
    return launch;
  };
  HostOptions options;
  options.accounts = Accounts::by_name_and_root;
  options.node_name = "gpu-3";
  {
    TestHost node(directory_.path(), options);
    node.start(in(1, here));
    EXPECT_EQ(node.gone(key(1)).exit_code, 0);
    node.start(in(2, copy));
    const WorkerGone gone = node.gone(key(2));
    EXPECT_EQ(gone.cause, Cause::missing);
    EXPECT_THAT(gone.message, AllOf(HasSubstr("On gpu-3: The directory"), HasSubstr("--ship"),
                                    EndsWith("--workdir " + copy.string() + ".")));
  }
  TestHost box(directory_.path());
  box.start(in(3, copy));
  EXPECT_EQ(box.gone(key(3)).exit_code, 0) << "where it was submitted nobody asks";
}

TEST_F(HostTest, ASetupInADirectoryThatIsMissingIsNoFailedSetup) {
  TestHost host(directory_.path());
  WorkerLaunch nowhere = shell_worker(key(1), "true");
  nowhere.launch.setup = "true";
  nowhere.launch.directory = directory_ / "nowhere";
  host.start(nowhere);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::missing);
}

TEST_F(HostTest, RefusesTheJobOfWhomItDoesNotKnowAndSaysSoBefore) {
  HostOptions options;
  options.accounts = Accounts::by_name;
  options.node_name = "gpu-3";
  TestHost host(directory_.path(), options);
  int told = 0;
  host->on_devices_changed([&] {
    ++told;
    EXPECT_TRUE(host.seen<WorkerGone>().empty());
  });
  WorkerLaunch launch = shell_worker(key(1), "true");
  launch.user = "no-such-user-here";
  host.start(launch);
  const bool roots = ::geteuid() == 0;
  const WorkerGone gone = host.gone(key(1));
  EXPECT_EQ(told, roots ? 1 : 0);
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone) << "others may start";
  EXPECT_THAT(gone.message, HasSubstr("gpu-3"));
  const NodeSpec node = host->describe();
  EXPECT_EQ(node.only_user, roots ? "" : find_user(::geteuid()));
  EXPECT_EQ(node.strangers,
            roots ? std::vector<std::string>{"no-such-user-here"} : std::vector<std::string>{});
  EXPECT_TRUE((*host).claims().empty());
}

TEST_F(HostTest, JobsMayHaveTheMemoryThatTheOwnerSays) {
  HostOptions options;
  options.memory_bytes = 64U << 20;
  EXPECT_EQ(TestHost(directory_ / "small", options)->describe().memory_bytes, 64U << 20);
  const auto all = TestHost(directory_ / "own", {})->describe().memory_bytes;
  EXPECT_GT(all, 64U << 20);
  options.memory_bytes = all + 1;
  EXPECT_EQ(TestHost(directory_ / "large", options)->describe().memory_bytes, all);
}

TEST_F(HostTest, RunsAJobAsTheAccountOfThatNameHere) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes others";
  HostOptions options;
  options.accounts = Accounts::by_name;
  TestHost host(directory_.path(), options);
  WorkerLaunch launch = shell_worker(key(1), "id -u; id -G");
  launch.user = "nobody";
  launch.uid = 0;  // as the server's machine knows its owner
  launch.launch.groups = {0};
  launch.launch.directory = "/";
  host.start(launch);
  ASSERT_EQ(host.gone(key(1)).exit_code, 0);
  const std::string nobody = std::to_string(find_uid("nobody")->value());
  EXPECT_THAT(log(1), HasSubstr("\n" + nobody + "\n"));
  EXPECT_THAT(log(1), Not(HasSubstr("\n0")));
}

// A machine whose name service hangs for some.
class HeldNamesTest : public HostTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root's agent asks";
    names_.hold("slow");
  }
  HostOptions options() {
    HostOptions options;
    options.accounts = Accounts::by_name;
    options.find_uid = names_.find();
    return options;
  }
  static WorkerLaunch worker_of(const std::string& user, const ProcessKey& key,
                                const std::string& script = "id -u") {
    WorkerLaunch launch = shell_worker(key, script);
    launch.user = user;
    launch.launch.environment["HOME"] = "/";
    return launch;
  }

  HeldNames names_;
};

TEST_F(HeldNamesTest, AStartWaitsForItsUsersNameAndForNoOthers) {
  TestHost host(directory_.path(), options());
  const ProcessKey slow = key(1), other = key(2), later = key(3);
  WorkerLaunch waits = worker_of("slow", slow);
  waits.launch.groups = {1};
  host.start(waits);
  host.start(waits);
  host.start(worker_of("nobody", other));
  EXPECT_EQ(host.gone(other).exit_code, 0);
  EXPECT_EQ(host.seen<WorkerRuns>().size(), 1U);
  host.start(worker_of("slow", later, "sleep 1000"));
  host->perform(SetShouldStop{later, "notice"});
  host->perform(Kill{later});
  EXPECT_EQ(host.gone(later).signal, SIGKILL) << "it needs no name to be over";
  names_.release();
  EXPECT_EQ(host.gone(slow).message, "User id 1008 has no account on this machine.");
  EXPECT_EQ(host.seen<WorkerGone>().size(), 3U);
  EXPECT_EQ(names_.asked(), 2);
}

TEST_F(HeldNamesTest, WhatRunsIsStoppedAsEver) {
  TestHost host(directory_.path(), options());
  host.start(worker_of("nobody", key(1),
                       "trap 'echo noticed; exit 0' TERM; echo up; "
                       "while :; do sleep 0.01; done"));
  ASSERT_TRUE(host.until([&] { return log(1).ends_with("up\n"); }));
  host.start(worker_of("slow", key(2)));
  host->perform(GiveNotice{key(1)});
  EXPECT_EQ(host.gone(key(1)).exit_code, 0);
  EXPECT_THAT(log(1), EndsWith("up\nnoticed\n"));
}

TEST_F(HeldNamesTest, AStrangerIsRefusedMeanwhile) {
  TestHost host(directory_.path(), options());
  host.start(worker_of("slow", key(1)));
  host.start(worker_of("no-such-user-here", key(2)));
  EXPECT_EQ(host.gone(key(2)).cause, Cause::refused);
  EXPECT_THAT(host->describe().strangers, ElementsAre("no-such-user-here"));
}

TEST_F(HeldNamesTest, TheNewestCheckpointOfAJobWaits) {
  std::vector<WantedCheckpoint> wanted;
  HostOptions sending = options();
  sending.keep = [&](WantedCheckpoint one) { wanted.push_back(std::move(one)); };
  TestHost host(directory_.path(), sending);
  host->perform(Keep{{key(7), 3, "/a.pt", "slow", 1}});
  host->perform(Keep{{key(7), 4, "/b.pt", "slow", 1}});
  host->perform(Keep{{key(8), 1, "/c.pt", "ann", 1}});
  ASSERT_TRUE(host.until([&] { return wanted.size() == 1; }));
  EXPECT_EQ(wanted[0].uid, 1007U);
  names_.release();
  ASSERT_TRUE(host.until([&] { return wanted.size() == 2; }));
  EXPECT_EQ(wanted[1].path, "/b.pt");
  EXPECT_EQ(wanted[1].uid, 1008U);
}

TEST_F(HeldNamesTest, WhatWaitsForLongerThanItsLeaseNeverStarts) {
  TestHost host(directory_.path(), options());
  constexpr auto kLease = std::chrono::milliseconds{50};
  host.start(leased(worker_of("slow", key(1)), kLease));
  host.start(leased(worker_of("slow", key(2)), kLease));
  host->perform(Kill{key(2)});
  const auto until = std::chrono::steady_clock::now() + 2 * kLease;
  ASSERT_TRUE(host.until([&] { return std::chrono::steady_clock::now() > until; }));
  host.start(leased(worker_of("slow", key(3)), std::chrono::hours{1}));
  names_.release();
  EXPECT_EQ(host.gone(key(1)).cause, Cause::node_lost);
  EXPECT_THAT(host.gone(key(1)).message, HasSubstr("before it could start"));
  EXPECT_NE(host.gone(key(3)).cause, Cause::node_lost);
}

TEST_F(HeldNamesTest, ALeaseIsRenewedForWhatWaitsToo) {
  TestHost host(directory_.path(), options());
  host.start(leased(worker_of("slow", key(1)), std::chrono::microseconds{1}));
  host->perform(RenewLeases{std::chrono::hours{1}});
  names_.release();
  EXPECT_NE(host.gone(key(1)).cause, Cause::node_lost);
}

TEST_F(HeldNamesTest, AHostThatLeavesWaitsForNoName) {
  {
    TestHost host(directory_.path(), options());
    host.start(worker_of("slow", key(1)));
    ASSERT_TRUE(host.until([&] { return names_.asked() == 1; }));
    host.crash();
  }
  TestHost next(directory_.path(), options());
  EXPECT_TRUE(next->claims().empty()) << "nothing began";
}

TEST_F(HostTest, RefusesToStartAWorkerOfSomebodyElseWithoutTheRight) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may";
  TestHost host(directory_.path());
  WorkerLaunch launch = shell_worker(key(1), "true");
  launch.uid = ::geteuid() + 1;
  host.start(launch);
  EXPECT_EQ(host.gone(key(1)).cause, Cause::launch_failed);
}

}  // namespace
}  // namespace paceline::agent
