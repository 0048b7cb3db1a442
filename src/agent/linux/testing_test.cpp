#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "agent/linux/claim.hpp"
#include "agent/linux/fields.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/remove_tree.hpp"
#include "agent/linux/shm.hpp"
#include "agent/linux/supervisor.hpp"
#include "agent/linux/testing.hpp"
#include "base/digest.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds{30};
constexpr auto kPoll = std::chrono::milliseconds{2};

int remove_entry(const char* path, const struct stat*, int, FTW*) { return ::remove(path); }

}  // namespace

Time WallClock::now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<Duration>(now)};
}

TempDirectory::TempDirectory() {
  std::string name = "/tmp/paceline-test-XXXXXX";
  path_ = ::mkdtemp(name.data());
}

// Also what gangs of a server in it left.
TempDirectory::~TempDirectory() {
  remove_tree(std::string(kSharedMemory) + "/" + Marks(path_).group());
  ::nftw(path_.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

struct HeldNames::State {
  FoundUid find(const std::string& user) {
    std::unique_lock lock(mutex);
    ++asked;
    if (!held.contains(user)) return user == "ann" ? FoundUid(1007) : find_uid(user);
    changed.wait(lock, [this] { return released; });
    return 1008;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> held;
  bool released = false;
  int asked = 0;
};

HeldNames::HeldNames() : state_(std::make_shared<State>()) {}

AccountInquiries::Find HeldNames::find() const {
  return [state = state_](const std::string& user) { return state->find(user); };
}

void HeldNames::hold(const std::string& user) {
  const std::lock_guard lock(state_->mutex);
  state_->held.insert(user);
}

void HeldNames::release() {
  const std::lock_guard lock(state_->mutex);
  state_->released = true;
  state_->changed.notify_all();
}

int HeldNames::asked() const {
  const std::lock_guard lock(state_->mutex);
  return state_->asked;
}

TestHost::TestHost(const std::string& directory, HostOptions options) {
  options.directory = directory;
  auto host = LinuxHost::open(io_, clock_, std::move(options));
  if (!host) ADD_FAILURE() << host.error().message;
  host_ = std::move(*host);
  host_->on_observation([this](Observation seen) { observations_.push_back(std::move(seen)); });
}

TestHost::~TestHost() {
  if (host_) kill_all();
}

void TestHost::kill_all() {
  const auto all_gone = [this] {
    const auto claims = host_->claims();
    return std::all_of(claims.begin(), claims.end(),
                       [](const Claim& c) { return c.gone.has_value(); });
  };
  for (const Claim& claim : host_->claims())
    if (!claim.gone) host_->perform(Kill{claim.key});
  EXPECT_TRUE(until(all_gone));
}

void TestHost::turn() {
  io_.restart();
  io_.run_one_for(kPoll);
  io_.poll();
}

bool TestHost::until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    turn();
  }
  return true;
}

void TestHost::crash() {
  host_.reset();
  turn();
}

WorkerGone TestHost::gone(const ProcessKey& key) {
  const auto match = [&]() -> const WorkerGone* {
    for (const Observation& one : observations_)
      if (const auto* gone = std::get_if<WorkerGone>(&one); gone != nullptr && gone->key == key)
        return gone;
    return nullptr;
  };
  EXPECT_TRUE(until([&] { return match() != nullptr; })) << "the worker never ended";
  return match() == nullptr ? WorkerGone{} : *match();
}

pid_t TestHost::running(const ProcessKey& key) {
  pid_t pid = 0;
  const auto find = [&] {
    for (const WorkerRuns& runs : seen<WorkerRuns>())
      if (runs.key == key) pid = static_cast<pid_t>(runs.pid);
    return pid != 0;
  };
  EXPECT_TRUE(until(find)) << "the worker never ran";
  return pid;
}

namespace {

constexpr int kNoNamespace = 77;

// Runs as the first process of the namespace.
int run_inside(const std::function<std::string()>& test, int result) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", 0, nullptr) != 0)
    return kNoNamespace;
  const pid_t child = ::fork();
  if (child == 0) {
    write_all(result, test());
    ::_exit(0);
  }
  int status = 0;
  for (pid_t ended = 0; ended != child;) ended = ::waitpid(-1, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

std::optional<std::string> in_pid_namespace(const std::function<std::string()>& test) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(kNoNamespace);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(run_inside(test, writing.get()));
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
  }
  writing.reset();
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = ::read(reading.get(), buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(outer, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespace) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    said += "; ended with wait status " + std::to_string(status);
  return said;
}

ProcessKey key(std::uint32_t job, std::uint32_t generation, std::int32_t rank) {
  return {JobId{job}, Generation{generation}, rank};
}

WorkerLaunch shell_worker(const ProcessKey& key, const std::string& script) {
  WorkerLaunch launch;
  launch.key = key;
  launch.rank = key.number;
  launch.slots = {0};
  launch.job_name = "test";
  launch.uid = ::geteuid();
  launch.launch.command = {"/bin/sh", "-c", script};
  launch.launch.directory = "/";
  launch.launch.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  return launch;
}

void write_unknown_ending(const std::string& claim, const ProcessKey& key) {
  constexpr std::uint64_t kAt = 512, kSize = 3584;
  TextWriter ending;
  ending.add("cause", "abducted");
  ending.add("exit_code", std::int64_t{0});
  ending.add("signal", std::int64_t{0});
  ending.add("at_us", std::int64_t{1});
  ending.add("message", "");
  ending.add("end", "");
  std::string part = ending.text();
  part.resize(kSize - sizeof(std::uint64_t), '\0');
  const std::uint64_t seal =
      Digest().add(claim_name(key)).add(kAt).add(std::string_view(part)).value();
  part.append(reinterpret_cast<const char*>(&seal), sizeof seal);
  const UniqueFd file(::open(claim.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), part.data(), part.size(), kAt), static_cast<ssize_t>(kSize));
}

std::string contents(const std::string& path) { return read_file(path).value_or(""); }

bool runs(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace paceline::agent

// The test program is also the program that supervises: hosts start it with the hidden sub-command.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise")
    return paceline::agent::supervise_main(argc, argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
